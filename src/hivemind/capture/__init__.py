"""What comes in: text is redacted, observed, spooled and taken into the store."""
