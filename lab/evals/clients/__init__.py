"""Test real clients offline after a plain ``hivemind install``: ``python -m lab.evals.clients [NAME …]``."""
