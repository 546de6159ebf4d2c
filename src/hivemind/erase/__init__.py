"""Erasure: the plan, the sweep, the search for residue, the receipt; by name; resumed after a crash."""
