"""What a new claim means for what is already known: the same again, a contradiction, or something refused."""

from collections.abc import Iterable
from dataclasses import dataclass

from hivemind.curate.contradiction import contradiction, named_as_replaced, telling_words
from hivemind.model.events import MemoryRemembered
from hivemind.model.memory import Memory, Status
from hivemind.model.values import normalised
from hivemind.store.database import Database
from hivemind.store.projections import memories

STANDING = (Status.ACTIVE, Status.DISPUTED, Status.PROPOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A known memory that cannot hold beside the new one."""

    memory: Memory
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What to do with a claim: count it for a memory that says the same, or keep it beside its conflicts."""

    same: Memory | None = None
    conflicts: tuple[Conflict, ...] = ()


def reconcile(db: Database, fact: MemoryRemembered, scope: str, repo: str) -> Verdict:
    """Compare a claim with what stands in its place."""
    if fact.trace:
        # What was done once does not contradict what was done another time.
        return Verdict()
    known = [memory for memory in _comparable(db, fact, repo) if memory.id not in fact.supersedes]
    said = normalised(fact.text)
    for memory in known:
        if memory.scope == scope and memory.subject == fact.subject and normalised(memory.text) == said:
            return Verdict(same=memory)
    return Verdict(conflicts=tuple(_conflicts(fact, known)))


def _comparable(db: Database, fact: MemoryRemembered, repo: str) -> list[Memory]:
    """Memories that stand in the same place and share the telling words, or the subject."""
    asked = [telling_words(fact.text), *([word] for word in named_as_replaced(fact.text))]
    keys = {key for terms in asked if terms for key in db.index.sharing(terms, repo)}
    found = memories.by_keys(db, keys)
    if fact.subject:
        found += memories.of_subject(db, fact.subject, repo)
    unique = {memory.id: memory for memory in found}
    return [memory for memory in unique.values() if memory.status in STANDING and memory.trace is None]


def _conflicts(fact: MemoryRemembered, known: Iterable[Memory]) -> Iterable[Conflict]:
    said = normalised(fact.text)
    for memory in known:
        if normalised(memory.text) == said:
            # In another place, such as the original of what is published: nothing contradicts itself.
            continue
        if fact.subject and memory.subject == fact.subject:
            yield Conflict(memory=memory, reason=f"{fact.subject} has another value")
        elif reason := contradiction(fact.text, memory.text):
            yield Conflict(memory=memory, reason=reason)
