"""What Postgres itself holds to on a hub: teams that cannot see each other, whatever a statement forgets."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from hivemind import Hivemind, Scope
from hivemind.errors import NotFound, Refused, StoreError, StoreTooNew, Unavailable
from hivemind.hivemind import make_context
from hivemind.hub import access
from hivemind.hub.access import AdmittedMember
from hivemind.hub.postgres import connect, migrate, translate_sql
from hivemind.hub.store import HubDatabase, HubStore
from hivemind.hub.worker import HubWorker
from hivemind.model.events import MemoriesRecalled
from hivemind.model.recall import SHIPPED_MODEL, Query
from hivemind.model.scope import Repository, Visibility
from hivemind.model.team import Role, TeamMember
from hivemind.settings import Settings
from hivemind.store import log
from hivemind.store.projections import memories, receipts, sessions, vectors, words
from tests import postgres
from tests.conftest import PERSON, Clock
from tests.contract.conftest import HERE
from tests.contract.test_store import observed, remembered
from tests.postgres import new_team

SEES: dict[str, Callable[[HubStore], Any]] = {
    "memories by id": lambda store: memories.get_all(store.db, [remembered(1).about]),
    "memories by prefix": lambda store: store.db.execute("SELECT id FROM memories WHERE id LIKE '0%'"),
    "memories listed": lambda store: list(memories.iterate_visible(store.db, Visibility(repos=(), everywhere=True))),
    "memories counted": lambda store: memories.count_by_kind(store.db),
    "the log": lambda store: log.read_events(store.db, 0, 100),
    "the log as people read it": lambda store: log.read_entries(store.db, Visibility(repos=(), everywhere=True)),
    "the log about a memory": lambda store: log.read_events_about(store.db, remembered(1).about),
    "the end of the log": lambda store: log.read_last_position(store.db),
    "known entries": lambda store: log.find_known_ids(store.db, [remembered(1).id]),
    "devices": lambda store: store.db.execute("SELECT id FROM devices"),
    "bodies that hold something": lambda store: list(log.find_quoting_entries(store.db, [["quarterly"]], bool)),
    "sessions": lambda store: sessions.list_sessions(store.db, Visibility(repos=(), everywhere=True), limit=10),
    "receipts": lambda store: receipts.find_by_session(store.db, "", Visibility(repos=(), everywhere=True)),
    "tombstones": lambda store: store.db.execute("SELECT value FROM tombstones"),
    "erased texts": lambda store: store.db.execute("SELECT imprint FROM erased_texts"),
    "passages": lambda store: words.find_visible(store.db, everywhere("quarterly"), dict.fromkeys(range(1_000), 0.0)),
    "passages by words": lambda store: store.db.index.search(everywhere("quarterly report"), 10),
    "memories that share words": lambda store: store.db.index.find_with_words([["quarterly"]], HERE, 20),
    "words said elsewhere": lambda store: store.db.index.is_word_elsewhere("quarterly", []),
    "words counted": lambda store: store.db.execute("SELECT term FROM word_counts"),
    "vectors counted": lambda store: any(vectors.count(store.db, SHIPPED_MODEL)),
    "how much there is": lambda store: store.bytes,
}
"""Everything that reads, and is true of a team that has something to see."""


def everywhere(text: str) -> Query:
    sight = Visibility(repos=(HERE,), everywhere=True)
    return Query(text=text, sight=sight, now="2026-03-02T00:00:00.000000Z", limit=5, max_tokens=500)


@pytest.fixture
def teams(hub: HubDatabase) -> Iterator[tuple[HubStore, HubStore]]:
    """One that has something to hide, and one that has nothing."""
    ours, theirs = (hub.open_team(new_team(hub)) for _ in range(2))
    secret = remembered(1, "the quarterly report is late")
    shown = MemoriesRecalled(query="quarterly", shown=(), session_id="s1")
    ours.record([secret, observed(1, "quarterly numbers"), replace(observed(2), fact=shown)])
    ours.db.execute("INSERT INTO tombstones VALUES ('v', 'm', '', 'rejected')")
    ours.db.execute("INSERT INTO erased_texts VALUES ('m', 0, 'team', '1:00')")
    ours.db.execute("INSERT INTO receipts VALUES ('r', 'm', '', '', 's1', 'quarterly', 1, 1.0, 1, '')")
    ours.db.execute("INSERT INTO removed_people (person, at) VALUES ('p', '')")
    tokens = access.Tokens(ours.db, lambda: NOW, lambda *_: None)
    tokens.issue(name="ada", role=Role.ADMIN)
    access.begin_visit(ours.db, NOW, AdmittedMember(team=ours.db.team, member=ADA, token=tokens.list()[0].id))
    access.record_refusal(ours.db, NOW, team=ours.db.team, who="eve", what="to come in", why="no valid token")
    yield ours, theirs
    ours.close()
    theirs.close()


@contextmanager
def raw(hub: HubDatabase, team: str, role: str) -> Iterator[psycopg.Connection[Any]]:
    """A connection of somebody who wrote their own SQL."""
    with hub.pool.connection() as connection, connection.transaction():
        connection.execute(f"SET LOCAL hivemind.team = '{team}'".encode())
        connection.execute(f"SET LOCAL ROLE {role}".encode())
        yield connection


@pytest.mark.parametrize("what", SEES)
def test_another_team_sees_nothing(teams: tuple[HubStore, HubStore], what: str) -> None:
    ours, theirs = teams

    assert SEES[what](ours)
    assert not SEES[what](theirs)


def test_meaning_does_not_reach_into_another_team(hub: HubDatabase, tmp_path: Path, clock: Clock) -> None:
    settings = Settings(home=tmp_path, person="ada")
    said = "The car was fixed at the garage"
    with hub.open_team(new_team(hub)) as ours, hub.open_team(new_team(hub)) as theirs:
        for store in (ours, theirs):
            mind = Hivemind(make_context(store, settings, Repository(id=HERE, root=""), PERSON, clock))
            text = said if store is ours else "Nothing of interest"
            mind.remember(text, scope=Scope.TEAM)
            while HubWorker(hub, settings).embed_batch():
                pass
            asked = mind._context.embedder.meaning.embedder.embed(["automobile repair"])[0]  # type: ignore[union-attr]

            near = store.db.index.find_likely(SHIPPED_MODEL, asked, Visibility(repos=(), everywhere=True), 200)

            assert [
                one.text
                for one in words.find_visible(store.db, everywhere("automobile repair"), dict.fromkeys(near, 0.0))
            ] == [said if store is ours else "Nothing of interest"]


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ADA = TeamMember(person="ada", role=Role.ADMIN)
TABLES = [
    *(
        "teams",
        "devices",
        "events",
        "bodies",
        "erased",
        "bookmarks",
        "memories",
        "tombstones",
        "erased_texts",
        "receipts",
    ),
    *("sessions", "observations", "passages", "words", "word_counts", "vectors_wanted"),
    *("tokens", "visits", "refusals", "removed_people"),
]


@pytest.mark.parametrize("role", ["hivemind_hub", postgres.OWNER])
@pytest.mark.parametrize("table", TABLES)
def test_rows_of_another_team_are_out_of_reach_of_any_statement(
    hub: HubDatabase, teams: tuple[HubStore, HubStore], table: str, role: str
) -> None:
    ours, theirs = teams
    ours.db.execute("INSERT INTO erased (name) VALUES ('something') ON CONFLICT DO NOTHING")
    everything = f"SELECT count(*) FROM hivemind.{table} WHERE team_id = $1".encode()

    with raw(hub, theirs.db.team, role) as connection:
        seen = connection.execute(everything, [ours.db.team]).fetchone()
    with raw(hub, ours.db.team, role) as connection:
        own = connection.execute(everything, [ours.db.team]).fetchone()

    assert seen == (0,)
    assert own is not None
    assert own[0] > 0


def test_without_a_team_there_is_nothing_and_nothing_can_be_written(
    hub: HubDatabase, teams: tuple[HubStore, HubStore]
) -> None:
    with raw(hub, "", "hivemind_hub") as connection:
        assert connection.execute("SELECT count(*) FROM hivemind.events").fetchone() == (0,)
        with pytest.raises(psycopg.errors.Error):
            connection.execute("INSERT INTO hivemind.erased (name) VALUES ('x')")
    assert log.read_last_position(teams[0].db) > 0


def test_a_row_cannot_be_given_to_another_team(hub: HubDatabase, teams: tuple[HubStore, HubStore]) -> None:
    ours, theirs = teams
    give = "INSERT INTO hivemind.erased VALUES ('x', $1)"

    with raw(hub, theirs.db.team, "hivemind_hub") as connection:
        connection.execute(give, [theirs.db.team])
    with pytest.raises(psycopg.errors.InsufficientPrivilege), raw(hub, theirs.db.team, "hivemind_hub") as connection:
        connection.execute(give, [ours.db.team])


def test_the_role_that_answers_owns_nothing_and_every_table_is_bound(hub: HubDatabase) -> None:
    with hub.pool.connection() as connection:
        roles = connection.execute(
            "SELECT rolname, rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname LIKE 'hivemind%'"
        ).fetchall()
        bound = connection.execute(
            "SELECT relname, relrowsecurity AND relforcerowsecurity, pg_get_userbyid(relowner) FROM pg_class"
            " WHERE relnamespace = 'hivemind'::regnamespace AND relkind = 'r'"
            " AND relname <> 'migrations'"
        ).fetchall()
        functions = connection.execute(
            "SELECT pg_get_userbyid(proowner), proname FROM pg_proc WHERE pg_get_userbyid(proowner) LIKE 'hivemind%'"
        ).fetchall()

    assert {role for role, *_ in roles} == {"hivemind_hub", "hivemind_index", "hivemind_door"}
    assert not any(any(may) for _, *may in roles)
    assert len(bound) > len(TABLES)
    assert all(is_bound and owner == postgres.OWNER for _, is_bound, owner in bound)
    index, door = ({name for role, name in functions if role == owner} for owner in ("hivemind_index", "hivemind_door"))
    assert index == {"saying", "nearest_passages", "best_matching", "waiting_team"}
    assert door == {
        "token_of", "visit_of", "team_named", "has_teams", "note_refusal", "is_revoked", "list_teams",
        "prune_refusals", "person_of", "find_person", "set_removal", "is_removed", "login_of", "use_proof",
    }  # fmt: skip


def test_people_of_the_identity_provider_are_out_of_reach_of_any_team(
    hub: HubDatabase, teams: tuple[HubStore, HubStore]
) -> None:
    ours, _ = teams
    ours.db.execute("SELECT name FROM person_of('p', 'https://id.example', 'subject', 'somebody')")

    for statement in ("SELECT FROM people", "SELECT FROM used_proofs", "UPDATE people SET removed_at = ''"):
        with pytest.raises(StoreError):
            ours.db.execute(statement)
    assert ours.db.one("SELECT name FROM find_person('subject')") == ("somebody",)


def test_the_log_cannot_be_changed_by_the_role_that_answers(teams: tuple[HubStore, HubStore]) -> None:
    ours, _ = teams

    with pytest.raises(StoreError):
        ours.db.execute("UPDATE events SET actor = 'eve'")
    with pytest.raises(StoreError):
        ours.db.execute("DELETE FROM events")
    assert log.verify(ours.db) == []


@pytest.mark.parametrize("scope", [Scope.USER, Scope.PROJECT])
def test_what_is_private_is_refused_by_the_database_itself(teams: tuple[HubStore, HubStore], scope: Scope) -> None:
    ours, _ = teams

    with pytest.raises(Refused):
        ours.record([replace(remembered(7), scope=scope)])
    assert ours.record([remembered(7)]) == [remembered(7)]


@pytest.mark.parametrize("scope", [Scope.USER, Scope.PROJECT])
def test_only_what_is_the_teams_can_stand_in_a_shared_chain(teams: tuple[HubStore, HubStore], scope: Scope) -> None:
    ours, _ = teams
    ours.db.execute("INSERT INTO devices (id, last_seq, last_hash, shared) VALUES ('laptop', 0, '', 1)")
    entry = (
        "INSERT INTO events (id, device, device_seq, prev_hash, at, actor, channel, scope, repo, session, batch, about,"
        " fact, digest) VALUES (?, ?, ?, '', '', '', '', ?, '', '', '', '', 'observation.made', '')"
    )

    key = ours.db.value("SELECT key FROM devices WHERE id = 'laptop'")
    ours.db.execute(entry, "a", key, 1, "team")

    with pytest.raises(Refused):
        ours.db.execute(entry, "b", key, 2, scope)
    with pytest.raises(StoreError):
        ours.db.execute("UPDATE devices SET shared = 0 WHERE id = 'laptop'")
    ours.db.execute("UPDATE devices SET person = 'ada' WHERE id = 'laptop'")


def test_writers_of_a_team_take_turns_and_no_position_is_skipped(hub: HubDatabase) -> None:
    team = new_team(hub)

    def write(worker: int) -> None:
        with hub.open_team(team) as store:
            for number in range(10):
                store.record([replace(remembered(number), id=f"{worker}-{number}")])  # type: ignore[arg-type]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))

    with hub.open_team(team) as store:
        assert len(log.read_events(store.db, 0, 100)) == 40
        assert log.verify(store.db) == []


def test_two_hubs_may_start_at_once_and_starting_again_changes_nothing(empty_database: str) -> None:
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(migrate, [empty_database] * 3))

    migrate(empty_database)
    with HubDatabase.open(empty_database) as hub, hub.open_team(new_team(hub)) as store:
        store.record([remembered(1)])
        assert log.read_last_position(store.db) > 0


def test_a_database_that_a_newer_program_added_to_is_used_and_one_that_it_changed_is_left_alone(
    empty_database: str,
) -> None:
    migrate(empty_database)
    with connect(empty_database) as owner:
        owner.execute("INSERT INTO hivemind.migrations VALUES ('9998_added.sql')")
        assert migrate(empty_database) == []

        owner.execute("INSERT INTO hivemind.migrations VALUES ('9999_broken.sql', true)")
        with pytest.raises(StoreTooNew, match="9999_broken"):
            migrate(empty_database)


def test_a_team_that_is_not_there_is_not_opened(hub: HubDatabase) -> None:
    with pytest.raises(NotFound):
        hub.open_team("00000000-0000-0000-0000-000000000000")


def test_a_database_that_does_not_answer_is_said_to_be_unavailable(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="address"):
        connect(f"postgresql://nobody@/none?host={tmp_path}")


def test_placeholders_are_numbered_and_what_is_quoted_stays() -> None:
    assert translate_sql("SELECT ?, '?', ':a', ?::text", (1, 2)) == ("SELECT $1, '?', ':a', $2::text", [1, 2])
    assert translate_sql("SELECT :b, :a, :b::int", ({"a": 1, "b": 2},)) == ("SELECT $1, $2, $1::int", [2, 1])


def test_a_zero_character_is_kept_as_a_sign_that_there_was_one(teams: tuple[HubStore, HubStore]) -> None:
    ours, _ = teams

    ours.record([remembered(5, "zero\0here")])

    assert memories.get_all(ours.db, [remembered(5).about])[0].text == "zero\N{REPLACEMENT CHARACTER}here"
    assert log.verify(ours.db) == []


def test_rows_are_streamed_and_nothing_is_written_before_the_last(teams: tuple[HubStore, HubStore]) -> None:
    ours, _ = teams
    rows = ours.db.stream("SELECT value FROM generate_series(1, 5000) AS g (value)")

    first = next(rows)
    with pytest.raises(AssertionError, match="to its end"):
        ours.record([remembered(8)])

    assert [first, *rows] == [(number,) for number in range(1, 5001)]
    assert ours.record([remembered(8)])


def test_rows_that_an_older_transaction_still_sees_are_said_to_be_pending(
    empty_database: str, tmp_path: Path, clock: Clock
) -> None:
    settings = Settings(home=tmp_path, person="ada", model="none")
    with HubDatabase.open(empty_database) as hub, hub.open_team(new_team(hub)) as store:
        mind = Hivemind(make_context(store, settings, Repository(id=HERE, root=""), PERSON, clock))
        memory = mind.remember("The launch word is opal", scope=Scope.TEAM)
        worker = HubWorker(hub, settings, report=lambda _: None)
        with psycopg.connect(empty_database) as older:
            older.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            older.execute("SELECT 1")
            mind.erase(memory.id)
            worker.maintain()
            held_up = mind.erasures.receipt(memory.id)

        worker.maintain()
        cleared = mind.erasures.receipt(memory.id)

    assert held_up is not None
    assert cleared is not None
    assert ("hub", "pending") in [(place.name, place.state) for place in held_up.places]
    assert ("hub", "done") in [(place.name, place.state) for place in cleared.places]
    assert cleared.is_complete
