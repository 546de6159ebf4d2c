"""What a new claim means for what is already known: the same again, a contradiction, or neither."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hivemind.model.contradiction import compare
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import MemoryId
from hivemind.model.memory import STANDING, Memory, Period
from hivemind.model.statements import search_terms, statements
from hivemind.model.values import normalised
from hivemind.store.database import Database
from hivemind.store.projections import memories

MOST_COMPARED = 20
"""Memories that share a topic; the newest are the likeliest to be corrected, and each costs 50 microseconds."""
WORD = re.compile(r"[A-Za-z0-9]+")
BEGINNING = 200
"""Characters; long texts are indexed in passages, and this much is surely in one."""

# The values themselves are not recorded: the history of one memory would keep them when the other is erased.
OTHERWISE = "says otherwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A known memory that does not agree with a new one."""

    memory: Memory
    reason: str
    is_certain: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to do with a claim: count it for a memory that says the same, or keep it beside its conflicts."""

    same: Memory | None = None
    conflicts: tuple[Conflict, ...] = ()


def reconcile(db: Database, fact: MemoryRemembered, scope: str, repo: str, now: str) -> Verdict:
    """Compare a claim with what stands in its place."""
    if fact.trace:
        # What was done once does not contradict what was done another time.
        return Verdict()
    for memory in _saying_the_same(db, fact.text, repo):
        if memory.id not in fact.supersedes and memory.scope == scope and memory.subject == fact.subject:
            return Verdict(same=memory)
    period = Period(fact.valid_from or now, fact.valid_to, fact.expires_at)
    found = [conflict for conflict in _conflicts(db, fact.text, repo, fact.subject) if conflict.is_certain]
    return Verdict(
        conflicts=tuple(
            conflict
            for conflict in found
            if conflict.memory.id not in fact.supersedes and conflict.memory.period.overlaps(period)
        )
    )


def possible_conflicts(db: Database, memory: Memory) -> list[Memory]:
    """Memories that may say otherwise, where that is not certain enough for a dispute."""
    related = {memory.id, *memory.contradicts, *memory.supersedes}
    return [
        conflict.memory
        for conflict in _conflicts(db, memory.text, memory.repo, subject="")
        if conflict.memory.id not in related and conflict.memory.period.overlaps(memory.period)
    ]


def _saying_the_same(db: Database, text: str, repo: str) -> Iterator[Memory]:
    words = sorted(set(WORD.findall(text[:BEGINNING])), key=len, reverse=True)[:3]
    said = normalised(text)
    keys = db.index.sharing([words], repo, MOST_COMPARED) if words else []
    same = [id for id, other in memories.standing_texts(db, keys) if normalised(other) == said]
    yield from memories.get_all(db, same) if same else ()


def _conflicts(db: Database, text: str, repo: str, subject: str) -> Iterator[Conflict]:
    """Memories that stand in the same place and disagree, in their words or in the value of the subject."""
    said, claims = normalised(text), statements(text)
    of_subject = _of_subject(db, subject, repo)
    for memory in of_subject.values():
        # In another place, such as the original of what is published: nothing contradicts itself.
        if normalised(memory.text) != said:
            yield Conflict(memory=memory, reason=f"{subject} has another value")
    keys = db.index.sharing(search_terms(claims), repo, MOST_COMPARED)
    found = {
        id: conflict
        for id, other in memories.standing_texts(db, keys)
        if (conflict := compare(claims, statements(other))) and normalised(other) != said
    }
    for memory in memories.get_all(db, found) if found else ():
        if memory.id not in of_subject:
            conflict = found[memory.id]
            yield Conflict(memory=memory, reason=OTHERWISE, is_certain=conflict.is_certain)


def _of_subject(db: Database, subject: str, repo: str) -> dict[MemoryId, Memory]:
    found = memories.of_subject(db, subject, repo) if subject else []
    return {memory.id: memory for memory in found if memory.status in STANDING and memory.trace is None}
