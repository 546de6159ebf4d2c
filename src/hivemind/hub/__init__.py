"""The team's server: the same log and SQL statements as on a laptop, on Postgres, behind HTTP (extra ``hub``)."""
