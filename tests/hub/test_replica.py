"""Recalls from a streaming replica, which nothing can be written to."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hivemind.errors import StoreError
from hivemind.hub.host import Host
from hivemind.hub.postgres import Postgres, connect
from hivemind.hub.store import HubDatabase, HubOptions
from hivemind.model.team import Role
from hivemind.settings import Settings
from tests import postgres
from tests.hub.serving import Served, serving

TIMEOUT_SECONDS = 120


@pytest.fixture(scope="module")
def with_replica(
    postgres_folder: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Served, HubDatabase]]:
    """A hub that asks a replica."""
    primary = postgres.database(postgres_folder, "replicated")
    with postgres.replicating(postgres_folder) as folder:
        replica = primary.replace(postgres_folder, folder)
        settings = Settings(home=tmp_path_factory.mktemp("hub"), person="hub", model="none")
        with HubDatabase.open(primary, HubOptions(replica=replica)) as hub, serving(Host(hub, settings)) as served:
            served.host.create_team("team")
            yield served, hub


def wait_for_replica(hub: HubDatabase) -> None:
    """Wait until the replica has everything that was committed."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    with connect(hub.address) as primary, connect(hub.options.replica) as replica:
        row = primary.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        assert row is not None
        while not (replica.execute("SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn", row).fetchone() or [False])[0]:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_a_recall_is_answered_by_the_replica_and_its_receipt_reaches_the_primary(
    with_replica: tuple[Served, HubDatabase],
) -> None:
    served, hub = with_replica
    token = served.token("team", Role.WRITER, "alice")
    memory = served.ask("POST", "/v1/memories", token, {"text": "Deploys run on Fridays"}).body["id"]
    wait_for_replica(hub)
    assert hub.replica is not None
    assert hub.replica.free == 0

    answer = served.ask("POST", "/v1/recall", token, {"query": "when do deploys run"})
    explained = served.ask("GET", f"/v1/memories/{memory}", token)

    assert answer.status == 200, answer.body
    assert [hit["memory"]["id"] for hit in answer.body["hits"]] == [memory]
    assert hub.replica.free == 1
    assert [receipt["id"] for receipt in explained.body["receipts"]] == [answer.body["receipt"]]


def test_nothing_can_be_written_to_the_replica(with_replica: tuple[Served, HubDatabase]) -> None:
    _, hub = with_replica
    team = hub.list_teams()[0].team
    wait_for_replica(hub)

    with connect(hub.options.replica) as connection, pytest.raises(StoreError, match="read-only"):
        Postgres(connection, team).execute("DELETE FROM receipts")


def test_without_a_replica_a_recall_works_in_a_session_that_may_only_read(empty_database: str, tmp_path: Path) -> None:
    read_only = f"{empty_database}&options=-c%20default_transaction_read_only%3Don"
    settings = Settings(home=tmp_path, person="hub", model="none")
    with HubDatabase.open(empty_database) as hub, serving(Host(hub, settings)) as served:
        served.host.create_team("team")
        token = served.token("team", Role.WRITER, "alice")
        served.ask("POST", "/v1/memories", token, {"text": "Deploys run on Fridays"})

    with HubDatabase(empty_database, HubOptions(replica=read_only)) as hub, serving(Host(hub, settings)) as served:
        answer = served.ask("POST", "/v1/recall", token, {"query": "when do deploys run"})

    assert len(answer.body["hits"]) == 1
