"""Proof that can be run: what is promised, shown."""
