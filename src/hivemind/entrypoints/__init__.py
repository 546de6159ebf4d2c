"""DOORS: each parses, calls ``Hivemind`` and prints."""
