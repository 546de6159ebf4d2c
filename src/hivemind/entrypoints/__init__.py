"""The entry points: each parses, calls ``Hivemind`` and prints."""
