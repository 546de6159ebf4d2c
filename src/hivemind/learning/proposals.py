"""Proposals: what detectors and agents found, recorded once each, to be reviewed."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum, auto
from types import MappingProxyType

from hivemind.context import Context
from hivemind.errors import InvalidInput
from hivemind.learning.detectors import DETECTORS
from hivemind.memory.claims import accept_claim
from hivemind.memory.comparison import find_proposals_about, find_repetition
from hivemind.model.claim import Proposal
from hivemind.model.code import Anchor
from hivemind.model.events import Event, MemoryApproved, MemoryRemembered
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel, Kind, Memory
from hivemind.model.scope import Scope
from hivemind.store import log
from hivemind.store.event_factory import EventFactory
from hivemind.text.clean import neutralise, validate_text

LONGEST_TEXT = 2000
FORMER_DETECTORS = ("git-fixes", "git-decisions")
"""Proposals that they made may still wait for review."""


class Fate(Enum):
    """What becomes of a proposal."""

    NEW = auto()
    KNOWN = auto()
    """It was proposed before, a memory says the same, or a later decision about the same thing was proposed."""
    REFUSED = auto()
    """Its value was rejected, erased or taken back before."""


class Outcome(Counter[tuple[Fate, str]]):
    """How many proposals of each detector were new, known and refused."""

    def count(self, fate: Fate) -> int:
        """Count the proposals of all detectors with this fate."""
        return sum(number for (other, _), number in self.items() if other is fate)


def propose(
    context: Context,
    factory: EventFactory,
    proposals: Iterable[Proposal],
    repo: str,
    outcome: Outcome,
    *,
    anchors: Mapping[str, tuple[Anchor, ...]] = MappingProxyType({}),
    trust: Mapping[str, float] = MappingProxyType({}),
) -> None:
    """Record proposals, each as a whole; proposing the same twice changes nothing.

    ``anchors`` are by memory id. A proposal of a detector in ``trust`` that is at least so confident becomes active, of
    low trust.
    """

    def record(proposal: Proposal) -> None:
        own_anchors = anchors.get(proposal.memory_id, ())
        # A detector without a threshold is never believed.
        is_believed = proposal.confidence >= trust.get(proposal.detector, math.inf)
        fate, events = _make_events(context, factory, proposal, repo, own_anchors, is_believed=is_believed)
        if events:
            context.record(events)
        outcome[fate, proposal.detector] += 1

    context.store.db.write_in_turns(proposals, record)


def _make_events(
    context: Context,
    factory: EventFactory,
    proposal: Proposal,
    repo: str,
    anchors: tuple[Anchor, ...],
    *,
    is_believed: bool,
) -> tuple[Fate, list[Event]]:
    """Return the events of a proposal: a derived memory that waits for review, or none if it came before."""
    store, fact = context.store, _make_fact(proposal, context.settings.person)
    if log.has_entries_about(store.db, [fact.memory_id]):
        # Also if it was rejected or rolled back since: its id follows from the evidence, so it comes only once.
        return Fate.KNOWN, []
    gate = store.load_gate()
    if gate.find_claim_refusal(fact, repo):
        return Fate.REFUSED, []
    if repetition := find_repetition(store.db, fact.text, repo):
        # In the words of the memory that says the same, it counts as another source of it.
        fact = replace(fact, text=repetition.text, subject=repetition.subject)
    if fact.kind is Kind.DECISION and fact.valid_from:
        # Only proposals: what a person approved is replaced by a person.
        rivals = find_proposals_about(store.db, fact.text, fact.kind, repo)
        if any(rival.period.start > fact.valid_from for rival in rivals):
            return Fate.KNOWN, []
        fact = replace(fact, supersedes=tuple(rival.id for rival in rivals if rival.period.start < fact.valid_from))
    # Derived, so that two processes that read the same session record the proposal once.
    event_id = EventId(derive_id("proposed", fact.memory_id))
    result = accept_claim(
        store, factory, fact, Scope.PROJECT, repo, channel=Channel.DERIVED, id=event_id, anchors=anchors, gate=gate
    )
    # `accept_claim` returns another id if an existing memory says the same.
    if result.memory_id != fact.memory_id:
        return Fate.KNOWN, result.events
    if not is_believed:
        return Fate.NEW, result.events
    approval = MemoryApproved(memory_id=fact.memory_id, reason=f"the settings believe {proposal.detector}")
    return Fate.NEW, [*result.events, factory.event(approval, Scope.PROJECT, repo, channel=Channel.DERIVED)]


def parse_believed(setting: str) -> dict[str, float]:
    """Parse the setting ``believed``: detectors whose proposals become active, and from which confidence."""
    confidences: dict[str, float] = {}
    for entry in setting.replace(",", " ").split():
        name, _, confidence = entry.partition(":")
        try:
            confidences[name] = float(confidence or 1.0)
        except ValueError:
            raise InvalidInput(f"the setting believed has {entry!r}; write it like 'commands:0.9'") from None
    return confidences


def find_detector(memory: Memory) -> str:
    """Return the detector that proposed a memory; empty if none did."""
    if memory.channel is not Channel.DERIVED:
        return ""
    # The id follows from detector and evidence, so it tells the detector without a field for it. Sources that were
    # added since stand behind those of the proposal.
    for count in range(1, len(memory.sources) + 1):
        for name in (*DETECTORS, *FORMER_DETECTORS):
            sources = memory.sources[:count]
            if Proposal(detector=name, kind=memory.kind, text=memory.text, sources=sources).memory_id == memory.id:
                return name
    return ""


def _make_fact(proposal: Proposal, owner: str) -> MemoryRemembered:
    return MemoryRemembered(
        memory_id=proposal.memory_id,
        kind=proposal.kind,
        # Output of agents and programs can contain anything, at any length; a memory is a short text.
        text=validate_text(neutralise(proposal.text)[:LONGEST_TEXT]),
        owner=owner,
        tags=proposal.tags,
        sources=proposal.sources,
        links=proposal.links,
        confidence=proposal.confidence,
        valid_from=proposal.said_at,
    )
