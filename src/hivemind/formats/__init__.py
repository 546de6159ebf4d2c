"""How values are written down: timestamps, plain JSON, and JSON that may be hostile."""
