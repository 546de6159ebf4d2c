"""What a store promises, whichever engine it runs on."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from hivemind import Hivemind, Kind, Scope
from hivemind.embedding import semantic_index
from hivemind.embedding.embedder import load_default
from hivemind.embedding.semantic_index import SemanticIndex
from hivemind.errors import NotFound, Refused
from hivemind.hub.store import HubDatabase
from hivemind.model.code import Anchor
from hivemind.model.events import (
    Event,
    MemoriesRecalled,
    MemoryAnchored,
    MemoryErased,
    MemoryRemembered,
    MemoryRevised,
    ObservationMade,
    RepositorySeen,
    ShownMemory,
)
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel, Status
from hivemind.model.metadata import Metadata, MetadataValue
from hivemind.model.recall import Query, Recall
from hivemind.model.review import Selection
from hivemind.model.scope import Repository, Visibility
from hivemind.model.session import ObservationKind
from hivemind.recall.candidates import correct_spelling, read_closest
from hivemind.store import log
from hivemind.store.projections import memories, receipts, repositories, sessions
from hivemind.store.store import Store
from tests.conftest import AGENT, Clock
from tests.contract.conftest import HERE, MakeStore, MindOn, settle, tamper
from tests.hypothesis_profile import examples
from tests.postgres import new_team
from tests.property.test_log import histories

TEAM = Scope.TEAM
ELSEWHERE = "remote:git.example/acme/web"


def texts(found: Recall) -> list[str]:
    return [hit.memory.text for hit in found.hits]


def remembered(number: int, text: str = "") -> Event:
    return Event(
        id=EventId(f"{number:04d}"),
        at=f"2026-03-01T12:00:{number:02d}.000000Z",
        actor="ada",
        channel=Channel.PERSON,
        scope=TEAM,
        repo=HERE,
        fact=MemoryRemembered(
            memory_id=MemoryId(f"{number:032x}"), kind=Kind.FACT, text=text or f"fact {number}", owner="ada"
        ),
    )


def after(event: Event, fact: MemoryErased | MemoryRevised, minute: int) -> Event:
    return replace(event, id=EventId(f"{event.id}-{minute}"), at=f"2026-03-01T13:{minute:02d}:00.000000Z", fact=fact)


def observed(number: int, text: str = "ran the tests") -> Event:
    fact = ObservationMade(agent="codex", session_id="s1", seen=ObservationKind.PROMPT, directory="/work", text=text)
    at = f"2026-03-01T14:00:{number:02d}.000000Z"
    return replace(remembered(number), id=EventId(f"o{number}"), at=at, fact=fact, scope=Scope.PROJECT)


def picture(store: Store) -> dict[str, list[object]]:
    """Everything derived, without the numbers that only count arrivals."""
    found = {
        "memories": f"SELECT {memories.COLUMNS} FROM memories",
        "passages": "SELECT m.id, p.ordinal, p.since, p.until, w.text, w.context, w.around"
        " FROM passages p JOIN memories m ON m.key = p.memory JOIN words w ON w.rowid = p.key",
        # Of memories: a hub has no sessions, whose passages have negative numbers.
        "wanted": "SELECT count(*) FROM vectors_wanted WHERE passage > 0",
        "receipts": f"SELECT {receipts.COLUMNS} FROM receipts",
        "sessions": "SELECT id, agent, repo, directory, started_at, last_seen_at FROM sessions",
        "observations": "SELECT id, at, seen, text, tool, command, exit_code, file, subagent, size FROM observations",
        "repositories": "SELECT repo, root FROM repositories",
        "tombstones": "SELECT value, memory_id, repo, reason FROM tombstones",
        "erased_texts": "SELECT memory_id, place, scope, imprint FROM erased_texts",
    }
    return {name: sorted(map(list, store.db.execute(sql)), key=repr) for name, sql in found.items()}


def touched(number: int, file: str, *, diff: str = "", failed: bool = False) -> Event:
    fact = ObservationMade(
        agent="codex", session_id="s1", seen=ObservationKind.TOOL, file=file, diff=diff, failed=failed
    )
    return replace(observed(number), fact=fact)


# -- what sessions touched, and what is tied to code -----------------------------------------------


def test_the_files_of_sessions_are_told_once_each_with_whether_they_were_edited(store: Store) -> None:
    looks = [touched(1, "a.py"), touched(3, "b.py"), touched(4, "c.py", failed=True)]
    store.record([*looks, touched(2, "a.py", diff="+x")])

    assert sessions.find_touched_files(store.db, ["s1"]) == [("s1", "a.py", True), ("s1", "b.py", False)]
    assert sessions.find_touched_files(store.db, ["s2"]) == []


def test_the_working_trees_of_a_repository_are_known_by_its_names(store: Store) -> None:
    seen = [RepositorySeen(repo=repo, root=root) for repo, root in ((HERE, "/work/api"), (ELSEWHERE, "/work/web"))]
    store.record([replace(remembered(number), fact=fact) for number, fact in enumerate(seen)])

    assert repositories.find_roots(store.db, [HERE]) == ["/work/api"]


def test_a_memory_is_found_by_the_code_it_is_tied_to_in_whatever_words_it_was_linked(mind: Hivemind) -> None:
    anchor = Anchor(
        path="auth/service.py", kind="function", name="login", qualified="login", ordinal=0, line=1, end_line=2,
        signature="", before="", after="", fingerprint="",
    )  # fmt: skip
    memory = mind.remember("Logins are slow", scope=TEAM, links=["auth.service.login"])
    mind._context.record([mind._context.factory.about(memory, MemoryAnchored(memory_id=memory.id, anchors=(anchor,)))])
    query = mind._context.query(limit=5)

    places = ["auth/service.py", "auth/service.py::login", "auth.service.login", "auth/service.py::logout", "auth"]
    found = {place: len(memories.find_linked(mind._context.store.db, query, [place])) for place in places}

    assert [*found.values()] == [1, 1, 1, 0, 0]


# -- the log ---------------------------------------------------------------------------------------


def test_what_is_recorded_is_read_back_in_order(store: Store) -> None:
    events = [remembered(number) for number in range(5)]

    store.record(events)

    read = log.read_events(store.db, 0, 100)
    assert [event for _, event in read] == events
    assert [position for position, _ in read] == sorted(position for position, _ in read)
    assert [event for _, event in log.read_events(store.db, read[2][0], 1)] == [events[3]]
    assert log.read_last_position(store.db) == read[-1][0]


def test_what_arrives_twice_is_recorded_once(store: Store) -> None:
    events = [remembered(number) for number in range(3)]
    store.record(events)
    before, end = picture(store), log.read_last_position(store.db)

    assert store.record(events) == []

    assert (picture(store), log.read_last_position(store.db)) == (before, end)


def test_a_write_that_fails_leaves_nothing_behind(store: Store) -> None:
    store.record([remembered(1)])

    with suppress(ZeroDivisionError), store.db.transaction():
        store.record([remembered(2)])
        raise ZeroDivisionError

    assert [event.id for _, event in log.read_events(store.db, 0, 10)] == ["0001"]
    assert log.verify(store.db) == []


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE events SET actor = 'eve' WHERE id = '0002'",
        "UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE id = '0003'",
        "UPDATE bodies SET content = replace(content, 'fact 2', 'fact X')",
        "DELETE FROM bodies WHERE position = (SELECT position FROM events WHERE id = '0002')",
        "UPDATE events SET device_seq = 9 WHERE id = '0003'",
        "UPDATE devices SET last_hash = ''",
    ],
)
def test_any_single_change_to_the_log_is_noticed(store: Store, tampering: str) -> None:
    store.record([remembered(number) for number in range(4)])
    assert log.verify(store.db) == []

    tamper(store, tampering)

    assert log.verify(store.db) != []


def test_an_entry_that_was_taken_out_is_noticed(store: Store) -> None:
    store.record([remembered(number) for number in range(4)])

    tamper(store, "DELETE FROM bodies WHERE position = (SELECT position FROM events WHERE id = '0003')")
    tamper(store, "DELETE FROM events WHERE id = '0003'")

    assert log.verify(store.db) != []


def test_the_log_is_listed_page_by_page(mind: Hivemind) -> None:
    for number in range(5):
        mind.remember(f"thing number {number}", scope=TEAM)

    first = mind.history.log(limit=3)
    rest = mind.history.log(before=first[-1].position, limit=10)

    assert len(first) == 3
    assert [entry.position for entry in (*first, *rest)] == sorted(
        {entry.position for entry in (*first, *rest)}, reverse=True
    )


# -- what is derived -------------------------------------------------------------------------------


def test_the_order_of_arrival_does_not_matter_and_a_rebuild_changes_nothing(make_store: MakeStore) -> None:
    first = remembered(1, "the port is 8080")
    events = [
        first,
        after(first, MemoryRevised(memory_id=MemoryId(first.about), base=1, text="the port is 9090"), 1),
        remembered(2, "deploys happen on fridays"),
        after(remembered(3), MemoryErased(memory_id=MemoryId(remembered(3).about), values=("v",)), 2),
        remembered(3),
        observed(1),
        observed(2),
    ]
    one, other = make_store(), make_store()
    one.record(events)
    for event in reversed(events):
        other.record([event])

    before = picture(one)
    one.rebuild()

    assert picture(other) == before
    assert picture(one) == before
    assert len(before["memories"]) == 2
    assert len(before["tombstones"]) == 1
    assert log.verify(one.db) == log.verify(other.db) == []


@examples(25, shrink=False)
@given(history=histories())
def test_both_engines_derive_the_same_from_the_same_history(
    hub: HubDatabase, tmp_path: Path, history: list[Event]
) -> None:
    shared = [replace(event, scope=TEAM) for event in history]
    in_sqlite = Store.open(tmp_path / str(len(list(tmp_path.iterdir()))))
    in_postgres = hub.open_team(new_team(hub))

    for store in (in_sqlite, in_postgres):
        for event in shared:
            store.record([event])

    try:
        assert picture(in_postgres) == picture(in_sqlite)
        assert log.verify(in_postgres.db) == []
        before = picture(in_postgres)
        in_postgres.rebuild()
        assert picture(in_postgres) == before
    finally:
        in_sqlite.close()
        in_postgres.close()


# -- recall ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["Deploys run from main", "Nous déployons seulement le lundi", "Деплой идёт по пятницам", "我们只从主分支部署"],
)
def test_the_same_text_again_is_the_same_memory_in_any_language(mind: Hivemind, text: str) -> None:
    memory = mind.remember(text, scope=TEAM)

    assert mind.remember(text, scope=TEAM).id == memory.id
    assert len(mind.list()) == 1


def test_recall_finds_by_words_endings_and_parts_of_identifiers(mind: Hivemind) -> None:
    mind.remember("Deploys happen on Fridays", scope=TEAM)
    mind.remember("getUserById caches for an hour", scope=TEAM)
    mind.remember("Die Schlüssel liegen im Tresor", scope=TEAM)
    mind.remember("Nothing to do with it", scope=TEAM)

    assert texts(mind.recall("when is a deploy happening")) == ["Deploys happen on Fridays"]
    assert texts(mind.recall("get_user_by_id caching")) == ["getUserById caches for an hour"]
    assert texts(mind.recall("SCHLUSSEL tresor")) == ["Die Schlüssel liegen im Tresor"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("数据库在哪里", "主库部署在上海机房，数据库版本是十六"),
        ("패키지를 어디서 배포하나", "배포는 화요일에만 한다"),
        ("где лежит база", "Боевая база данных стоит в Екатеринбурге"),
        ("बैकअप कब होता है", "बैकअप रोज़ रात दो बजे लिया जाता है"),
        ("متى النسخ الاحتياطية", "النسخ الاحتياطي يتم كل ليلة"),
        ("Dürfen wir am Freitag?", "Freitags nach zwölf passiert nichts"),
        ("package manager", "We use pnpm, not npm"),
    ],
)
def test_recall_finds_other_scripts_other_forms_and_other_names(mind: Hivemind, question: str, answer: str) -> None:
    for text in (
        answer,
        "The kettle is blue",
        "周五下午三点以后禁止出门",
        "Кофе стоит на кухне",
        "Die Küche ist sauber",
    ):
        mind.remember(text, scope=TEAM)

    assert texts(mind.recall(question))[:1] == [answer]


def test_a_misspelled_question_is_answered_like_a_clean_one(mind_on: MindOn) -> None:
    mind = mind_on(model="")
    for text in (
        "TypeScript is strict",
        "Rubocop decides about style",
        "Handlers return an error, they never print it",
    ):
        mind.remember(text, scope=TEAM)

    assert texts(mind.recall("typsecript"))[:1] == ["TypeScript is strict"]
    assert mind.recall("eror handlign").query.text == "eror handlign"
    assert texts(mind.recall("eror handlign"))[:1] == ["Handlers return an error, they never print it"]


def test_a_rare_word_that_memories_have_is_not_corrected(mind_on: MindOn) -> None:
    mind = mind_on(model="")
    mind.remember("The eror flag of the modem means roaming", scope=TEAM)
    mind.remember("Every error is reported", scope=TEAM)

    assert texts(mind.recall("eror"))[0].startswith("The eror flag")


def test_strange_words_of_a_long_question_are_not_corrected(store: Store) -> None:
    store.record([remembered(1, "Sailing boats are inspected in March")])
    model = SemanticIndex(load_default())
    sight = Visibility.of(Repository(id=HERE, root=""))
    short = Query(text="sailng trip", sight=sight, now="2026-03-02T00:00:00.000000Z", limit=5, max_tokens=100)
    long = replace(short, text="my neighbour talked about the sailng trip with his sons for the whole evening, " * 3)

    assert correct_spelling(store.db, short, model).text == "sailing trip"
    assert correct_spelling(store.db, long, model).text == long.text


def test_words_are_unknown_until_a_passage_has_them(store: Store) -> None:
    store.record([remembered(1, "Handlers return errors")])

    assert store.db.index.find_unknown(["error", "handler", "eror", "übung"]) == ["eror", "übung"]


def test_words_in_quotes_must_stand_together(mind: Hivemind) -> None:
    mind.remember("the release branch is cut on Mondays", scope=TEAM)
    mind.remember("a branch can be for a release or for a fix", scope=TEAM)

    assert texts(mind.recall('"release branch"')) == ["the release branch is cut on Mondays"]
    assert len(texts(mind.recall("release branch"))) == 2


def test_a_rare_word_counts_more_than_common_ones(mind: Hivemind) -> None:
    for number in range(30):
        mind.remember(f"the cache of server {number} is cleared by job {number}", scope=TEAM)
    mind.remember("zookeeper keeps the leases", scope=TEAM)

    assert texts(mind.recall("cache zookeeper server"))[0] == "zookeeper keeps the leases"


def test_recall_finds_by_meaning_what_shares_no_word(mind_on: MindOn) -> None:
    mind = mind_on(model="")
    mind.remember("Production is released every Friday afternoon", scope=TEAM)
    mind.remember("The office plants are watered by Tom", scope=TEAM)
    mind.remember("The car was fixed at the garage", scope=TEAM)

    settle(mind)
    found = mind.recall("automobile repair", limit=1)

    assert texts(found) == ["The car was fixed at the garage"]
    assert any(signal.name == "meaning" for signal in found.hits[0].signals)


def test_a_filter_on_metadata_holds_before_ranking_and_compares_types(mind: Hivemind) -> None:
    for number in range(30):
        mind.remember(f"cache server {number}", scope=TEAM, metadata={"language": "Go", "size": number})
    wanted = mind.remember(
        "the cache of an old server",
        scope=TEAM,
        metadata={"language": "Python", "size": 3, "is_old": True, "a.b": "ü'"},
    )

    fitting: list[dict[str, MetadataValue]] = [
        {"language": "Python"},
        {"size": 3, "language": "Python"},
        {"is_old": True},
        {"a.b": "ü'"},
    ]
    for where in fitting:
        assert [hit.memory.id for hit in mind.recall("cache server", limit=3, where=where).hits] == [wanted.id], where
        assert [one.id for one in mind.list(where=where)] == [wanted.id]
    assert len(mind.list(where={"size": 3.0})) == 2
    others: list[dict[str, MetadataValue]] = [{"language": "python"}, {"size": "3"}, {"is_old": 1}, {"colour": "red"}]
    for where in others:
        assert mind.recall("cache server", where=where).hits == (), where
        assert mind.list(where=where) == ()


def test_metadata_set_later_is_filtered_by_and_survives_a_rebuild(mind: Hivemind, store: Store) -> None:
    memory = mind.remember("Deploys happen on Fridays", scope=TEAM, metadata={"language": "Python", "size": 3})

    mind.edit(memory.id, metadata={"language": "Go", "size": None})
    before = picture(store)
    store.rebuild()

    assert picture(store) == before
    assert dict(mind.show(memory.id).metadata) == {"language": "Go"}
    assert mind.list(where={"language": "Python"}) == ()
    assert [one.id for one in mind.list(where={"language": "Go"})] == [memory.id]


def test_a_narrow_filter_on_metadata_finds_by_meaning_behind_hundreds_that_are_nearer(store: Store) -> None:
    wanted, *others = [remembered(number) for number in range(300)]
    assert isinstance(wanted.fact, MemoryRemembered)
    store.record([replace(wanted, fact=replace(wanted.fact, metadata=Metadata({"language": "Python"}))), *others])
    passages = [row[0] for row in store.db.execute("SELECT key FROM passages ORDER BY key")]
    asked = np.random.default_rng(7).normal(size=384).astype(np.float32)
    farther = asked + np.random.default_rng(8).normal(size=384).astype(np.float32)
    semantic_index.store_vectors(store.db, "model", passages, np.array([farther] + [asked] * 299))
    repository = Repository(id=HERE, root="")
    query = Query(text="", sight=Visibility.of(repository), now="2026-03-02T00:00:00.000000Z", limit=5, max_tokens=100)

    everything = semantic_index.find_near(store.db, query, "model", asked)
    narrow = semantic_index.find_near(store.db, replace(query, where=Metadata({"language": "Python"})), "model", asked)

    assert passages[0] not in everything
    assert list(narrow) == [passages[0]]


def test_what_is_out_of_sight_takes_no_place_among_the_closest(store: Store) -> None:
    store.record([replace(event, repo=ELSEWHERE) for event in map(remembered, range(50))])
    store.record(map(remembered, range(50, 100)))
    passages = [row[0] for row in store.db.execute("SELECT key FROM passages ORDER BY key")]
    cosines = {passage: 1 - place / 100 for place, passage in enumerate(passages)}
    here = Visibility.of(Repository(id=HERE, root=""))
    query = Query(text="", sight=here, now="2026-03-02T00:00:00.000000Z", limit=5, max_tokens=100)

    closest_here = read_closest(store.db, query, cosines, 30, visible={})
    closest_anywhere = read_closest(
        store.db, replace(query, sight=replace(here, everywhere=True)), cosines, 30, visible={}
    )

    assert [*closest_here] == passages[50:80]
    assert [*closest_anywhere] == passages[:30]


def test_equal_matches_are_found_in_the_order_of_their_ids_behind_what_is_out_of_sight(store: Store) -> None:
    better = [replace(remembered(number, "deploys"), repo=ELSEWHERE) for number in reversed(range(90))]
    equal = [remembered(number, "deploys happen here on Fridays") for number in reversed(range(100, 130))]
    store.record([*better, *equal])
    query = Query(
        text="deploys", sight=Visibility.of(Repository(id=HERE, root="")), now="2026-03-02T00:00:00.000000Z",
        limit=5, max_tokens=100,
    )  # fmt: skip

    here = store.db.index.search(query, 20)
    anywhere = store.db.index.search(replace(query, sight=replace(query.sight, everywhere=True)), 5)

    assert [hit.memory_id for hit in here] == [f"{number:032x}" for number in range(100, 120)]
    assert [hit.memory_id for hit in anywhere] == [f"{number:032x}" for number in range(5)]


def test_recall_says_when_the_closest_it_has_is_no_answer(mind_on: MindOn) -> None:
    mind = mind_on(model="")
    mind.remember("Deploys happen on Fridays", scope=TEAM)

    settle(mind)
    close = mind.recall("who brings the cake on Friday")
    foreign = mind.recall("which colour has the neighbour's cat")
    answered = mind.recall("when do deploys happen")

    assert [hit.is_sure for hit in close.hits] == [False]
    assert "No confident match. Closest" in close.text
    assert (foreign.hits, foreign.text) == ((), "")
    assert "near this question" in foreign.hint
    assert [hit.is_sure for hit in answered.hits] == [True]
    assert "No confident match" not in answered.text


def test_recall_is_narrowed_by_kinds_and_tags(mind: Hivemind) -> None:
    mind.remember("retries are limited to three", scope=TEAM, kind=Kind.CONVENTION, tags=["queue"])
    mind.remember("retries were unlimited once", scope=TEAM, kind=Kind.FACT, tags=["history"])

    assert texts(mind.recall("retries", kinds=[Kind.CONVENTION])) == ["retries are limited to three"]
    assert texts(mind.recall("retries", tags=["history"])) == ["retries were unlimited once"]
    assert len(texts(mind.recall("retries"))) == 2


def test_what_another_repository_said_is_seen_only_when_asked_for(mind_on: MindOn) -> None:
    mind_on(repo=ELSEWHERE).remember("the web client polls every minute", scope=TEAM)
    here = mind_on()
    here.remember("the api is polled by the client", scope=TEAM)

    assert texts(here.recall("client polls")) == ["the api is polled by the client"]
    assert len(texts(here.recall("client polls", everywhere=True))) == 2
    assert [one.text for one in here.list()] == ["the api is polled by the client"]


def test_what_was_believed_then_is_answered_as_of_then(mind: Hivemind, clock: Clock) -> None:
    memory = mind.remember("the api port is 8080", scope=TEAM)
    then = clock.now.date().isoformat()
    clock.advance(days=3)
    mind.edit(memory.id, "the api port is 9090")

    assert [hit.passage for hit in mind.recall("api port", as_of=then).hits] == ["the api port is 8080"]
    assert [hit.passage for hit in mind.recall("api port").hits] == ["the api port is 9090"]
    assert [step.after.text for step in mind.history.steps(memory.id)] == [
        "the api port is 8080",
        "the api port is 9090",
    ]


def test_what_is_tied_to_code_is_found_by_its_place(mind: Hivemind) -> None:
    tied = mind.remember("this module owns the tokens", scope=TEAM, links=["auth/service.py::login"])
    mind.remember("something else entirely", scope=TEAM)
    query = mind._context.query()

    assert [one.id for one in memories.find_linked(mind._context.store.db, query, ["auth/service.py"])] == [tied.id]
    assert memories.find_linked(mind._context.store.db, query, ["auth/service"]) == []


def test_a_shown_memory_leaves_a_receipt(mind_on: MindOn) -> None:
    person, agent = mind_on(), mind_on(AGENT)
    memory = person.remember("deploys happen on fridays", scope=TEAM)

    found = agent.recall("when do deploys happen")
    settle(agent)

    (line,) = agent.history.receipts("s1")
    assert (line.id, line.memory_id, line.query) == (found.receipt, memory.id, "when do deploys happen")
    assert person.explain(memory.id).receipts == (line,)
    assert [one.actor for one in person.history.tokens_spent()] == ["claude-code"]


def test_entries_count_as_unasked_and_in_doubt_by_their_flags_not_by_their_reasons(store: Store) -> None:
    def shown(number: int, why: str, *, is_unasked: bool = False, is_in_doubt: bool = False) -> Event:
        line = ShownMemory(
            memory_id=MemoryId(memory.about), rank=1, score=1.0, tokens=10, why=why, is_in_doubt=is_in_doubt
        )
        fact = MemoriesRecalled(query="deploys", shown=(line,), session_id=f"s{number}", is_unasked=is_unasked)
        return replace(memory, id=EventId(f"r{number}"), fact=fact)

    memory = remembered(1)
    unflagged = [shown(2, "unasked; holds here"), shown(3, "app.py: body changed: verify before acting")]
    flagged = [shown(4, "holds here", is_unasked=True), shown(5, "shares words", is_in_doubt=True)]
    store.record([memory, *unflagged, *flagged, shown(6, "shares words")])

    spent = {
        session.session_id: (session.prompts, session.recalls) for session in receipts.summarise_sessions(store.db)
    }
    assert spent == {"s2": (0, 1), "s3": (0, 1), "s4": (1, 0), "s5": (0, 1), "s6": (0, 1)}
    assert receipts.count_by_day(store.db, "2026-03-01") == [("2026-03-01", 4, 1, 0, 0)]


# -- governance ------------------------------------------------------------------------------------


def test_two_values_are_disputed_until_a_person_settles_it(mind_on: MindOn) -> None:
    mind = mind_on()
    old = mind.remember("API port is 8080", scope=TEAM)
    new = mind.remember("API port is 9090", scope=TEAM)
    assert new.contradicts == (old.id,)
    assert [(one.memory.id, [side.id for side in one.against]) for one in mind.review.queue()] == [(new.id, [old.id])]

    mind.approve(new.id)

    assert texts(mind.recall("API port")) == ["API port is 9090"]
    assert mind.review.queue() == ()
    with pytest.raises(Refused):
        mind_on(AGENT).approve(old.id)


def test_a_rejected_value_stays_out_until_it_is_restored(mind_on: MindOn) -> None:
    person, agent = mind_on(), mind_on(AGENT)
    wrong = agent.remember("deploys need no review", scope=TEAM)

    person.reject(wrong.id)

    with pytest.raises(Refused):
        agent.remember("Deploys need NO review!", scope=TEAM)
    person.restore(wrong.id)
    assert agent.remember("deploys need no review", scope=TEAM).status is not Status.RETRACTED


def test_every_value_of_a_subject_is_kept(mind: Hivemind) -> None:
    first = mind.remember("uploads up to 5 MB", scope=TEAM, subject="REQ-12")
    mind.remember("uploads up to 1 GB", scope=TEAM, subject="REQ-12", replaces=[first.id])

    assert [(one.text, one.status) for one in mind.history.of_subject("REQ-12")] == [
        ("uploads up to 5 MB", Status.SUPERSEDED),
        ("uploads up to 1 GB", Status.ACTIVE),
    ]


def test_memories_are_listed_page_by_page(mind: Hivemind) -> None:
    said = [mind.remember(f"thing number {number} is so", scope=TEAM).id for number in range(5)]

    first = mind.list(limit=2)
    second = mind.list(limit=2, before=first[-1].id)
    third = mind.list(limit=2, before=second[-1].id)

    assert [one.id for one in (*first, *second, *third)] == said[::-1]


def test_a_session_is_told_by_what_was_observed_in_it(mind: Hivemind, store: Store) -> None:
    store.record([observed(2, "then that"), observed(1, "first this")])

    (session,) = mind.sessions.list()
    _, seen = mind.sessions.show("s")

    assert (session.task, session.observations) == ("first this", 2)
    assert [one.text for one in seen] == ["first this", "then that"]


def test_what_a_session_taught_is_rolled_back_and_can_come_again(mind_on: MindOn) -> None:
    person, agent = mind_on(), mind_on(AGENT)
    agent.remember("the tests need a running redis", scope=TEAM)
    kept = person.remember("deploys happen on fridays", scope=TEAM)

    name, changes = person.review.rollback(Selection(session="s1"))

    assert len(changes) == 1
    assert [one.id for one in person.list()] == [kept.id]
    assert person.review.undo_rollback(name) == 1
    assert len(person.list()) == 2


def test_what_is_erased_leaves_no_body_no_index_row_and_stays_out(mind_on: MindOn, store: Store) -> None:
    mind = mind_on(model="")
    secret = mind.remember("the vault code is xyzzy-4711", scope=TEAM)
    mind.remember("deploys happen on fridays", scope=TEAM)
    settle(mind)
    mind.recall("what is the vault code xyzzy-4711?")
    settle(mind)

    receipt = mind.erase(secret.id, reason="asked to")

    assert not receipt.has_failed
    assert texts(mind.recall("vault code")) == []
    assert texts(mind.recall("deploys")) == ["deploys happen on fridays"]
    for table, column in (("bodies", "content"), ("memories", "text"), ("words", "text"), ("receipts", "query")):
        held = [row[0] for row in store.db.execute(f"SELECT {column} FROM {table}")]
        assert not any("xyzzy" in one for one in held), table
    assert any("fridays" in row[0] for row in store.db.execute("SELECT content FROM bodies"))
    counted = {row[0] for row in store.db.execute("SELECT term FROM word_counts")}
    assert "xyzzi" not in counted
    assert "deploi" in counted
    assert store.db.value("SELECT count(*) FROM vectors") == 1
    with pytest.raises(Refused):
        mind.remember("The vault code is XYZZY 4711", scope=TEAM)
    with pytest.raises(NotFound, match="erased"):
        mind.show(secret.id)
    assert mind.maintenance.audit() == ()


def test_everything_is_exported_and_counted(mind: Hivemind, store: Store) -> None:
    for number in range(3):
        mind.remember(f"thing number {number} is so", scope=TEAM)

    assert len(list(mind.files.export_lines())) == 3
    assert mind.maintenance.stats().memories == (("team", "fact", "active", 3),)
    assert mind.maintenance.stats().bytes > 0
    assert len(list(memories.iterate_visible(store.db, Visibility.of(Repository(id=HERE, root=""))))) == 3
    assert all(finding.is_well for finding in mind.maintenance.doctor())
