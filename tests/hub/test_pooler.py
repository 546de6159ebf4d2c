"""A hub behind PgBouncer in transaction mode, where each transaction may run in another session."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from hivemind import Hivemind, Scope
from hivemind.hub.host import Host
from hivemind.hub.postgres import connect
from hivemind.hub.store import HubDatabase
from hivemind.hub.worker import HubWorker, migrate_hub
from hivemind.model.team import Role
from hivemind.settings import Settings
from hivemind.sync.hub_client import HubClient
from tests.hub import pooler
from tests.hub.serving import Served, serving

pytestmark = pytest.mark.skipif(not pooler.PROGRAM, reason="needs pgbouncer; dev/test installs it")


@pytest.fixture
def pooled(postgres_folder: str, empty_database: str) -> Iterator[str]:
    """The address of an empty database behind a pooler."""
    name = str(conninfo_to_dict(empty_database)["dbname"])
    with pooler.pooling(postgres_folder, name) as address:
        yield address


@pytest.fixture
def behind_pooler(pooled: str, tmp_path: Path) -> Iterator[tuple[Served, HubDatabase]]:
    """A hub behind a pooler."""
    with HubDatabase.open(pooled) as hub, serving(Host(hub, Settings(home=tmp_path / "hub", person="hub"))) as served:
        served.host.create_team("team")
        yield served, hub


def test_the_pooler_gives_each_transaction_another_session(pooled: str) -> None:
    with connect(pooled) as one, connect(pooled) as other:
        with one.transaction(), other.transaction():
            sessions = {connection.execute("SELECT pg_backend_pid()").fetchone() for connection in (one, other, one)}
        one.execute("SET statement_timeout = 1234")

        assert len(sessions) == 2
        assert other.execute("SHOW statement_timeout").fetchone() == ("1234ms",)


def test_members_sync_ask_and_erase_through_a_pooler(behind_pooler: tuple[Served, HubDatabase], tmp_path: Path) -> None:
    served, hub = behind_pooler
    settings = Settings(home=tmp_path / "laptop", person="alice", model="none")
    client = HubClient(url=served.url, token=served.token("team", Role.REVIEWER, "alice"))
    with Hivemind.open(directory=tmp_path, settings=settings) as mind:
        for number in range(30):
            mind.remember(f"Fact {number} about the garage where cars are fixed", scope=Scope.TEAM)
        mind.team.sync(client)
    token = client.token

    def ask(number: int) -> int:
        return served.ask("POST", "/v1/recall", token, {"query": f"fact {number} about the garage"}).status

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(ask, range(60)))
    embedded = sum(iter(HubWorker(hub, Settings(home=tmp_path, person="hub")).embed_batch, 0))
    first = served.ask("GET", "/v1/memories", token).body[0]["id"]
    erased = served.ask("DELETE", f"/v1/memories/{first}", token)

    assert statuses == [200] * 60
    assert embedded == 30
    assert erased.status == 200
    assert served.ask("GET", "/v1/audit", token).body == []
    assert len(served.ask("GET", "/v1/memories?limit=200", token).body) == 29


def test_tables_are_rebuilt_through_a_pooler(
    behind_pooler: tuple[Served, HubDatabase], pooled: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    served, hub = behind_pooler
    monkeypatch.setenv("HIVEMIND_MODEL", "none")
    token = served.token("team", Role.WRITER)
    served.ask("POST", "/v1/memories", token, {"text": "Deploys run on Fridays"})
    with hub.open_team(hub.list_teams()[0].team) as store:
        store.db.execute("UPDATE bookmarks SET version = 0")
        store.db.execute("UPDATE memories SET text = 'wrong'")

    report = migrate_hub(pooled)

    assert (report.migrations, report.rebuilt) == ((), ("team",))
    assert [one["text"] for one in served.ask("GET", "/v1/memories", token).body] == ["Deploys run on Fridays"]
