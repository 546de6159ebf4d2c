"""Hits that disagree: all sides of a dispute are told or none, each names the others, and the newer comes first."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations, islice

from hivemind.memory.contradiction import find_statement_conflict
from hivemind.memory.statements import parse_statements
from hivemind.model.ids import MemoryId, shorten_id
from hivemind.model.memory import Memory, Status
from hivemind.model.recall import Hit, Query, Signal
from hivemind.recall.ranking import build_labels, measure_code_share
from hivemind.recall.rendering import fit
from hivemind.store.database import Database
from hivemind.store.projections import memories
from hivemind.text.clean import first_line
from hivemind.text.search_terms import extract_terms

LOWEST_SCORE_SHARE = 0.3
"""Of the older hit's score: a newer one that matches much worse is about something else."""
LONGEST_SIDE = 400
"""Characters of the other side of a dispute; an agent can recall the rest."""
COMMON_WORDS = 0.4
"""The share of words that two possibly contradicting notes have in common if the newer is to replace the older. Two
functions or two long messages often look like a possible contradiction, and are about different things."""


def join_sides(db: Database, hits: Iterable[Hit], query: Query) -> Iterator[Hit]:
    """Yield the hits in order, each disputed one with the other sides of its dispute, the newest first.

    Of a dispute with more sides than the query's limit, the hit comes with the newest of those it contradicts, and
    further hits that contradict one of these are left out.
    """
    most_others = max(query.limit, 2) - 1
    yielded_ids: set[MemoryId] = set()
    crowded_ids: set[MemoryId] = set()
    for hit in hits:
        if hit.memory.id in yielded_ids or not crowded_ids.isdisjoint(_list_opponents(hit.memory)):
            continue
        sides = _load_sides(db, hit.memory, query, most_others)
        if not sides:
            yielded_ids.add(hit.memory.id)
            yield hit
            continue
        group = [hit, *(_make_side(memory, hit, query) for memory in sides if memory.id not in yielded_ids)]
        ids = [member.memory.id for member in group]
        yielded_ids.update(ids)
        if len(sides) == most_others:
            crowded_ids.update(ids)
        # What is no longer or not yet true never stands before what is.
        for member in sorted(group, key=lambda side: (side.is_valid, side.memory.recorded_at), reverse=True):
            yield replace(member, sides=tuple(side for side in ids if side != member.memory.id))


def _load_sides(db: Database, memory: Memory, query: Query, most: int) -> list[Memory]:
    """Load what contradicts a disputed memory, what contradicts that in turn, and so on; the query's filters hold.

    No more than can be shown: where many notes contradict each other, a dispute may reach most of a store.
    """
    sides, unread = {memory.id: memory}, [memory]
    while unread and len(sides) <= most:
        new_ids = {other for side in unread for other in _list_opponents(side)} - sides.keys()
        standing = _read_standing(db, new_ids, query) if new_ids else ()
        unread = [*islice(standing, most + 1 - len(sides))]
        sides |= {other.id: other for other in unread}
    return [side for side in sides.values() if side is not memory]


def _list_opponents(memory: Memory) -> tuple[MemoryId, ...]:
    return memory.contradicts if memory.status is Status.DISPUTED else ()


def _read_standing(db: Database, ids: Collection[MemoryId], query: Query) -> Iterator[Memory]:
    """Read those of some memories that stand and that the query's filters let through, the newest first."""
    for memory in memories.find_matching(db, ids, query):
        # As it was then, if the question is about the past.
        version = memories.get_as_of(db, memory.id, query.as_of) if query.as_of else memory
        if version and version.status in (Status.ACTIVE, Status.DISPUTED):
            yield version


def _make_side(memory: Memory, hit: Hit, query: Query) -> Hit:
    """Make a hit of a memory that is told because another one is."""
    signal = Signal(name="dispute", score=1.0, why=f"contradicts {shorten_id(hit.memory.id)}")
    passage = memory.text if len(memory.text) <= LONGEST_SIDE else first_line(memory.text, LONGEST_SIDE)
    is_valid = query.is_valid(memory)
    return replace(
        hit, memory=memory, passage=passage, signals=(signal,), labels=build_labels(memory, query), is_in_doubt=False,
        is_valid=is_valid, is_sure=hit.is_sure and is_valid,
    )  # fmt: skip


def drop_last(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the hits without the last one and the other sides of its dispute."""
    dropped_ids = {hits[-1].memory.id, *hits[-1].sides}
    return tuple(hit for hit in hits if hit.memory.id not in dropped_ids)


def arrange_hits(hits: Iterable[Hit], query: Query) -> tuple[Hit, ...]:
    """Return the hits that fit the budget in the order in which they are shown, with conflicts marked."""
    # Sort by staleness only after fitting: it changes the order of the chosen hits, never which ones are chosen.
    in_order = sort_hits(fit(hits, query.limit, query.max_tokens))
    labelled_hits = mark_conflicts(in_order)
    has_conflict = any(hit.may_conflict for hit in labelled_hits)
    # The labels cost tokens, so hits that no longer fit are dropped.
    return put_newer_first(fit(labelled_hits, query.limit, query.max_tokens) if has_conflict else labelled_hits)


def sort_hits(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Sort answers before hits that are only close, among these what is valid first, and then by score."""
    return tuple(sorted(hits, key=lambda hit: (not hit.is_sure, not hit.is_valid, -hit.score)))


def mark_conflicts(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the same hits, each labelled with the others it may contradict, unless they are disputed already.

    Computed where memories are shown, so that it covers those that came from files, imports and synchronisation. Code
    claims nothing: two functions with other constants do not contradict each other.
    """
    claiming = (hit.memory for hit in hits if hit.memory.trace is None and measure_code_share(hit.memory.text) < 1)
    by_age = sorted(claiming, key=lambda memory: memory.recorded_at)
    claims = {memory.id: _parse(memory.text) for memory in by_age} if len(by_age) > 1 else {}
    conflicts: dict[MemoryId, list[MemoryId]] = {}
    for older, newer in combinations(by_age, 2):
        if find_statement_conflict(claims[newer.id], claims[older.id]) and _may_disagree(older, newer):
            conflicts.setdefault(older.id, []).append(newer.id)
            conflicts.setdefault(newer.id, []).append(older.id)
    return tuple(_add_label(hit, conflicts[hit.memory.id]) if hit.memory.id in conflicts else hit for hit in hits)


# Parsing the hits takes longer than ranking them, and the same memories are shown again and again.
_parse = lru_cache(maxsize=1024)(parse_statements)


def put_newer_first(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Move the newer of two contradicting memories just before the older, unless it matches much worse."""
    order = list(hits)
    # What takes the place of another is as sure.
    lowest_confidences: dict[MemoryId, float] = defaultdict(float)
    for position, older in enumerate(hits):
        newer = (hit for hit in hits[position + 1 :] if hit.memory.recorded_at > older.memory.recorded_at)
        for hit in filter(partial(_corrects, older), newer):
            order.remove(hit)
            order.insert(order.index(older), hit)
            lowest_confidences[hit.memory.id] = max(older.confidence or 0.0, lowest_confidences[hit.memory.id])
    # Answers come first, so a hit that was moved before an answer contradicts it and counts as an answer too.
    last_answer = max((position for position, hit in enumerate(order) if hit.is_sure), default=-1)
    return tuple(
        replace(
            hit,
            is_sure=position <= last_answer,
            confidence=hit.confidence and max(hit.confidence, lowest_confidences[hit.memory.id]),
        )
        for position, hit in enumerate(order)
    )


def _corrects(older: Hit, newer: Hit) -> bool:
    """Whether a newer hit contradicts an older one and matches the question well enough to take its place."""
    if older.is_valid and not newer.is_valid:
        return False
    if newer.memory.id in older.memory.contradicts:
        return True
    if newer.score < LOWEST_SCORE_SHARE * older.score:
        return False
    return newer.memory.id in older.may_conflict and _measure_common_words(older, newer) >= COMMON_WORDS


def _measure_common_words(hit: Hit, other: Hit) -> float:
    words, other_words = (set(extract_terms(note.memory.text)) for note in (hit, other))
    return len(words & other_words) / max(1, len(words | other_words))


def _may_disagree(older: Memory, newer: Memory) -> bool:
    if newer.id in older.contradicts or older.id in newer.contradicts or older.id in newer.supersedes:
        return False
    # Points of one file are entries under headings, which do not contradict each other.
    files = {source.file for source in older.sources if source.file}
    is_same_file = any(source.file in files for source in newer.sources)
    return not is_same_file and older.period.overlaps(newer.period)


def _add_label(hit: Hit, conflicts: Sequence[MemoryId]) -> Hit:
    """Replace the label of an earlier call: a hit may be labelled already when other hits join it."""
    previous = _label(hit.may_conflict)
    labels = (*(label for label in hit.labels if label != previous), _label(conflicts))
    return replace(hit, labels=labels, may_conflict=tuple(conflicts))


def _label(conflicts: Sequence[MemoryId]) -> str:
    return f"may conflict with {', '.join(map(shorten_id, conflicts))}"
