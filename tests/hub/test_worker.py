"""The work that no request waits for: vectors, rebuilds after an upgrade, old receipts."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from hivemind import Hivemind, Scope
from hivemind.embedding import semantic_index
from hivemind.errors import Unauthenticated
from hivemind.hivemind import make_context
from hivemind.hub import derived_data
from hivemind.hub.host import Host
from hivemind.hub.store import HubDatabase, TeamProgress
from hivemind.hub.worker import HubWorker
from hivemind.model.memory import Memory
from hivemind.model.recall import SHIPPED_MODEL
from hivemind.model.scope import Repository
from hivemind.model.team import Role
from hivemind.settings import Settings
from hivemind.store import log, projector
from tests.conftest import PERSON, Clock
from tests.postgres import new_team

HERE = "remote:git.example/acme/api"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, person="ada")


@pytest.fixture
def own_hub(empty_database: str) -> Iterator[HubDatabase]:
    """A hub with a queue of its own, because a worker takes from every team."""
    with HubDatabase.open(empty_database) as hub:
        yield hub


@contextmanager
def memory_of(hub: HubDatabase, team: str, settings: Settings, clock: Clock | None = None) -> Iterator[Hivemind]:
    with hub.open_team(team) as store:
        arguments = (store, settings, Repository(id=HERE, root=""), PERSON)
        yield Hivemind(make_context(*arguments, clock) if clock else make_context(*arguments))


def remember(hub: HubDatabase, team: str, settings: Settings, texts: list[str]) -> list[Memory]:
    with memory_of(hub, team, settings) as mind:
        return [mind.remember(text, scope=Scope.TEAM) for text in texts]


def state_of(hub: HubDatabase, team: str) -> TeamProgress:
    return next(state for state in hub.list_teams() if state.team == team)


def embed_all(worker: HubWorker) -> list[int]:
    return list(iter(worker.embed_batch, 0))


def test_a_question_embeds_nothing_but_itself_and_a_worker_the_rest(own_hub: HubDatabase, settings: Settings) -> None:
    team = new_team(own_hub)
    remember(own_hub, team, settings, ["The car was fixed at the garage", "Lunch is at noon"])

    with memory_of(own_hub, team, settings) as mind:
        mind.recall("automobile repair")
        before = state_of(own_hub, team)
        embedded = embed_all(HubWorker(own_hub, settings))
        answer = mind.recall("automobile repair")

    assert (before.waiting, before.model) == (2, "")
    assert (sum(embedded), state_of(own_hub, team).waiting, state_of(own_hub, team).model) == (2, 0, SHIPPED_MODEL)
    assert answer.hits[0].memory.text == "The car was fixed at the garage"


def test_workers_share_a_queue_and_make_no_vector_twice(own_hub: HubDatabase, settings: Settings) -> None:
    teams = [new_team(own_hub) for _ in range(3)]
    for team in teams:
        remember(own_hub, team, settings, [f"Fact number {number} of the service" for number in range(50)])

    with ThreadPoolExecutor(3) as pool:
        batches = list(pool.map(lambda _: embed_all(HubWorker(own_hub, settings)), range(3)))

    assert sum(map(sum, batches)) == 150
    assert [state_of(own_hub, team).waiting for team in teams] == [0, 0, 0]


def test_what_a_worker_left_undone_is_taken_by_another_when_its_claim_has_ended(
    own_hub: HubDatabase, settings: Settings
) -> None:
    team = new_team(own_hub)
    remember(own_hub, team, settings, ["Deploys run on Fridays"])
    with own_hub.open_team(team) as store:
        assert derived_data.claim_passages(store.db, SHIPPED_MODEL, 10)
        worker = HubWorker(own_hub, settings)

        while_claimed = worker.embed_batch()
        store.db.execute("UPDATE vectors_wanted SET claimed_until = now() - interval '1 second'")

    assert (while_claimed, worker.embed_batch()) == (0, 1)


def test_a_long_queue_of_one_team_does_not_hold_up_another(own_hub: HubDatabase, settings: Settings) -> None:
    loud, quiet = new_team(own_hub), new_team(own_hub)
    with own_hub.open_team(loud) as store:
        store.db.execute("INSERT INTO vectors_wanted SELECT generate_series(1, 5000)")
    with own_hub.open_team(quiet) as store:
        store.db.execute("INSERT INTO vectors_wanted VALUES (1)")

    with own_hub.connect_without_team() as db:
        picked = [derived_data.find_waiting_team(db, SHIPPED_MODEL) for _ in range(40)]

    assert 5 < picked.count(quiet) < 35
    assert picked.count(quiet) + picked.count(loud) == 40


def test_vectors_of_another_model_are_replaced_when_the_operator_says_so(
    own_hub: HubDatabase, settings: Settings
) -> None:
    team = new_team(own_hub)
    remember(own_hub, team, settings, ["Deploys run on Fridays"])
    with own_hub.open_team(team) as store:
        (passage,) = derived_data.claim_passages(store.db, "older", 10)
        semantic_index.store_vectors(store.db, "older", [passage[0]], np.ones((1, 8), np.float32))
    worker = HubWorker(own_hub, settings)

    on_its_own = worker.embed_batch()
    queued = worker.change_model(state_of(own_hub, team))

    assert (on_its_own, queued, worker.embed_batch()) == (0, 1, 1)
    with own_hub.open_team(team) as store:
        assert store.db.execute("SELECT model FROM vectors") == [(SHIPPED_MODEL,)]


def outdate(hub: HubDatabase, team: str) -> None:
    """Make the tables of a team look as if an earlier version had filled them, wrongly."""
    with hub.open_team(team) as store:
        store.db.execute("UPDATE bookmarks SET version = 0")
        store.db.execute("UPDATE memories SET text = 'wrong'")


def read_texts(hub: HubDatabase, team: str) -> list[str]:
    with hub.open_team(team) as store:
        return sorted(row[0] for row in store.db.execute("SELECT text FROM memories"))


def test_outdated_tables_answer_until_a_worker_has_rebuilt_them_and_the_vectors_survive(
    own_hub: HubDatabase, settings: Settings
) -> None:
    team = new_team(own_hub)
    kept, edited = remember(own_hub, team, settings, ["Deploys run on Fridays", "Lunch is at noon"])
    worker = HubWorker(own_hub, settings)
    embed_all(worker)
    with memory_of(own_hub, team, settings) as mind:
        mind.edit(edited.id, "Lunch is at one")
        mind.recall("deploys")
    embed_all(worker)
    with own_hub.open_team(team) as store:
        vectors = sorted(store.db.execute("SELECT passage, numbers FROM vectors"))
        words = sorted(store.db.execute("SELECT rowid, text FROM words"))
        counts = sorted(store.db.execute("SELECT term, doc FROM word_counts"))
    outdate(own_hub, team)

    before = read_texts(own_hub, team)
    worker.maintain()

    assert before == ["wrong", "wrong"]
    assert read_texts(own_hub, team) == ["Deploys run on Fridays", "Lunch is at one"]
    assert (state_of(own_hub, team).is_outdated, state_of(own_hub, team).waiting) == (False, 0)
    with memory_of(own_hub, team, settings) as mind:
        db = mind._context.store.db
        assert sorted(db.execute("SELECT passage, numbers FROM vectors")) == vectors
        assert sorted(db.execute("SELECT rowid, text FROM words")) == words
        assert sorted(db.execute("SELECT term, doc FROM word_counts")) == counts
        assert mind.recall("when do we deploy").hits[0].memory.id == kept.id
        assert mind.explain(kept.id).receipts
        assert log.verify(db) == []


def test_members_read_and_write_while_their_tables_are_rebuilt(
    own_hub: HubDatabase, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = new_team(own_hub)
    remember(own_hub, team, settings, ["Deploys run on Fridays"])
    outdate(own_hub, team)
    is_rebuilding, may_finish = threading.Event(), threading.Event()
    apply = projector.apply

    def apply_slowly(db: object, events: object) -> None:
        apply(db, events)  # type: ignore[arg-type]
        if threading.current_thread().name == "rebuild" and not is_rebuilding.is_set():
            is_rebuilding.set()
            may_finish.wait(30)

    monkeypatch.setattr(projector, "apply", apply_slowly)
    rebuild = threading.Thread(target=own_hub.rebuild_team, args=[team], name="rebuild")
    rebuild.start()
    assert is_rebuilding.wait(30)

    read_meanwhile = read_texts(own_hub, team)
    remember(own_hub, team, settings, ["Written meanwhile"])
    may_finish.set()
    rebuild.join(30)

    assert read_meanwhile == ["wrong"]
    assert read_texts(own_hub, team) == ["Deploys run on Fridays", "Written meanwhile"]


def test_two_versions_serve_side_by_side(
    own_hub: HubDatabase, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    team = new_team(own_hub)
    remember(own_hub, team, settings, ["Written before the upgrade"])

    with monkeypatch.context() as newer:
        newer.setattr(projector, "VERSION", projector.VERSION + 1)
        remember(own_hub, team, settings, ["Written by the newer one, before its rebuild"])
        HubWorker(own_hub, settings).maintain()
        after_rebuild = state_of(own_hub, team).is_outdated
    # The older one still answers and writes.
    remember(own_hub, team, settings, ["Written by the older one, after the rebuild"])
    with newer_version(monkeypatch):
        before_second = state_of(own_hub, team).is_outdated
        HubWorker(own_hub, settings).maintain()
        after_second = state_of(own_hub, team).is_outdated

    assert (after_rebuild, before_second, after_second) == (False, True, False)
    assert len(read_texts(own_hub, team)) == 3


@contextmanager
def newer_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setattr(projector, "VERSION", projector.VERSION + 1)
        yield


def test_receipts_are_written_together_a_moment_later_and_before_anybody_reads_them(
    own_hub: HubDatabase, settings: Settings
) -> None:
    team = new_team(own_hub)
    (memory,) = remember(own_hub, team, settings, ["Deploys run on Fridays"])

    with own_hub.open_team(team, read_only=True) as store:
        mind = Hivemind(make_context(store, settings, Repository(id=HERE, root=""), PERSON))
        ids = {mind.recall("deploys").receipt for _ in range(3)}
        at_once = len(store.db.execute("SELECT 1 FROM receipts"))
    with memory_of(own_hub, team, settings) as mind:
        receipts = mind.explain(memory.id).receipts

    assert at_once < 3
    assert {receipt.id for receipt in receipts} == ids


def test_a_question_that_quotes_what_was_erased_since_is_not_written_down(
    own_hub: HubDatabase, settings: Settings
) -> None:
    team = new_team(own_hub)
    secret, other = remember(
        own_hub, team, settings, ["The launch word of the rocket is opal tangerine", "Deploys run on Fridays"]
    )
    with own_hub.open_team(team, read_only=True) as store:
        mind = Hivemind(make_context(store, settings, Repository(id=HERE, root=""), PERSON))
        with memory_of(own_hub, team, settings) as eraser:
            mind.recall("Deploys: is the launch word of the rocket is opal tangerine still right?")
            eraser.erase(secret.id)

    with own_hub.open_team(team) as fresh:
        bodies = " ".join(row[0] for row in fresh.db.execute("SELECT content FROM bodies"))
    assert "opal tangerine" not in bodies
    assert other.id in bodies


def test_old_receipts_are_deleted_where_the_operator_says_so(
    own_hub: HubDatabase, settings: Settings, clock: Clock
) -> None:
    team = new_team(own_hub)
    with memory_of(own_hub, team, settings, clock) as mind:
        memory = mind.remember("Deploys run on Fridays", scope=Scope.TEAM)
        old = mind.recall("deploys").receipt
        clock.now += timedelta(days=40)
        new = mind.recall("deploys").receipt

    HubWorker(own_hub, settings, clock=clock).maintain()
    with memory_of(own_hub, team, settings) as mind:
        untouched = {receipt.id for receipt in mind.explain(memory.id).receipts}
    HubWorker(own_hub, settings, receipt_days=30, clock=clock).maintain()

    with memory_of(own_hub, team, settings) as mind:
        assert untouched == {old, new}
        assert {receipt.id for receipt in mind.explain(memory.id).receipts} == {new}
        assert log.verify(mind._context.store.db) == []


def test_tokens_that_were_replaced_are_deleted_when_their_devices_leases_have_ended(
    own_hub: HubDatabase, settings: Settings, clock: Clock
) -> None:
    host = Host(own_hub, settings, clock=clock)
    host.create_team("payments")
    with host.open_mind(host.find_owner("payments")) as mind:
        tokens = mind.admin.tokens
        first = tokens.issue(name="alice", role=Role.WRITER, days=1)
        visit = host.begin_visit(first, "127.0.0.1")
        second = tokens.issue(name="alice", role=Role.WRITER, days=200)
        revoked = tokens.rotate("admin", days=200)
        tokens.issue(name="bob", role=Role.REVIEWER, days=1)
        ids_at_first = [token.id for token in tokens.list()]

        clock.advance(days=50)
        HubWorker(own_hub, settings, clock=clock).maintain()
        ids_within_the_lease = [token.id for token in tokens.list()]
        clock.advance(days=20)
        HubWorker(own_hub, settings, clock=clock).maintain()
        names_left = sorted((token.name, bool(token.revoked_at)) for token in tokens.list())

    assert ids_within_the_lease == ids_at_first
    # The revoked one is not expired yet; bob's is the last that says what he was.
    assert names_left == [("admin", False), ("admin", True), ("alice", False), ("bob", False)]
    assert host.admit(second, "127.0.0.1", "test").member.person == "alice"
    assert host.admit(revoked, "127.0.0.1", "test").member.role is Role.ADMIN
    for secret, admit in ((first, host.admit), (visit, host.admit_visit)):
        with pytest.raises(Unauthenticated):
            admit(secret, "127.0.0.1", "test")
