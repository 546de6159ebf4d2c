"""Doctor, status, recovery, configuration."""
