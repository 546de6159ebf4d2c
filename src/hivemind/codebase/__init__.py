"""ABOUT the code: which repository this is, and what is in it."""
