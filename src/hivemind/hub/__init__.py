"""TEAM: what a team shares, kept in Postgres by the same log and the same statements as on a laptop."""
