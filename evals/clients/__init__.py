"""Test real clients offline after a plain ``hivemind install``: ``python -m evals.clients [NAME …]``."""
