"""Memories among the hits that disagree: each names the other, and the newer comes first."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from hivemind.model.contradiction import compare
from hivemind.model.ids import MemoryId, short
from hivemind.model.memory import Memory
from hivemind.model.recall import Hit
from hivemind.model.statements import statements

AS_WELL = 0.5
"""Of the older's score: what fits less than half as well speaks of something else."""


def mark_conflicts(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The same hits; those that may disagree without being disputed say with which others.

    This is computed where memories are shown, so that it covers those that came by files, imports and synchronisation.
    """
    by_age = sorted((hit.memory for hit in hits if hit.memory.trace is None), key=lambda memory: memory.recorded_at)
    claims = {memory.id: statements(memory.text) for memory in by_age} if len(by_age) > 1 else {}
    against: dict[MemoryId, list[MemoryId]] = {}
    for older, newer in combinations(by_age, 2):
        if compare(claims[newer.id], claims[older.id]) and _may_disagree(older, newer):
            against.setdefault(older.id, []).append(newer.id)
            against.setdefault(newer.id, []).append(older.id)
    return tuple(_marked(hit, against[hit.memory.id]) if hit.memory.id in against else hit for hit in hits)


def newer_first(shown: Sequence[Hit]) -> tuple[Hit, ...]:
    """Of two memories that disagree, the newer stands just before the older, unless it hardly fits."""
    order = list(shown)
    for first, older in enumerate(shown):
        newer = [
            hit
            for hit in shown[first + 1 :]
            if hit.memory.id in (*older.memory.contradicts, *older.may_conflict)
            and hit.memory.recorded_at > older.memory.recorded_at
            and hit.score >= AS_WELL * older.score
        ]
        for hit in newer:
            order.remove(hit)
            order.insert(order.index(older), hit)
    # Answers stand first, so whatever was moved before one contradicts it and belongs to it.
    sure = max((place for place, hit in enumerate(order) if hit.is_sure), default=-1)
    return tuple(replace(hit, is_sure=place <= sure) for place, hit in enumerate(order))


def _may_disagree(older: Memory, newer: Memory) -> bool:
    if newer.id in older.contradicts or older.id in newer.contradicts or older.id in newer.supersedes:
        return False
    # One file does not contradict itself: its points are entries under headings.
    files = {source.file for source in older.sources if source.file}
    is_one_file = any(source.file in files for source in newer.sources)
    return not is_one_file and older.period.overlaps(newer.period)


def _marked(hit: Hit, against: Sequence[MemoryId]) -> Hit:
    """With one label for all; the hits of a question may be marked already when others join them."""
    before = _label(hit.may_conflict)
    labels = (*(label for label in hit.labels if label != before), _label(against))
    return replace(hit, labels=labels, may_conflict=tuple(against))


def _label(against: Sequence[MemoryId]) -> str:
    return f"may conflict with {', '.join(map(short, against))}"
