"""The promises of the log: rebuilding changes nothing, order of arrival does not matter, the chain holds."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hivemind.model.code import Anchor
from hivemind.model.events import (
    DisputeSettled,
    Event,
    Fact,
    GuardLifted,
    GuardSet,
    MemoriesRecalled,
    MemoryAnchored,
    MemoryAnnotated,
    MemoryApproved,
    MemoryCorroborated,
    MemoryDisputed,
    MemoryErased,
    MemoryPublished,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemoryRolledBack,
    MemorySuperseded,
    MemoryTagged,
    MemoryVerified,
    ObservationMade,
    RepositorySeen,
    RollbackUndone,
    ShownMemory,
    UnknownFact,
    WriteRefused,
    decode_fact,
    encode_fact,
)
from hivemind.model.guard import GuardAnswer, Trigger
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel, Kind, Source, Trace
from hivemind.model.metadata import Metadata
from hivemind.model.scope import Scope
from hivemind.model.session import ObservationKind
from hivemind.store import log, sync_state
from hivemind.store.projector import OWNERS
from hivemind.store.store import Store
from tests.hypothesis_profile import examples

memory_ids = st.sampled_from([MemoryId(letter * 32) for letter in "abc"])
texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
labels = st.sampled_from(["one", "two", "three"])
event_ids = st.lists(st.integers(0, 11), max_size=3).map(lambda places: tuple(f"{place:04d}" for place in places))
tag_sets = st.lists(labels, max_size=2).map(tuple)
anchors = st.builds(
    Anchor,
    path=st.just("auth/service.py"),
    kind=st.sampled_from(["function", "file"]),
    name=labels,
    qualified=labels,
    ordinal=st.integers(0, 2),
    line=st.just(1),
    end_line=st.just(9),
    signature=texts,
    before=labels,
    after=labels,
    fingerprint=st.just("1:a:b:c:d:e:20:f"),
    commit=st.sampled_from(["", "1a2b3c4"]),
)

metadata = st.dictionaries(
    st.sampled_from(["language", "lines", "is_public"]),
    texts | st.integers(-9, 9) | st.booleans() | st.floats(-1, 1, allow_nan=False),
    max_size=3,
).map(Metadata)

facts: st.SearchStrategy[Fact] = st.one_of(
    st.builds(
        MemoryRemembered,
        memory_id=memory_ids,
        kind=st.sampled_from(Kind),
        text=texts,
        owner=st.just("ada"),
        tags=tag_sets,
        subject=labels,
        sources=st.builds(
            Source, channel=st.just(Channel.FILE), file=st.just("a.py"), session_id=st.sampled_from(["", "one"])
        ).map(lambda source: (source,)),
        trace=st.none() | st.just(Trace(agent="codex", action="did it", result="success")),
        proposed=st.booleans(),
        metadata=metadata,
    ),
    st.builds(
        MemoryRevised,
        memory_id=memory_ids,
        base=st.just(1),
        text=texts,
        reason=texts,
        head=st.sampled_from(["", *(f"{number:04d}" for number in range(12))]),
        settles=event_ids,
    ),
    st.builds(MemoryTagged, memory_id=memory_ids, added=tag_sets, removed=tag_sets),
    st.builds(MemoryAnnotated, memory_id=memory_ids, metadata=metadata, removed=st.sampled_from([(), ("language",)])),
    st.builds(MemoryAnchored, memory_id=memory_ids, anchors=st.lists(anchors, max_size=2).map(tuple)),
    st.builds(MemorySuperseded, memory_id=memory_ids, by=memory_ids),
    st.builds(MemoryCorroborated, memory_id=memory_ids, source=st.builds(Source, channel=st.sampled_from(Channel))),
    st.builds(MemoryDisputed, memory_id=memory_ids, against=memory_ids),
    st.builds(DisputeSettled, memory_id=memory_ids, against=memory_ids),
    st.builds(MemoryApproved, memory_id=memory_ids, settles=event_ids),
    st.builds(MemoryPublished, memory_id=memory_ids, copy=memory_ids),
    st.builds(MemoryVerified, memory_id=memory_ids),
    st.builds(MemoryRetracted, memory_id=memory_ids, reason=texts),
    st.builds(MemoryRejected, memory_id=memory_ids, value=labels),
    st.builds(MemoryRestored, memory_id=memory_ids),
    st.builds(MemoryRolledBack, memory_id=memory_ids, rollback=labels, undone=event_ids),
    st.builds(RollbackUndone, memory_id=memory_ids, rollback=labels),
    st.builds(WriteRefused, what=texts, rule=labels),
    st.builds(
        GuardSet,
        memory_id=memory_ids,
        trigger=st.builds(Trigger, commands=tag_sets),
        answer=st.sampled_from(GuardAnswer),
    ),
    st.builds(GuardLifted, memory_id=memory_ids),
    st.builds(
        MemoriesRecalled,
        query=texts,
        shown=st.builds(
            ShownMemory, memory_id=memory_ids, rank=st.just(1), score=st.just(0.5), tokens=st.just(3), why=texts
        ).map(lambda line: (line,)),
    ),
    st.builds(
        ObservationMade,
        agent=st.just("codex"),
        session_id=labels,
        seen=st.sampled_from(ObservationKind),
        directory=labels,
        text=texts,
    ),
    st.builds(RepositorySeen, repo=labels, root=labels),
)
erasures = st.builds(MemoryErased, memory_id=memory_ids, reason=texts, values=tag_sets, bodies=event_ids)


# Shrinking a history of ten events takes minutes and is worth it only to somebody who looks at it.
quick = examples(60, shrink=False)


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Events of two memories and two sessions, some at the same moment, some from untrusted hands."""
    told = draw(st.lists(facts, max_size=12)) + draw(st.lists(erasures, max_size=1))
    return [
        Event(
            id=EventId(f"{number:04d}"),
            at=f"2026-03-01T12:{draw(st.integers(0, 5)):02d}:00.000000Z",
            actor=draw(st.sampled_from(["ada", "codex"])),
            channel=draw(st.sampled_from(Channel)),
            scope=draw(st.sampled_from(Scope)),
            repo=draw(labels),
            fact=fact,
        )
        for number, fact in enumerate(told)
    ]


@contextmanager
def store_of(events: list[Event]) -> Iterator[Store]:
    # Waiting for a disk would prove nothing here.
    with TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as directory:
        store = Store.open(Path(directory))
        for event in events:
            store.record([event])
        yield store
        store.close()


def tables(store: Store) -> dict[str, list[object]]:
    """Everything derived, without the numbers that only count arrivals."""
    contents = {
        "memories": "SELECT * FROM memories",
        "passages": "SELECT m.id, p.ordinal, p.since, p.until, w.text, w.parts, w.context, w.around"
        " FROM passages p JOIN memories m ON m.key = p.memory JOIN words w ON w.rowid = p.key",
        "words": "SELECT count(*) FROM words",
        "word_counts": "SELECT term, doc FROM word_counts",
        "vectors_wanted": "SELECT count(*) FROM vectors_wanted",
        "receipts": "SELECT * FROM receipts",
        "sessions": "SELECT * FROM sessions",
        "observations": "SELECT * FROM observations",
        "session_passages": "SELECT count(*) FROM session_passages",
        "digests": "SELECT * FROM digests",
        "digest_lines": "SELECT * FROM digest_lines",
        # A session that lost all observations may wait for a digest that will be empty.
        "digests_wanted": "SELECT * FROM digests_wanted WHERE session_id IN (SELECT session_id FROM observations)",
        "outcomes": "SELECT * FROM outcomes",
        "guards": "SELECT * FROM guards",
        "forgotten_conclusions": "SELECT * FROM forgotten_conclusions",
        "session_words": "SELECT count(*) FROM session_words",
        "session_word_counts": "SELECT term, doc FROM session_word_counts",
        "repositories": "SELECT * FROM repositories",
        "tombstones": "SELECT * FROM tombstones",
        "erased_texts": "SELECT * FROM erased_texts",
        "peers": "SELECT * FROM peers",
        "vectors": "SELECT count(*) FROM vectors",
        "vector_blocks": "SELECT count(*) FROM vector_blocks",
    }
    assert {table for owner in OWNERS for table in owner.TABLES} == set(contents)
    rows = {name: store.db.execute(sql) for name, sql in contents.items()}
    rows["memories"] = [row[1:] for row in rows["memories"]]
    return {name: sorted(found, key=repr) for name, found in rows.items()}


@given(facts | erasures)
def test_a_fact_is_read_back_as_it_was_written(fact: Fact) -> None:
    assert decode_fact(*encode_fact(fact)) == fact


def test_a_fact_of_a_newer_program_is_kept_and_read_by_nobody() -> None:
    unknown = decode_fact("memory.dreamed", '{"memory_id": "x"}')

    assert unknown == UnknownFact(name="memory.dreamed", body='{"memory_id": "x"}')
    assert encode_fact(unknown) == ("memory.dreamed", '{"memory_id": "x"}')


@quick
@given(histories())
def test_rebuilding_changes_nothing(history: list[Event]) -> None:
    with store_of(history) as store:
        before = tables(store)

        store.rebuild()

        assert tables(store) == before


@quick
@given(histories(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(history: list[Event], chance: random.Random) -> None:
    shuffled = list(history)
    chance.shuffle(shuffled)

    with store_of(history) as one, store_of(shuffled) as other:
        assert tables(one) == tables(other)


@quick
@given(histories())
def test_what_arrives_twice_is_recorded_once(history: list[Event]) -> None:
    with store_of(history) as store:
        before, entries = tables(store), log.read_last_position(store.db)

        assert store.record(history) == []

        assert (tables(store), log.read_last_position(store.db)) == (before, entries)


@quick
@given(histories())
def test_the_chain_verifies_also_after_erasing(history: list[Event]) -> None:
    with store_of(history) as store:
        assert log.verify(store.db) == []


@quick
@given(histories())
def test_what_is_shared_means_the_same_wherever_it_is_taken_in(history: list[Event]) -> None:
    of_the_team = [replace(event, scope=Scope.TEAM) for event in history]
    with store_of(of_the_team) as one, store_of([]) as other:
        entries = sync_state.read_chain(one.db, one.chain, 0, 100)

        other.append_received(entries[:5])
        other.append_received(entries)

        assert len(entries) == len(history)
        assert tables(one) == tables(other)
        assert (log.verify(one.db), log.verify(other.db)) == ([], [])
        assert other.append_received(entries) == []


REMEMBERED = [
    Event(
        id=EventId(f"{number:04d}"),
        at=f"2026-03-01T12:00:0{number}.000000Z",
        actor="ada",
        channel=Channel.PERSON,
        scope=Scope.PROJECT,
        repo="one",
        fact=MemoryRemembered(memory_id=MemoryId(str(number) * 32), kind=Kind.FACT, text=f"fact {number}", owner="ada"),
    )
    for number in range(5)
]


@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE events SET actor = 'eve' WHERE position = 2",
        "UPDATE events SET at = '2020-01-01T00:00:00.000000Z' WHERE position = 3",
        "UPDATE bodies SET content = replace(content, 'fact 2', 'fact X') WHERE position = 3",
        "UPDATE bodies SET salt = zeroblob(16) WHERE position = 1",
        "DELETE FROM bodies WHERE position = 4",
        "DELETE FROM events WHERE position = 3",
        "DELETE FROM events WHERE position = 5",
        "UPDATE events SET device_seq = 9 WHERE position = 5",
        "UPDATE devices SET last_hash = ''",
    ],
)
@pytest.mark.parametrize("scope", [Scope.PROJECT, Scope.TEAM])
def test_any_single_change_to_the_log_is_noticed(tampering: str, scope: Scope) -> None:
    with store_of([replace(event, scope=scope) for event in REMEMBERED]) as store:
        assert log.verify(store.db) == []

        store.db.execute("PRAGMA foreign_keys = OFF")
        store.db.execute(tampering)

        assert log.verify(store.db) != []


def test_two_entries_that_changed_places_are_noticed() -> None:
    with store_of(REMEMBERED) as store:
        store.db.execute("UPDATE events SET device_seq = 99 WHERE position = 2")
        store.db.execute("UPDATE events SET device_seq = 2 WHERE position = 3")
        store.db.execute("UPDATE events SET device_seq = 3 WHERE position = 2")

        assert log.verify(store.db) != []


def test_an_erased_body_is_gone_for_good_and_the_chain_still_verifies() -> None:
    erased = Event(
        id=EventId("9999"),
        at="2026-03-01T13:00:00.000000Z",
        actor="ada",
        channel=Channel.PERSON,
        scope=Scope.PROJECT,
        repo="one",
        fact=MemoryErased(memory_id=MemoryId("2" * 32), reason="asked to"),
    )
    with store_of([*REMEMBERED, erased]) as store:
        contents = [row[0] for row in store.db.execute("SELECT content FROM bodies")]

        assert log.verify(store.db) == []
        assert not any("fact 2" in content for content in contents)
        assert any("fact 3" in content for content in contents)
