"""The team hub: the same log and SQL statements as on a laptop, on Postgres."""
