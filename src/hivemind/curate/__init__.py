"""Curate memories: learn, compare, review, roll back and erase."""
