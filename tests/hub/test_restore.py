"""A hub whose database is restored from an older dump: hub and devices notice, and everything converges."""

import secrets
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from hivemind import Hivemind, Scope
from hivemind.app.context import Context
from hivemind.app.team_host import Host
from hivemind.hub.client import HubClient
from hivemind.hub.store import Hub
from hivemind.model.memory import Channel, Writer
from hivemind.model.scope import Repository
from hivemind.model.team import Role, SyncResult
from hivemind.settings import Settings
from hivemind.store import Store
from tests import postgres
from tests.conftest import Clock
from tests.hub.serving import Served, serving

REPOSITORY = Repository(id="remote:example.org/acme/api", root="/nowhere/api")


class RestorableHub:
    """A hub whose database can be dumped, and replaced by a dump in a new database."""

    def __init__(self, folder: str, home: Path) -> None:
        self.folder = folder
        self.settings = Settings(home=home, person="hub", model="none")
        self.address = postgres.database(folder, f"first_{secrets.token_hex(4)}")
        self.host = Host(Hub.open(self.address), self.settings)
        self.admin = self.host.found_team("payments")

    def dump(self) -> bytes:
        return self._run("pg_dump", "-Fc", "-d", self.address_of_superuser)

    def restore(self, dump: bytes) -> None:
        self.host.close()
        self.address = postgres.database(self.folder, f"next_{secrets.token_hex(4)}")
        self._run("pg_restore", "--clean", "--if-exists", "-d", self.address_of_superuser, given=dump)
        self.host = Host(Hub.open(self.address), self.settings)

    def hide_place(self) -> None:
        """Make the database look the same wherever it is, as after a restored snapshot of its disk."""
        with psycopg.connect(self.address, autocommit=True) as owner:
            owner.execute(
                "CREATE OR REPLACE FUNCTION hivemind.database_place() RETURNS text LANGUAGE plpgsql STABLE"
                " AS $$ BEGIN RETURN 'a disk'; END $$"
            )

    @property
    def address_of_superuser(self) -> str:
        """The owner cannot dump: row-level security shows it no team."""
        return self.address.replace(postgres.OWNER, "postgres")

    def _run(self, program: str, *arguments: str, given: bytes = b"") -> bytes:
        command = [postgres.find_program(program), *arguments]
        return subprocess.run(command, input=given, capture_output=True, check=True).stdout

    @contextmanager
    def served(self) -> Iterator[Served]:
        with serving(self.host) as served:
            yield served


@pytest.fixture
def hub(postgres_folder: str, tmp_path: Path) -> Iterator[RestorableHub]:
    hub = RestorableHub(postgres_folder, tmp_path / "hub")
    yield hub
    hub.host.close()


@pytest.fixture
def device(tmp_path: Path, clock: Clock) -> Iterator[Callable[[str], Hivemind]]:
    minds: list[Hivemind] = []

    def open_for(person: str) -> Hivemind:
        settings = Settings(home=tmp_path / person, person=person, model="none")
        writer = Writer(actor=person, channel=Channel.PERSON)
        minds.append(Hivemind(Context(Store.open(tmp_path / person), settings, REPOSITORY, writer, clock)))
        return minds[-1]

    yield open_for
    for mind in minds:
        mind.close()


def remember(served: Served, token: str, text: str) -> str:
    answer = served.ask("POST", "/v1/memories", token, {"text": text, "repo": REPOSITORY.id})
    assert answer.status == 200, answer.body
    return str(answer.body["id"])


def list_texts(mind: Hivemind) -> list[str]:
    return sorted(memory.text for memory in mind.list(limit=500))


def list_hub_texts(served: Served, token: str) -> list[str]:
    rows = served.ask("GET", f"/v1/memories?limit=200&repo={REPOSITORY.id}", token).body
    return sorted(row["text"] for row in rows)


def sync(mind: Hivemind, served: Served, token: str) -> SyncResult:
    return mind.team.sync(HubClient(url=served.url, token=token))


HUB_TEXTS = ("Invoices are sent on Mondays", "The staging cluster runs in Frankfurt", "Standup is at ten")
LATER_TEXTS = ("Linting runs with ruff", "Releases are cut from main", "The logo is green", "Backups run nightly")


@pytest.mark.parametrize("is_noticed_by_hub", [True, False], ids=["noticed-by-hub", "noticed-by-device"])
def test_after_a_restore_nothing_that_a_device_knows_is_lost_and_nothing_new_is_missed(
    hub: RestorableHub, device: Callable[[str], Hivemind], is_noticed_by_hub: bool
) -> None:
    if not is_noticed_by_hub:
        hub.hide_place()
    alice, bob = device("alice"), device("bob")
    with hub.served() as served:
        tokens = {name: served.token("payments", Role.WRITER, name) for name in ("alice", "bob")}
        remember(served, hub.admin, "Known before the dump")
        for name, mind in (("alice", alice), ("bob", bob)):
            sync(mind, served, tokens[name])
    dump = hub.dump()
    with hub.served() as served:
        for text in HUB_TEXTS:
            remember(served, hub.admin, text)
        alice.remember("Alice wrote this after the dump", scope=Scope.TEAM)
        sync(alice, served, tokens["alice"])
    hub.restore(dump)
    with hub.served() as served:
        for text in LATER_TEXTS:
            remember(served, hub.admin, text)
        # Before Alice has been there, Bob can only learn what the hub has.
        sync(bob, served, tokens["bob"])
        assert set(LATER_TEXTS) <= set(list_texts(bob))
        result = sync(alice, served, tokens["alice"])
        sync(bob, served, tokens["bob"])
        again = sync(alice, served, tokens["alice"])

        assert (result.returned, again.returned) == (3, None)
        assert list_texts(alice) == list_texts(bob) == list_hub_texts(served, hub.admin)
        assert set(list_texts(alice)) >= {*HUB_TEXTS, *LATER_TEXTS, "Alice wrote this after the dump"}
        assert served.ask("GET", "/v1/audit", hub.admin).body == []
    assert (alice.maintenance.audit(), bob.maintenance.audit()) == ((), ())
