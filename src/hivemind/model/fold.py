"""Compute a memory from its events.

The current state is the fold of all events in the order of their timestamps, so the order of arrival does not
matter; the state at the end of March is the fold of the events before April.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace

from hivemind.model.dataclass import dataclass
from hivemind.model.events import (
    DisputeSettled,
    EditHeld,
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
from hivemind.model.ids import EventId, MemoryId, Timestamp, shorten_id
from hivemind.model.memory import Channel, ConflictingEdit, Memory, Source, Status, Trust

INITIAL_FIELDS, REVISABLE_FIELDS = (
    tuple(field.name for field in fields(fact) if field.name in Memory.__dataclass_fields__)
    for fact in (MemoryRemembered, MemoryRevised)
)
"""Fields that a memory takes from the fact that created it, and from an edit unless they are empty there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryStep:
    """One change of a memory, and the memory after it."""

    event: Event
    what: str
    """A description for people."""
    after: Memory


def fold_memory(events: Iterable[Event]) -> Memory | None:
    """The memory after these events; none if it was not yet created or has been erased."""
    history = build_history(events)
    return history[-1].after if history else None


def build_history(events: Iterable[Event]) -> Sequence[HistoryStep]:
    """Each change in order; none for an erased memory, because erasure is final whatever arrives later."""
    ordered_events = sorted(events, key=lambda event: event.moment)
    if any(isinstance(event.fact, MemoryErased) for event in ordered_events):
        return []
    history: list[HistoryStep] = []
    settled_ids: set[EventId] = set()
    held_ids = {event.fact.edit for event in ordered_events if isinstance(event.fact, EditHeld)}
    removed_ids = find_rolled_back(ordered_events)
    bases = _find_bases(ordered_events, removed_ids)
    effective = [event for event in ordered_events if event.id not in removed_ids]
    for event in _put_bases_first(_put_creation_first(effective), bases):
        before = history[-1].after if history else None
        # Collected over all events, because a decision may arrive before the edit that it settles.
        is_held = event.id in held_ids
        settled_ids.update(() if is_held else getattr(event.fact, "settles", ()))
        after, what = _apply(before, event, bases.get(event.id, ""), is_held=is_held)
        after = _drop_settled_rivals(after, settled_ids, event.at)
        # An event without effect is not a step.
        if after is not None and after != before:
            history.append(HistoryStep(event=event, what=what, after=after))
    return history


def filter_effective(events: Sequence[Event]) -> list[Event]:
    """The events that no rollback removed."""
    removed_ids = find_rolled_back(events)
    return [event for event in events if event.id not in removed_ids]


def find_rolled_back(events: Iterable[Event]) -> set[EventId]:
    """The ids of events that a rollback removed, unless that rollback was undone."""
    rollbacks: dict[str, tuple[EventId, ...]] = {}
    for event in sorted(events, key=lambda event: event.moment):
        match event.fact:
            case MemoryRolledBack() as fact:
                rollbacks[fact.rollback] = fact.undone
            case RollbackUndone() as fact:
                rollbacks.pop(fact.rollback, None)
    return {event_id for event_ids in rollbacks.values() for event_id in event_ids}


def _put_creation_first(events: list[Event]) -> list[Event]:
    """Put the creation first: clocks differ between devices, so a change may be dated before it."""
    creations = [event for event in events if isinstance(event.fact, MemoryRemembered)]
    # A memory is created once; a second creation with the same id is ignored.
    return creations[:1] + [event for event in events if event not in creations] if creations else []


def _find_bases(events: list[Event], removed_ids: set[EventId]) -> dict[EventId, str]:
    """The entry that each edit was based on; entries that a rollback removed are skipped."""
    base_by_edit = {event.id: event.fact.head for event in events if isinstance(event.fact, MemoryRevised)}

    def find_surviving_base(base: str) -> str:
        # Bounded, so that edits that name each other as their base cannot loop for ever.
        for _ in base_by_edit:
            base = base_by_edit.get(EventId(base), "") if base in removed_ids else base
        return base

    return {edit: find_surviving_base(base) for edit, base in base_by_edit.items()} if removed_ids else base_by_edit


def _put_bases_first(events: list[Event], bases: dict[EventId, str]) -> list[Event]:
    """Put each edit after its base: clocks differ between devices, so it may be dated before it."""
    event_ids, ordered_events = {event.id for event in events}, list[Event]()
    waiting: dict[str, list[Event]] = {}
    placed_ids: set[str] = set()
    for event in events:
        base = bases.get(event.id, "")
        if base in event_ids and base not in placed_ids and base != event.id:
            waiting.setdefault(base, []).append(event)
            continue
        ready = [event]
        while ready:
            ordered_events.append(ready.pop(0))
            placed_ids.add(ordered_events[-1].id)
            ready += waiting.pop(ordered_events[-1].id, [])
    return ordered_events


def _drop_settled_rivals(memory: Memory | None, settled_ids: set[EventId], at: Timestamp) -> Memory | None:
    """Remove conflicting edits that somebody decided about, whether edit or decision arrived first."""
    if memory is None or settled_ids.isdisjoint(rival.id for rival in memory.rivals):
        return memory
    rivals = tuple(rival for rival in memory.rivals if rival.id not in settled_ids)
    return _update_dispute(replace(memory, rivals=rivals), at)


def _apply(memory: Memory | None, event: Event, base: str, *, is_held: bool) -> tuple[Memory | None, str]:
    if memory is None:
        return (_create(event, event.fact), "remembered") if isinstance(event.fact, MemoryRemembered) else (None, "")
    match event.fact:
        case MemoryRevised() as fact if is_held:
            return _add_rival(memory, event, fact, base), f"edit waits for a reviewer: {fact.text}"
        case MemoryRevised() as fact if base and base != memory.head:
            return _add_rival(memory, event, fact, base), f"disputed: edited from an older version to: {fact.text}"
        case MemoryRevised() as fact:
            return _revise(memory, event, fact), f"revised{_format_reason(fact.reason)}"
        case MemoryTagged() as fact:
            remaining = [tag for tag in memory.tags if tag not in fact.removed]
            tags = tuple(dict.fromkeys((*remaining, *fact.added)))
            changes = [f"+{tag}" for tag in fact.added] + [f"-{tag}" for tag in fact.removed]
            return replace(memory, tags=tags), f"tagged {', '.join(changes)}"
        case MemoryAnnotated() as fact:
            removals = [f"-{name}" for name in fact.removed]
            changes = [change for change in (fact.metadata.summary, *removals) if change]
            metadata = memory.metadata.with_changes(fact.metadata, fact.removed)
            return replace(memory, metadata=metadata), f"metadata {', '.join(changes)}"
        case MemoryAnchored() as fact:
            code = ", ".join(anchor.label for anchor in fact.anchors)
            return replace(memory, anchors=fact.anchors), f"linked to {code or 'no code'}"
        case MemorySuperseded() as fact:
            return _supersede(memory, event, fact)
        case MemoryCorroborated() as fact:
            return _corroborate(memory, event, fact), f"said again by {fact.source.actor or fact.source.channel}"
        case MemoryDisputed() as fact:
            against = tuple(dict.fromkeys((*memory.contradicts, fact.against)))
            return _update_dispute(
                replace(memory, contradicts=against), event.at
            ), f"disputed by {shorten_id(fact.against)}{_format_reason(fact.reason)}"
        case DisputeSettled() as fact:
            return _update_dispute(
                _without_contradictions(memory, (fact.against,)), event.at
            ), f"no longer disputed by {shorten_id(fact.against)}"
        case MemoryApproved() as fact:
            over = f" over {', '.join(map(shorten_id, fact.over))}" if fact.over else ""
            return _approve(memory, event, fact.over), f"approved{over}{_format_reason(fact.reason)}"
        case MemoryVerified() as fact:
            return replace(memory, last_verified_at=event.at), f"verified{_format_reason(fact.reason)}"
        case MemoryRetracted() | MemoryRejected() as fact:
            what = "retracted" if isinstance(fact, MemoryRetracted) else "rejected"
            return _withdraw(memory, event, Status.RETRACTED), what + _format_reason(fact.reason)
        case MemoryRestored() as fact:
            return _restore(memory, event), f"restored{_format_reason(fact.reason)}"
        case _:
            return memory, ""


def _create(event: Event, fact: MemoryRemembered) -> Memory:
    fields_of_fact = {name: getattr(fact, name) for name in INITIAL_FIELDS}
    awaits_review = event.channel.needs_review or fact.proposed
    return Memory(
        **fields_of_fact
        | {
            "id": fact.memory_id,
            "scope": event.scope,
            "repo": event.repo,
            "channel": event.channel,
            "trust": _find_trust(event.channel, fact.sources),
            "status": Status.PROPOSED if awaits_review else Status.ACTIVE,
            "recorded_at": event.at,
            "revised_at": event.at,
            "sources": fact.sources or (Source(channel=event.channel, actor=event.actor),),
            "batch": event.batch,
            "head": event.id,
        }
    )


def _find_trust(channel: Channel, sources: tuple[Source, ...]) -> Trust:
    """Return the trust of a new memory: an agent that quotes the person's own words is trusted as the person is."""
    is_said = channel is Channel.AGENT and any(source.is_quotation for source in sources)
    return Trust.HIGH if is_said else channel.trust


def _add_rival(memory: Memory, event: Event, fact: MemoryRevised, base: str) -> Memory:
    """Add a conflicting edit; one that was based on an earlier conflicting edit replaces it."""
    rival = ConflictingEdit(id=event.id, by=event.actor, at=event.at, text=fact.text)
    other_rivals = tuple(other for other in memory.rivals if other.id != base)
    return _update_dispute(replace(memory, rivals=(*other_rivals, rival)), event.at)


def _revise(memory: Memory, event: Event, fact: MemoryRevised) -> Memory:
    changes = {name: value for name in REVISABLE_FIELDS if (value := getattr(fact, name)) not in ("", None, ())}
    changes |= {"revised_at": event.at, "version": memory.version + 1, "head": event.id}
    changes |= {"edited_by": event.actor, "edited_through": event.channel}
    # A text is trusted no more than the least trusted writer who edited it.
    trust = min(memory.trust, event.channel.trust) if fact.text else memory.trust
    return replace(memory, **changes, trust=trust)


def _supersede(memory: Memory, event: Event, fact: MemorySuperseded) -> tuple[Memory, str]:
    # A less trusted channel must not replace a memory; it can only dispute it.
    if event.channel.trust < memory.trust and not fact.is_verdict:
        against = (*memory.contradicts, fact.by)
        return _update_dispute(replace(memory, contradicts=against), event.at), f"disputed by {shorten_id(fact.by)}"
    superseded_memory = replace(_withdraw(memory, event, Status.SUPERSEDED), superseded_by=fact.by)
    return superseded_memory, f"superseded by {shorten_id(fact.by)}{_format_reason(fact.reason)}"


def _withdraw(memory: Memory, event: Event, status: Status) -> Memory:
    return replace(memory, status=status, revised_at=event.at, disputed_at="")


def _corroborate(memory: Memory, event: Event, fact: MemoryCorroborated) -> Memory:
    if fact.source in memory.sources:
        return memory
    corroborated_memory = replace(memory, sources=(*memory.sources, fact.source))
    # A person who says the same as a proposal thereby confirms it.
    is_said = event.channel is Channel.AGENT and fact.source.is_quotation
    return _approve(corroborated_memory, event) if event.channel is Channel.PERSON or is_said else corroborated_memory


def _approve(memory: Memory, event: Event, over: tuple[MemoryId, ...] = ()) -> Memory:
    # Only a person raises trust; settings may approve automatically but do not raise it.
    is_said = isinstance(event.fact, MemoryCorroborated)
    trust = Trust.HIGH if event.channel is Channel.PERSON or is_said else memory.trust
    memory = _without_contradictions(replace(memory, trust=trust), over)
    # Two reviewers may decide for different sides before they sync; the later decision counts.
    is_overruled = memory.status is Status.SUPERSEDED and memory.superseded_by in over
    if memory.status not in (Status.PROPOSED, Status.DISPUTED) and not is_overruled:
        return memory
    return _update_dispute(replace(memory, status=Status.ACTIVE, superseded_by=None), event.at)


def _without_contradictions(memory: Memory, settled_ids: tuple[MemoryId, ...]) -> Memory:
    contradicts = tuple(other for other in memory.contradicts if other not in settled_ids)
    return replace(memory, contradicts=contradicts) if settled_ids else memory


def _restore(memory: Memory, event: Event) -> Memory:
    if memory.status not in (Status.RETRACTED, Status.SUPERSEDED):
        return memory
    # To restore is not to approve: a memory of low trust needs review again.
    status = Status.PROPOSED if memory.trust is Trust.LOW else Status.ACTIVE
    return _update_dispute(replace(memory, status=status, superseded_by=None, revised_at=event.at), event.at)


def _update_dispute(memory: Memory, at: Timestamp) -> Memory:
    """Mark an active memory as disputed while contradictions or conflicting edits exist, and as active after."""
    if memory.status not in (Status.ACTIVE, Status.DISPUTED):
        return memory
    if not (memory.contradicts or memory.rivals):
        return replace(memory, status=Status.ACTIVE, disputed_at="")
    return replace(memory, status=Status.DISPUTED, disputed_at=memory.disputed_at or at)


def _format_reason(reason: str) -> str:
    return f": {reason}" if reason else ""
