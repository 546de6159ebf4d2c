"""TEAM: where a team's memory is kept, in Postgres, by the same log and the same statements as on a laptop."""
