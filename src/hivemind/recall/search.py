"""Candidates: memories in sight that may bear on the question, by their words and by their meaning."""

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import nlargest
from typing import TYPE_CHECKING

from hivemind.model.memory import Memory, Status
from hivemind.model.recall import Query
from hivemind.model.words import phrases
from hivemind.store.database import Database
from hivemind.store.projections import memories, words

if TYPE_CHECKING:
    # A numerical library, which recalling by words alone does not load.
    from hivemind.recall.meaning import Meaning

BY_WORDS = 200
BY_MEANING = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A passage of a memory, how well its words fit, and how near it is in meaning."""

    memory: Memory
    passage: str
    context: str
    words: float
    meaning: float | None


def candidates(db: Database, query: Query, meaning: "Meaning | None") -> list[Candidate]:
    """What the words and the meaning of the question find within sight."""
    found = {one.key: one for one in words.search(db, query, limit=BY_WORDS)}
    near = meaning.near(db, query, also=set(found)) if meaning else {}
    # What must stand together is a matter of words alone.
    nearest = [] if phrases(query.text) else nlargest(BY_MEANING, near, key=lambda key: near[key])
    found |= {one.key: one for one in words.read(db, set(nearest) - set(found))}
    known = _as_believed(db, query, {one.memory_id for one in found.values()})
    return [
        Candidate(
            memory=known[one.memory_id],
            passage=one.text,
            context=one.context,
            words=one.score,
            meaning=near.get(one.key),
        )
        for one in found.values()
        if one.memory_id in known
    ]


def _as_believed(db: Database, query: Query, ids: Iterable[str]) -> dict[str, Memory]:
    """Memories as they are, or as they were at the time the question is about."""
    if not query.as_of:
        return {memory.id: memory for memory in memories.get_all(db, ids)}
    then = (memories.as_of(db, one, query.as_of) for one in ids)
    return {memory.id: memory for memory in then if memory and _answers(memory, query)}


def _answers(memory: Memory, query: Query) -> bool:
    if memory.is_expired(query.as_of) or memory.status is Status.RETRACTED:
        return False
    return not query.statuses or memory.status in query.statuses
