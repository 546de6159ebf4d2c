"""From a claim to the events to record: refused, counted for what is known, or kept beside its conflicts."""

from dataclasses import replace
from typing import NamedTuple

from hivemind.curate.exclusion import stays_out, watch
from hivemind.curate.pen import Pen
from hivemind.curate.reconcile import Conflict, reconcile
from hivemind.errors import InvalidInput
from hivemind.model.code import Anchor
from hivemind.model.events import (
    Event,
    MemoryAnchored,
    MemoryAnnotated,
    MemoryCorroborated,
    MemoryDisputed,
    MemoryRemembered,
    MemorySuperseded,
    WriteRefused,
)
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel, Memory
from hivemind.model.metadata import Metadata, checked_metadata
from hivemind.model.scope import Scope
from hivemind.store import Store
from hivemind.store.projections import memories

ENOUGH = 20
"""What so many sessions taught is no better founded by one more."""


class Learned(NamedTuple):
    """The memory that says what a claim says, and the events that make it so."""

    memory_id: MemoryId
    events: list[Event]
    refused: str = ""
    """Why the claim was refused, if it was; then the events are the record of that."""


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
    said_by_person: bool = False,
) -> Learned:
    """The events of a claim and all that follows from it; the caller records them."""
    if rule := why_refused(store, fact.text, repo, said_by_person=said_by_person):
        # That it was refused is this person's business, also where it was meant for the team.
        refusal = pen.event(WriteRefused(what="a memory", rule=rule), Scope.PROJECT if repo else Scope.USER, repo)
        return Learned(fact.memory_id, [refusal], f"a memory was refused: {rule}")
    fact = _without_erased_quotes(store, fact)
    replaced = memories.get_all(store.db, fact.supersedes)
    fact = fit_to_leave(fact, replaced) if scope is Scope.TEAM else fact
    if scope is not Scope.TEAM and any(old.scope is Scope.TEAM for old in replaced):
        raise InvalidInput("what is the team's can only be replaced by something of the team's; give it that scope")
    born = pen.event(fact, scope, repo, channel=channel, id=id)
    verdict = reconcile(store.db, fact, scope, repo, born.at)
    if verdict.same:
        # To repeat a memory is not to have looked at its code again: what it is tied to already stays.
        tie = () if verdict.same.anchors else _tied(pen, verdict.same.id, anchors, born)
        again = _said_again(pen, verdict.same, fact, born.channel)
        return Learned(verdict.same.id, [*again, *tie, *_annotated(pen, verdict.same, born)])
    events = [born, *_tied(pen, fact.memory_id, anchors, born)]
    events += [pen.about(old, MemorySuperseded(memory_id=old.id, by=fact.memory_id)) for old in replaced]
    is_proposal = born.channel.needs_review or fact.proposed
    for conflict in verdict.conflicts:
        events += _disputed(pen, born, conflict, both=not is_proposal)
    return Learned(fact.memory_id, events)


def why_refused(store: Store, text: str, repo: str, *, said_by_person: bool) -> str:
    """The rule that keeps a text out because its value was rejected or erased; empty if none does."""
    reason = stays_out(store, text, repo, said_by_person=said_by_person)
    return f"its value was {reason} before" if reason else ""


def may_name(about: Scope, other: Scope) -> bool:
    """Whether what is said about one memory may name another: for a team, nobody's own memories exist."""
    return about is not Scope.TEAM or other is Scope.TEAM


def fit_to_leave(fact: MemoryRemembered, replaced: list[Memory]) -> MemoryRemembered:
    """A claim for the team without what points at anything that stays on this machine."""
    return replace(
        fact,
        sources=tuple(replace(source, session_id="", event="", quote="") for source in fact.sources),
        supersedes=tuple(old.id for old in replaced if may_name(Scope.TEAM, old.scope)),
        derived_from=(),
    )


def _without_erased_quotes(store: Store, fact: MemoryRemembered) -> MemoryRemembered:
    cut = watch(store).cut
    return replace(fact, sources=tuple(replace(source, quote=cut(source.quote)) for source in fact.sources))


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


def _annotated(pen: Pen, known: Memory, born: Event) -> list[Event]:
    """Metadata that came with the repetition is added, unless a less trusted writer gave it."""
    assert isinstance(born.fact, MemoryRemembered)
    new = {name: value for name, value in born.fact.metadata.items() if known.metadata.get(name) != value}
    if not new or born.channel.trust < known.trust:
        return []
    checked_metadata(known.metadata.with_changes(new))
    annotation = MemoryAnnotated(memory_id=known.id, metadata=Metadata(new))
    return [pen.event(annotation, known.scope, known.repo, channel=born.channel)]


def _disputed(pen: Pen, born: Event, conflict: Conflict, *, both: bool) -> list[Event]:
    """The pair is disputed; but what is only proposed casts no doubt on what is known."""
    known = conflict.memory
    new_id = MemoryId(born.about)
    against = MemoryDisputed(memory_id=new_id, against=known.id, reason=conflict.reason)
    events = [pen.event(against, born.scope, born.repo)] if may_name(born.scope, known.scope) else []
    if both and may_name(known.scope, born.scope):
        events.append(pen.about(known, MemoryDisputed(memory_id=known.id, against=new_id, reason=conflict.reason)))
    return events
