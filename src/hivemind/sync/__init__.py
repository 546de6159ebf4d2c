"""A person's own machines: every device publishes its log, encrypted, as files that something else carries."""
