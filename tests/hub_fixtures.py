"""Fixtures with a real Postgres, for the conftest of folders that need one: other tests run without its packages."""

import secrets
from collections.abc import Iterator

import pytest

from hivemind.hub.store import HubDatabase
from tests import postgres


@pytest.fixture(scope="session")
def postgres_folder() -> Iterator[str]:
    """Start a Postgres and return the folder of its socket."""
    with postgres.serving() as folder:
        yield folder


@pytest.fixture
def empty_database(postgres_folder: str) -> str:
    """Return the address of an empty database."""
    return postgres.database(postgres_folder, f"empty_{secrets.token_hex(6)}")


@pytest.fixture(scope="session")
def hub_address(postgres_folder: str) -> str:
    """Return the address of the database behind ``hub``."""
    return postgres.database(postgres_folder, "shared_hub")


@pytest.fixture(scope="session")
def hub(hub_address: str) -> Iterator[HubDatabase]:
    """Open a hub that many tests share; each test creates its own teams."""
    with HubDatabase.open(hub_address) as hub:
        yield hub
