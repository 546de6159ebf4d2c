"""The real clients, offline, after nothing but ``hivemind install``: ``python -m evals.clients [NAME …]``."""
