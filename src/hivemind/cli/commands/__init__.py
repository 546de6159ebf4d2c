"""The commands, grouped by what they import."""
