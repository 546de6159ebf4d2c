"""A hub whose database goes away and comes back."""

import os
import resource
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from hivemind.hub.host import Host
from hivemind.hub.store import HubDatabase, HubOptions
from hivemind.model.team import Role
from hivemind.settings import Settings
from tests.hub.serving import SECONDS, Served, serving

FILES = 1_100
POOL_SECONDS = 10 * SECONDS
"""How long a request may wait for a connection: so long that a test notices if one does."""


@pytest.fixture
def own_hub(empty_database: str, tmp_path: Path) -> Iterator[Served]:
    """A hub on a database of its own."""
    settings = Settings(home=tmp_path / "hub", person="hub")
    options = HubOptions(pool_seconds=POOL_SECONDS)
    with HubDatabase.open(empty_database, options) as hub, serving(Host(hub, settings)) as served:
        served.host.create_team("team")
        yield served


@contextmanager
def closing(served: Served) -> Iterator[None]:
    """Let nobody into the database, and send away who is in it."""
    place = conninfo_to_dict(served.host.database.address)
    name = place["dbname"]
    with psycopg.connect(f"postgresql://postgres@/postgres?host={place['host']}", autocommit=True) as superuser:
        superuser.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        send_away(superuser, str(name))
        try:
            yield
        finally:
            superuser.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def send_away(superuser: "psycopg.Connection[tuple[object, ...]]", database: str) -> None:
    superuser.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", [database])


def test_requests_fail_at_once_while_the_database_is_away_and_work_as_soon_as_it_is_back(own_hub: Served) -> None:
    token = own_hub.token("team", Role.WRITER)
    assert own_hub.ask("POST", "/v1/memories", token, {"text": "Deploys run on Fridays"}).status == 200

    with closing(own_hub):
        answers = [own_hub.ask("POST", "/v1/recall", token, {"query": "deploys"}) for _ in range(10)]

    assert {answer.status for answer in answers} == {503}
    assert {answer.headers["retry-after"] for answer in answers} == {"1"}
    assert own_hub.ask("POST", "/v1/recall", token, {"query": "deploys"}).status == 200


def test_no_request_meets_a_connection_that_a_restart_has_closed(own_hub: Served) -> None:
    token = own_hub.token("team", Role.WRITER)
    assert own_hub.ask("GET", "/v1/team", own_hub.token("team", Role.ADMIN)).status == 200

    with closing(own_hub):
        pass

    assert own_hub.ask("POST", "/v1/memories", token, {"text": "Deploys run on Fridays"}).status == 200


def test_a_hub_with_a_thousand_open_files_answers(own_hub: Served) -> None:
    token = own_hub.token("team", Role.ADMIN)
    soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4 * FILES, hard_limit), hard_limit))
    try:
        with ExitStack() as files:
            for _ in range(FILES):
                files.enter_context(open(os.devnull))
            own_hub.host.database.pool.close()

            answers = [own_hub.ask("GET", "/v1/team", token).status for _ in range(3)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft_limit, hard_limit))

    assert answers == [200] * 3
