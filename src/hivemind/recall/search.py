"""Candidates: memories in sight that may bear on the question, each with how well its words fit."""

from dataclasses import dataclass

from hivemind.model.memory import Memory, Status
from hivemind.model.recall import Query
from hivemind.store.database import Database
from hivemind.store.projections import memories, words

CANDIDATES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory, its best passage, and how well the words of the question fit it."""

    memory: Memory
    passage: str
    words: float


def candidates(db: Database, query: Query) -> list[Candidate]:
    """What the word index finds within sight, each memory once."""
    best: dict[str, words.Match] = {}
    for match in words.search(db, query, limit=CANDIDATES):
        best.setdefault(match.memory_id, match)
    found: list[Candidate] = []
    for match in best.values():
        memory = _as_believed(db, query, match)
        if memory is not None:
            found.append(Candidate(memory=memory, passage=match.text, words=match.score))
    return found


def _as_believed(db: Database, query: Query, match: words.Match) -> Memory | None:
    if not query.as_of:
        return memories.get(db, match.memory_id)
    then = memories.as_of(db, match.memory_id, query.as_of)
    if then is None or then.is_expired(query.as_of) or then.status is Status.RETRACTED:
        return None
    return then if not query.statuses or then.status in query.statuses else None
