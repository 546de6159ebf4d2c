"""What stays out is also tested for a team's log on Postgres."""

from tests.hub_fixtures import hub, hub_address, postgres_folder

__all__ = ["hub", "hub_address", "postgres_folder"]
