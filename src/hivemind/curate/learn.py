"""From a claim to what is recorded about it: refused, counted for what is known, or kept beside its conflicts."""

from hivemind.curate.pen import Pen
from hivemind.curate.reconcile import Conflict, reconcile
from hivemind.curate.values import value
from hivemind.errors import Refused
from hivemind.model.code import Anchor
from hivemind.model.events import (
    Event,
    MemoryAnchored,
    MemoryCorroborated,
    MemoryDisputed,
    MemoryRemembered,
    MemorySuperseded,
    WriteRefused,
)
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel, Memory
from hivemind.model.scope import Scope
from hivemind.store import Store
from hivemind.store.projections import memories, tombstones

ENOUGH = 20
"""What so many sessions taught is no better founded by one more."""


def learn(
    store: Store,
    pen: Pen,
    fact: MemoryRemembered,
    scope: Scope,
    repo: str,
    *,
    channel: Channel | None = None,
    id: EventId | None = None,
    anchors: tuple[Anchor, ...] = (),
) -> MemoryId:
    """Record a claim and all that follows from it; return the memory that now says it."""
    refuse_what_stays_out(store, pen, fact.text, scope, repo)
    verdict = reconcile(store.db, fact, scope, repo)
    born = pen.event(fact, scope, repo, channel=channel, id=id)
    if verdict.same:
        # To repeat a memory is not to have looked at its code again: what it is tied to already stays.
        tie = () if verdict.same.anchors else _tied(pen, verdict.same.id, anchors, born)
        store.record([*_said_again(pen, verdict.same, fact, born.channel), *tie])
        return verdict.same.id
    replaced = [memories.get(store.db, old) for old in fact.supersedes]
    events = [born, *_tied(pen, fact.memory_id, anchors, born)]
    events += [pen.about(old, MemorySuperseded(memory_id=old.id, by=fact.memory_id)) for old in replaced]
    is_proposal = born.channel.needs_review or fact.proposed
    for conflict in verdict.conflicts:
        events += _disputed(pen, born, conflict, both=not is_proposal)
    store.record(events)
    return fact.memory_id


def refuse_what_stays_out(store: Store, pen: Pen, text: str, scope: Scope, repo: str) -> None:
    """A value that was rejected or erased is refused on every way in, and the refusal is on record."""
    reason = tombstones.refusal(store.db, value(text, store.secret), repo)
    if reason:
        refuse(store, pen, "a memory", f"its value was {reason} before", scope, repo)


def refuse(store: Store, pen: Pen, what: str, rule: str, scope: Scope = Scope.USER, repo: str = "") -> None:
    """Say no, and leave a record of having said it."""
    store.record([pen.event(WriteRefused(what=what, rule=rule), scope, repo)])
    raise Refused(f"{what} was refused: {rule}")


def _tied(pen: Pen, memory_id: MemoryId, anchors: tuple[Anchor, ...], born: Event) -> list[Event]:
    if not anchors:
        return []
    fact = MemoryAnchored(memory_id=memory_id, anchors=anchors)
    return [pen.event(fact, born.scope, born.repo, channel=born.channel, at=born.at)]


def _said_again(pen: Pen, known: Memory, fact: MemoryRemembered, channel: Channel) -> list[Event]:
    """Another source counts once; the same one repeating itself does not."""
    source = fact.sources[0]
    if source in known.sources or (channel is Channel.DERIVED and len(known.sources) >= ENOUGH):
        return []
    said = pen.event(MemoryCorroborated(memory_id=known.id, source=source), known.scope, known.repo, channel=channel)
    return [said]


def _disputed(pen: Pen, born: Event, conflict: Conflict, *, both: bool) -> list[Event]:
    """The pair is disputed; but what is only proposed casts no doubt on what is known."""
    known = conflict.memory
    new_id = MemoryId(born.about)
    against = MemoryDisputed(memory_id=new_id, against=known.id, reason=conflict.reason)
    events = [pen.event(against, born.scope, born.repo)]
    if both:
        events.append(pen.about(known, MemoryDisputed(memory_id=known.id, against=new_id, reason=conflict.reason)))
    return events
