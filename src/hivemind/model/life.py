"""A memory's life, told from its events.

What a memory is now is the fold of its events in the order of their moments, so it does not matter
in which order they arrived; what it was in March is the fold of those before April.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hivemind.model.events import (
    Event,
    MemoryErased,
    MemoryRemembered,
    MemoryRevised,
    MemorySuperseded,
    MemoryTagged,
)
from hivemind.model.memory import Memory, Source, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change in a memory's life, and what it was after it."""

    event: Event
    what: str
    """In plain words."""
    after: Memory


def memory_from(events: Iterable[Event]) -> Memory | None:
    """What the memory is after these events; nothing before it was remembered or once it was erased."""
    life = steps(events)
    return life[-1].after if life else None


def steps(events: Iterable[Event]) -> Sequence[Step]:
    """Each change in order; none for what was erased, whatever else arrives and whenever."""
    in_order = sorted(events, key=lambda event: event.moment)
    if any(isinstance(event.fact, MemoryErased) for event in in_order):
        return []
    told: list[Step] = []
    for event in _born_first(in_order):
        before = told[-1].after if told else None
        after, what = _after(before, event)
        if after is not None and after != before:
            told.append(Step(event=event, what=what, after=after))
    return told


def _born_first(events: list[Event]) -> list[Event]:
    """Clocks differ between devices: a change dated before the birth still happened after it."""
    births = [event for event in events if isinstance(event.fact, MemoryRemembered)]
    return births[:1] + [event for event in events if event not in births] if births else []


def _after(memory: Memory | None, event: Event) -> tuple[Memory | None, str]:
    if memory is None:
        return (_born(event, event.fact), "remembered") if isinstance(event.fact, MemoryRemembered) else (None, "")
    match event.fact:
        case MemoryRevised() as fact:
            return _revised(memory, event, fact), f"revised{_because(fact.reason)}"
        case MemoryTagged() as fact:
            kept = [tag for tag in memory.tags if tag not in fact.removed]
            tags = tuple(dict.fromkeys((*kept, *fact.added)))
            return replace(memory, tags=tags), "tagged " + _listed(fact)
        case MemorySuperseded() as fact:
            return _superseded(memory, event, fact)
        case _:
            return memory, ""


def _born(event: Event, fact: MemoryRemembered) -> Memory:
    awaits_review = event.channel.needs_review or fact.proposed
    return Memory(
        id=fact.memory_id,
        kind=fact.kind,
        text=fact.text,
        scope=event.scope,
        repo=event.repo,
        owner=fact.owner,
        channel=event.channel,
        trust=event.channel.trust,
        status=Status.PROPOSED if awaits_review else Status.ACTIVE,
        recorded_at=event.at,
        revised_at=event.at,
        tags=fact.tags,
        sources=fact.sources or (Source(channel=event.channel, actor=event.actor),),
        links=fact.links,
        subject=fact.subject,
        confidence=fact.confidence,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        expires_at=fact.expires_at,
        verify_by=fact.verify_by,
        supersedes=fact.supersedes,
        derived_from=fact.derived_from,
        batch=fact.batch,
        trace=fact.trace,
    )


def _revised(memory: Memory, event: Event, fact: MemoryRevised) -> Memory:
    return replace(
        memory,
        text=fact.text or memory.text,
        kind=fact.kind or memory.kind,
        subject=fact.subject or memory.subject,
        confidence=memory.confidence if fact.confidence is None else fact.confidence,
        valid_from=fact.valid_from or memory.valid_from,
        valid_to=fact.valid_to or memory.valid_to,
        expires_at=fact.expires_at or memory.expires_at,
        verify_by=fact.verify_by or memory.verify_by,
        links=fact.links or memory.links,
        # A claim is worth no more than the least trusted hand that worded it.
        trust=min(memory.trust, event.channel.trust) if fact.text else memory.trust,
        revised_at=event.at,
        version=memory.version + 1,
    )


def _superseded(memory: Memory, event: Event, fact: MemorySuperseded) -> tuple[Memory, str]:
    if event.channel.trust < memory.trust:
        return replace(memory, status=Status.DISPUTED), f"disputed by {fact.by}"
    replaced = replace(memory, status=Status.SUPERSEDED, superseded_by=fact.by, revised_at=event.at)
    return replaced, f"superseded by {fact.by}{_because(fact.reason)}"


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _listed(fact: MemoryTagged) -> str:
    return ", ".join([f"+{tag}" for tag in fact.added] + [f"-{tag}" for tag in fact.removed])
