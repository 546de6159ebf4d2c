"""A memory's life, told from its events.

What a memory is now is the fold of its events in the order of their moments, so it does not matter
in which order they arrived; what it was in March is the fold of those before April.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from hivemind.model.events import (
    DisputeSettled,
    Event,
    MemoryAnchored,
    MemoryAnnotated,
    MemoryApproved,
    MemoryCorroborated,
    MemoryDisputed,
    MemoryErased,
    MemoryRejected,
    MemoryRemembered,
    MemoryRestored,
    MemoryRetracted,
    MemoryRevised,
    MemoryRolledBack,
    MemorySuperseded,
    MemoryTagged,
    MemoryVerified,
    RollbackUndone,
)
from hivemind.model.ids import EventId, short
from hivemind.model.memory import Channel, Memory, Rival, Source, Status, Trust

TOLD, SAID_ANEW = (
    tuple(field.name for field in fields(fact) if field.name in Memory.__dataclass_fields__)
    for fact in (MemoryRemembered, MemoryRevised)
)
"""What a memory has from the fact that began it, and from one that revised it unless that says nothing of it."""


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
    settled: set[EventId] = set()
    away = rolled_back(in_order)
    bases = _bases(in_order, away)
    counting = [event for event in in_order if event.id not in away]
    for event in _causes_first(_born_first(counting), bases):
        before = told[-1].after if told else None
        settled.update(getattr(event.fact, "settles", ()))
        after, what = _after(before, event, bases.get(event.id, ""))
        after = _settled(after, settled)
        if after is not None and after != before:
            told.append(Step(event=event, what=what, after=after))
    return told


def rolled_back(events: Iterable[Event]) -> set[EventId]:
    """Which of these events a rollback has taken away and no later undoing brought back."""
    taken: dict[str, tuple[EventId, ...]] = {}
    for event in sorted(events, key=lambda event: event.moment):
        match event.fact:
            case MemoryRolledBack() as fact:
                taken[fact.rollback] = fact.undone
            case RollbackUndone() as fact:
                taken.pop(fact.rollback, None)
            case _:
                pass
    return {one for undone in taken.values() for one in undone}


def _born_first(events: list[Event]) -> list[Event]:
    """Clocks differ between devices: a change dated before the birth still happened after it."""
    births = [event for event in events if isinstance(event.fact, MemoryRemembered)]
    return births[:1] + [event for event in events if event not in births] if births else []


def _bases(events: list[Event], away: set[EventId]) -> dict[EventId, str]:
    """Which entry each edit was made on; what a rollback has taken away is passed over."""
    made_on = {event.id: event.fact.head for event in events if isinstance(event.fact, MemoryRevised)}

    def standing(base: str) -> str:
        for _ in made_on:
            base = made_on.get(EventId(base), "") if base in away else base
        return base

    return {edit: standing(base) for edit, base in made_on.items()} if away else made_on


def _causes_first(events: list[Event], bases: dict[EventId, str]) -> list[Event]:
    """Clocks differ between devices: an edit dated before the one it was made on still came after it."""
    known, told = {event.id for event in events}, list[Event]()
    waiting: dict[str, list[Event]] = {}
    seen: set[str] = set()
    for event in events:
        base = bases.get(event.id, "")
        if base in known and base not in seen and base != event.id:
            waiting.setdefault(base, []).append(event)
            continue
        ready = [event]
        while ready:
            told.append(ready.pop(0))
            seen.add(told[-1].id)
            ready += waiting.pop(told[-1].id, [])
    return told


def _settled(memory: Memory | None, settled: set[EventId]) -> Memory | None:
    """An edit that somebody has decided about is no rival any more, whichever of the two arrived first."""
    if memory is None or settled.isdisjoint(rival.id for rival in memory.rivals):
        return memory
    return _standing(replace(memory, rivals=tuple(one for one in memory.rivals if one.id not in settled)))


def _after(memory: Memory | None, event: Event, base: str) -> tuple[Memory | None, str]:
    if memory is None:
        return (_born(event, event.fact), "remembered") if isinstance(event.fact, MemoryRemembered) else (None, "")
    match event.fact:
        case MemoryRevised() as fact if base and base != memory.head:
            return _rivalled(memory, event, fact, base), f"disputed: edited from an older version to: {fact.text}"
        case MemoryRevised() as fact:
            return _revised(memory, event, fact), f"revised{_because(fact.reason)}"
        case MemoryTagged() as fact:
            kept = [tag for tag in memory.tags if tag not in fact.removed]
            tags = tuple(dict.fromkeys((*kept, *fact.added)))
            changes = [f"+{tag}" for tag in fact.added] + [f"-{tag}" for tag in fact.removed]
            return replace(memory, tags=tags), f"tagged {', '.join(changes)}"
        case MemoryAnnotated() as fact:
            changes = [one for one in (fact.metadata.in_words, *(f"-{name}" for name in fact.removed)) if one]
            annotated = memory.metadata.with_changes(fact.metadata, fact.removed)
            return replace(memory, metadata=annotated), f"metadata {', '.join(changes)}"
        case MemoryAnchored() as fact:
            code = ", ".join(anchor.label for anchor in fact.anchors)
            return replace(memory, anchors=fact.anchors), f"tied to {code or 'no code'}"
        case MemorySuperseded() as fact:
            return _superseded(memory, event, fact)
        case MemoryCorroborated() as fact:
            return _corroborated(memory, event, fact), f"said again by {fact.source.actor or fact.source.channel}"
        case MemoryDisputed() as fact:
            against = tuple(dict.fromkeys((*memory.contradicts, fact.against)))
            return _standing(
                replace(memory, contradicts=against)
            ), f"disputed by {short(fact.against)}{_because(fact.reason)}"
        case DisputeSettled() as fact:
            against = tuple(other for other in memory.contradicts if other != fact.against)
            return _standing(replace(memory, contradicts=against)), f"no longer disputed by {short(fact.against)}"
        case MemoryApproved() as fact:
            return _approved(memory, event), f"approved{_because(fact.reason)}"
        case MemoryVerified() as fact:
            return replace(memory, last_verified_at=event.at), f"verified{_because(fact.reason)}"
        case MemoryRetracted() | MemoryRejected() as fact:
            what = "retracted" if isinstance(fact, MemoryRetracted) else "rejected"
            return replace(memory, status=Status.RETRACTED, revised_at=event.at), what + _because(fact.reason)
        case MemoryRestored() as fact:
            return _restored(memory, event), f"restored{_because(fact.reason)}"
        case _:
            return memory, ""


def _born(event: Event, fact: MemoryRemembered) -> Memory:
    told = {name: getattr(fact, name) for name in TOLD}
    awaits_review = event.channel.needs_review or fact.proposed
    return Memory(
        **told
        | {
            "id": fact.memory_id,
            "scope": event.scope,
            "repo": event.repo,
            "channel": event.channel,
            "trust": event.channel.trust,
            "status": Status.PROPOSED if awaits_review else Status.ACTIVE,
            "recorded_at": event.at,
            "revised_at": event.at,
            "sources": fact.sources or (Source(channel=event.channel, actor=event.actor),),
            "batch": event.batch,
            "head": event.id,
        }
    )


def _rivalled(memory: Memory, event: Event, fact: MemoryRevised, base: str) -> Memory:
    """An edit of a rival takes its place; any other stands beside what is there."""
    rival = Rival(id=event.id, by=event.actor, at=event.at, text=fact.text)
    others = tuple(one for one in memory.rivals if one.id != base)
    return _standing(replace(memory, rivals=(*others, rival)))


def _revised(memory: Memory, event: Event, fact: MemoryRevised) -> Memory:
    said = {name: held for name in SAID_ANEW if (held := getattr(fact, name)) not in ("", None, ())}
    said |= {"revised_at": event.at, "version": memory.version + 1, "head": event.id}
    # A claim is worth no more than the least trusted hand that worded it.
    trust = min(memory.trust, event.channel.trust) if fact.text else memory.trust
    return replace(memory, **said, trust=trust)


def _superseded(memory: Memory, event: Event, fact: MemorySuperseded) -> tuple[Memory, str]:
    if event.channel.trust < memory.trust:
        return _standing(replace(memory, contradicts=(*memory.contradicts, fact.by))), f"disputed by {short(fact.by)}"
    replaced = replace(memory, status=Status.SUPERSEDED, superseded_by=fact.by, revised_at=event.at)
    return replaced, f"superseded by {short(fact.by)}{_because(fact.reason)}"


def _corroborated(memory: Memory, event: Event, fact: MemoryCorroborated) -> Memory:
    if fact.source in memory.sources:
        return memory
    heard = replace(memory, sources=(*memory.sources, fact.source))
    # A person who says what was only proposed has thereby confirmed it.
    return _approved(heard, event) if event.channel is Channel.PERSON else heard


def _approved(memory: Memory, event: Event) -> Memory:
    trust = Trust.HIGH if event.channel is Channel.PERSON else memory.trust
    if memory.status not in (Status.PROPOSED, Status.DISPUTED):
        return replace(memory, trust=trust)
    return _standing(replace(memory, status=Status.ACTIVE, trust=trust))


def _restored(memory: Memory, event: Event) -> Memory:
    if memory.status not in (Status.RETRACTED, Status.SUPERSEDED):
        return memory
    stands = Status.PROPOSED if memory.trust is Trust.LOW else Status.ACTIVE
    return _standing(replace(memory, status=stands, superseded_by=None, revised_at=event.at))


def _standing(memory: Memory) -> Memory:
    """What stands is disputed for as long as something contradicts it or was made of an older version of it."""
    if memory.status not in (Status.ACTIVE, Status.DISPUTED):
        return memory
    return replace(memory, status=Status.DISPUTED if memory.contradicts or memory.rivals else Status.ACTIVE)


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""
