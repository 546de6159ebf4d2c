"""Capture what agents do: redact it, spool it, and turn it into observations for the log."""
