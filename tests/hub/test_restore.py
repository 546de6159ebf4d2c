"""A hub whose database is restored from an older dump: hub and devices notice, and everything converges."""

import secrets
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from hivemind import Hivemind, Scope
from hivemind.errors import AccessRevoked, Refused
from hivemind.hub.host import Host
from hivemind.hub.store import HubDatabase
from hivemind.model.team import Bookmark, ChainHead, Role, SyncResult
from hivemind.settings import Settings
from hivemind.store import sync_state
from hivemind.sync.hub_client import HubClient
from tests import postgres
from tests.hub.people import REPOSITORY, Opened, remember
from tests.hub.serving import Served, serving


class RestorableHub:
    """A hub whose database can be dumped, and replaced by a dump in a new database."""

    def __init__(self, folder: str, home: Path) -> None:
        self.folder = folder
        self.settings = Settings(home=home, person="hub", model="none")
        self.address = postgres.database(folder, f"first_{secrets.token_hex(4)}")
        self.host = Host(HubDatabase.open(self.address), self.settings)
        self.admin = self.host.create_team("payments")

    def dump(self) -> bytes:
        return self._run("pg_dump", "-Fc", "-d", self.address_of_superuser)

    def restore(self, dump: bytes, *, in_place: bool = False) -> None:
        self.host.close()
        if not in_place:
            self.address = postgres.database(self.folder, f"next_{secrets.token_hex(4)}")
        self._run("pg_restore", "--clean", "--if-exists", "-d", self.address_of_superuser, given=dump)
        self.host = Host(HubDatabase.open(self.address), self.settings)

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


def list_texts(mind: Hivemind) -> list[str]:
    return sorted(memory.text for memory in mind.list(limit=500))


def list_hub_texts(served: Served, token: str) -> list[str]:
    rows = served.ask("GET", f"/v1/memories?limit=200&repo={REPOSITORY.id}", token).body
    return sorted(row["text"] for row in rows)


def sync(mind: Hivemind, served: Served, token: str) -> SyncResult:
    return mind.team.sync(HubClient(url=served.url, token=token))


HUB_TEXTS = ("Invoices are sent on Mondays", "The staging cluster runs in Frankfurt", "Standup is at ten")
LATER_TEXTS = ("Linting runs with ruff", "Releases are cut from main", "The logo is green", "Backups run nightly")


@pytest.mark.parametrize("way", ["into a new database", "into the same database", "unnoticed by the hub"])
def test_after_a_restore_nothing_that_a_device_knows_is_lost_and_nothing_new_is_missed(
    hub: RestorableHub, device: Opened, way: str
) -> None:
    if way == "unnoticed by the hub":
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
    hub.restore(dump, in_place=way == "into the same database")
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


def test_erasures_and_revocations_after_the_dump_are_applied_again_from_a_device_that_knows_them(
    hub: RestorableHub, device: Opened
) -> None:
    alice = device("alice")
    with hub.served() as served:
        tokens = {name: served.token("payments", Role.WRITER, name) for name in ("alice", "mallory", "carol")}
        erased = remember(served, hub.admin, "The vault code is xylophone42")
        remember(served, hub.admin, "Standup is at ten")
        lost = device("carol")
        sync(lost, served, tokens["carol"])
    dump = hub.dump()
    with hub.served() as served:
        assert served.ask("DELETE", f"/v1/memories/{erased}", hub.admin).status == 200
        assert served.ask("DELETE", "/v1/tokens/mallory", hub.admin).status == 200
        assert served.ask("DELETE", f"/v1/devices/{lost._context.store.chain[:8]}", hub.admin).status == 200
        sync(alice, served, tokens["alice"])
    hub.restore(dump)
    with hub.served() as served:
        forgotten = [served.ask("GET", "/v1/devices", tokens["mallory"]).status, list_hub_texts(served, hub.admin)]

        sync(alice, served, tokens["alice"])

        assert forgotten == [200, ["Standup is at ten", "The vault code is xylophone42"]]
        assert served.ask("GET", "/v1/devices", tokens["mallory"]).status == 401
        assert list_hub_texts(served, hub.admin) == ["Standup is at ten"]
        with pytest.raises(AccessRevoked, match="yours and unsent ones stay"):
            sync(lost, served, tokens["carol"])
        assert list_texts(lost) == []
        epochs = served.ask("GET", "/v1/epochs", hub.admin).body
        assert [(epoch["why"], epoch["returned"] > 0) for epoch in epochs] == [
            ("first", False),
            ("the database was restored or failed over", True),
        ]
        assert served.ask("GET", "/v1/audit", hub.admin).body == []


def test_an_hour_old_dump_is_restored_under_load_and_everything_converges(hub: RestorableHub, device: Opened) -> None:
    people = ("alice", "bob", "carol")
    minds = {name: device(name) for name in people}
    with hub.served() as served:
        tokens = {name: served.token("payments", Role.WRITER, name) for name in people}

    def work(served: Served, name: str, phase: str) -> None:
        for number in range(4):
            minds[name].remember(f"{name} {phase} {secrets.token_hex(6)} {number}", scope=Scope.TEAM)
            remember(served, hub.admin, f"hub for {name} {phase} {secrets.token_hex(6)} {number}")
            sync(minds[name], served, tokens[name])

    def work_at_once(phase: str) -> None:
        with hub.served() as served, ThreadPoolExecutor(len(people)) as pool:
            list(pool.map(lambda name: work(served, name, phase), people))

    work_at_once("before")
    dump = hub.dump()
    work_at_once("lost")
    hub.restore(dump)
    work_at_once("after")
    with hub.served() as served:
        for name in (*people, *people):
            sync(minds[name], served, tokens[name])

        texts = list_hub_texts(served, hub.admin)
        assert len(texts) == 3 * 2 * 4 * len(people)
        assert [list_texts(minds[name]) for name in people] == [texts] * len(people)
        assert served.ask("GET", "/v1/audit", hub.admin).body == []
    assert [minds[name].maintenance.audit() for name in people] == [()] * len(people)


def test_a_promoted_replica_that_lacks_the_last_entries_gets_them_back(hub: RestorableHub, device: Opened) -> None:
    alice, bob = device("alice"), device("bob")
    with hub.served() as served:
        tokens = {name: served.token("payments", Role.WRITER, name) for name in ("alice", "bob")}
        sync(alice, served, tokens["alice"])
    with postgres.replicating(hub.folder) as replica_folder:
        replica_address = hub.address.replace(hub.folder, replica_folder)
        wait_for_replica(hub.address_of_superuser, replica_address.replace(postgres.OWNER, "postgres"))
        # From here on the replica receives nothing: the network between the two is gone.
        with psycopg.connect(replica_address.replace(postgres.OWNER, "postgres"), autocommit=True) as replica:
            replica.execute("ALTER SYSTEM SET primary_conninfo = ''")
            replica.execute("SELECT pg_reload_conf()")
            while replica.execute("SELECT count(*) FROM pg_stat_wal_receiver").fetchone() != (0,):
                time.sleep(0.05)
        with hub.served() as served:
            remember(served, hub.admin, "Written to the first server alone")
            sync(alice, served, tokens["alice"])
        postgres.promote(replica_folder)
        hub.host.close()
        hub.host = Host(HubDatabase.open(replica_address), hub.settings)
        with hub.served() as served:
            remember(served, hub.admin, "Written after the failover")
            assert sync(alice, served, tokens["alice"]).returned == 1
            sync(bob, served, tokens["bob"])

            assert list_texts(alice) == list_texts(bob) == list_hub_texts(served, hub.admin)
            assert list_texts(alice) == ["Written after the failover", "Written to the first server alone"]
        hub.host.close()


def wait_for_replica(primary_address: str, replica_address: str) -> None:
    with psycopg.connect(primary_address) as primary, psycopg.connect(replica_address, autocommit=True) as replica:
        row = primary.execute("SELECT pg_current_wal_lsn()").fetchone()
        assert row is not None
        while replica.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", row).fetchone() != (True,):
            time.sleep(0.05)


def test_nobody_can_bring_back_what_the_hub_never_had(hub: RestorableHub, device: Opened) -> None:
    alice, mallory = device("alice"), device("mallory")
    with hub.served() as served:
        tokens = {name: served.token("payments", Role.WRITER, name) for name in ("alice", "mallory")}
        sync(alice, served, tokens["alice"])
        sync(mallory, served, tokens["mallory"])
        alice.remember("Alice has not sent this", scope=Scope.TEAM)
        store = alice._context.store
        (entry,) = sync_state.read_chain(store.db, store.chain, 0, 10)
        head = ChainHead(chain=store.chain, person="alice", seq=1, hash=entry.header.hash, epoch="e", seal="0" * 32)

        with pytest.raises(Refused, match="seal"):
            HubClient(url=served.url, token=tokens["mallory"]).take_back(mallory._context.store.chain, [entry], head)

        # Nor can anybody make the hub believe that it lost something.
        bookmark = Bookmark(epoch=served.ask("GET", "/v1/epochs", hub.admin).body[0]["id"], cursor=7, head=head)
        HubClient(url=served.url, token=tokens["mallory"]).say_hello(mallory._context.store.chain, bookmark)
        assert len(served.ask("GET", "/v1/epochs", hub.admin).body) == 1
        assert "Alice has not sent this" not in list_hub_texts(served, hub.admin)


def test_what_was_refused_stays_refused_and_nobody_can_keep_content_out(hub: RestorableHub, device: Opened) -> None:
    alice, mallory = device("alice"), device("mallory")
    with hub.served() as served:
        tokens = {name: served.token("payments", Role.WRITER, name) for name in ("alice", "mallory")}
        memory = remember(served, hub.admin, "Standup is at ten")
        sync(mallory, served, tokens["mallory"])
    dump = hub.dump()
    with hub.served() as served:
        remember(served, hub.admin, "Invoices are sent on Mondays")
        store = mallory._context.store
        mallory.reject(memory)
        refused_entries = sync_state.read_chain(store.db, store.chain, 0, 10)
        assert len(sync(mallory, served, tokens["mallory"]).refused) == 1
        sync(alice, served, tokens["alice"])
    hub.restore(dump)
    with hub.served() as served:
        client = HubClient(url=served.url, token=tokens["mallory"])
        # Mallory returns her refused verdict with its content, and the hub's entries without theirs.
        for chain in (head.chain for head in sync_state.list_heads(store.db)):
            for head in sync_state.list_seals(store.db, chain, 0):
                entries = sync_state.read_chain(store.db, chain, 0, head.seq)
                stripped_entries = [replace(entry, content=None, salt=b"") for entry in entries]
                sent_entries = refused_entries if chain == store.chain else stripped_entries
                client.take_back(store.chain, sent_entries, head)
        before = list_hub_texts(served, hub.admin)
        status_before = served.ask("GET", f"/v1/memories/{memory}", hub.admin).body["memory"]["status"]

        sync(alice, served, tokens["alice"])

        assert (before, status_before) == (["Standup is at ten"], "active")
        assert list_hub_texts(served, hub.admin) == ["Invoices are sent on Mondays", "Standup is at ten"]
        assert served.ask("GET", f"/v1/memories/{memory}", hub.admin).body["memory"]["status"] == "active"
        assert served.ask("GET", "/v1/audit", hub.admin).body == []


def test_an_operator_tells_the_hub_of_a_restore_that_it_cannot_see(hub: RestorableHub, device: Opened) -> None:
    alice = device("alice")
    with hub.served() as served:
        token = served.token("payments", Role.WRITER, "alice")
        sync(alice, served, token)

        assert hub.host.begin_epochs() == 1

        assert sync(alice, served, token).returned == 0
        assert sync(alice, served, token).returned is None


def test_a_pull_in_an_epoch_that_has_ended_is_refused(hub: RestorableHub) -> None:
    with hub.served() as served:
        token = served.token("payments", Role.WRITER, "alice")
        epoch = served.ask("POST", "/v1/hello", token, {"device": "laptop"}).body["epoch"]
        pull = f"/v1/pull?device=laptop&epoch={epoch}"
        before = served.ask("GET", pull, token)
        hub.host.begin_epochs()

        assert (before.status, served.ask("GET", pull, token).status) == (200, 422)
