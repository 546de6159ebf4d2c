"""Hits that disagree: each names the other, and the newer one comes first."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import combinations

from hivemind.model.ids import MemoryId, shorten_id
from hivemind.model.memory import Memory
from hivemind.model.recall import Hit
from hivemind.recall.weighting import measure_code_share
from hivemind.text.contradiction import find_statement_conflict
from hivemind.text.statements import parse_statements
from hivemind.text.tokenise import extract_terms

LOWEST_SCORE_SHARE = 0.3
"""Of the older hit's score: a newer one that matches much worse is about something else."""
COMMON_WORDS = 0.4
"""The share of words that two possibly contradicting notes have in common if the newer is to replace the older. Two
functions or two long messages often look like a possible contradiction, and are about different things."""


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
    for position, older in enumerate(hits):
        newer = (hit for hit in hits[position + 1 :] if hit.memory.recorded_at > older.memory.recorded_at)
        for hit in filter(partial(_corrects, older), newer):
            order.remove(hit)
            order.insert(order.index(older), hit)
    # Answers come first, so a hit that was moved before an answer contradicts it and counts as an answer too.
    last_answer = max((position for position, hit in enumerate(order) if hit.is_sure), default=-1)
    return tuple(replace(hit, is_sure=position <= last_answer) for position, hit in enumerate(order))


def _corrects(older: Hit, newer: Hit) -> bool:
    """Whether a newer hit contradicts an older one and matches the question well enough to take its place."""
    if newer.score < LOWEST_SCORE_SHARE * older.score:
        return False
    if newer.memory.id in older.memory.contradicts:
        return True
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
