"""Proposals: what detectors and agents found, recorded once each, to be reviewed."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum, auto
from typing import NamedTuple

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
from hivemind.store.store import Store
from hivemind.text.clean import neutralise, validate_text

LONGEST_TEXT = 2000
FORMER_DETECTORS = ("git-fixes", "git-decisions")
"""Proposals that they made may still wait for review."""
NO_TRUSTED_DETECTORS: Mapping[str, float] = {}


class Fate(Enum):
    """What becomes of a proposal."""

    NEW = auto()
    KNOWN = auto()
    """It was proposed before, a memory says the same, or a later decision about the same thing was proposed."""
    REFUSED = auto()
    """Its value was rejected, erased or taken back before."""


class ProposalResult(NamedTuple):
    """What becomes of a proposal, and the events that make it so."""

    fate: Fate
    events: list[Event]


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
    anchors: Mapping[str, tuple[Anchor, ...]] | None = None,
    trust: Mapping[str, float] = NO_TRUSTED_DETECTORS,
) -> None:
    """Record proposals, each as a whole; proposing the same twice changes nothing.

    ``anchors`` are by memory id.
    """

    def record(proposal: Proposal) -> None:
        result = make_proposal(
            context.store, factory, proposal, owner=context.settings.person, repo=repo,
            minimum_confidences=trust, anchors=(anchors or {}).get(proposal.memory_id, ()),
        )  # fmt: skip
        if result.events:
            context.record(result.events)
        outcome[result.fate, proposal.detector] += 1

    context.store.db.write_in_turns(proposals, record)


def make_proposal(
    store: Store,
    factory: EventFactory,
    proposal: Proposal,
    *,
    owner: str,
    repo: str,
    minimum_confidences: Mapping[str, float] = NO_TRUSTED_DETECTORS,
    anchors: tuple[Anchor, ...] = (),
) -> ProposalResult:
    """Return the events of a proposal: a derived memory of low trust that waits for review, or none if it came before.

    A proposal of a detector in ``minimum_confidences`` that is at least so confident becomes active, of low trust.
    """
    fact = _make_fact(proposal, owner)
    if log.find_ids_about(store.db, [fact.memory_id]):
        # Also if it was rejected or rolled back since: its id follows from the evidence, so it comes only once.
        return ProposalResult(Fate.KNOWN, [])
    gate = store.load_gate()
    if gate.find_claim_refusal(fact, repo):
        return ProposalResult(Fate.REFUSED, [])
    if repetition := find_repetition(store.db, fact.text, repo):
        # In the words of the memory that says the same, it counts as another source of it.
        fact = replace(fact, text=repetition.text, subject=repetition.subject)
    if fact.kind is Kind.DECISION and fact.valid_from:
        # Only proposals: what a person approved is replaced by a person.
        rivals = find_proposals_about(store.db, fact.text, fact.kind, repo)
        if any(rival.period.start > fact.valid_from for rival in rivals):
            return ProposalResult(Fate.KNOWN, [])
        fact = replace(fact, supersedes=tuple(rival.id for rival in rivals if rival.period.start < fact.valid_from))
    # Derived, so that two processes that read the same session record the proposal once.
    event_id = EventId(derive_id("proposed", fact.memory_id))
    result = accept_claim(
        store, factory, fact, Scope.PROJECT, repo, channel=Channel.DERIVED, id=event_id, anchors=anchors, gate=gate
    )
    # `accept_claim` returns another id if an existing memory says the same.
    if result.memory_id != fact.memory_id:
        return ProposalResult(Fate.KNOWN, result.events)
    # A detector without a threshold is never believed.
    if proposal.confidence < minimum_confidences.get(proposal.detector, math.inf):
        return ProposalResult(Fate.NEW, result.events)
    approval = MemoryApproved(memory_id=fact.memory_id, reason=f"the settings believe {proposal.detector}")
    return ProposalResult(
        Fate.NEW, [*result.events, factory.event(approval, Scope.PROJECT, repo, channel=Channel.DERIVED)]
    )


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
