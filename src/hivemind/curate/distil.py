"""Records what detectors propose, each proposal once."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hivemind.curate.exclusion import stays_out
from hivemind.curate.learn import learn
from hivemind.curate.pen import Pen
from hivemind.errors import InvalidInput
from hivemind.model.code import Anchor
from hivemind.model.events import MemoryApproved, MemoryRemembered
from hivemind.model.ids import EventId, derived
from hivemind.model.memory import Channel
from hivemind.model.proposal import Proposal
from hivemind.model.scope import Scope
from hivemind.model.text import checked, neutral
from hivemind.store import Store, log

LONGEST_TEXT = 2000
UNREACHABLE = 2.0
"""Above every confidence, so that a detector without a threshold is never believed."""
NO_TRUSTED_DETECTORS: Mapping[str, float] = {}
NO_ANCHORS: Mapping[str, tuple[Anchor, ...]] = {}


@dataclass(slots=True)
class Outcome:
    """Counts of what became of proposals."""

    proposed: Counter[str] = field(default_factory=Counter)
    """How many are new, by detector."""
    known: int = 0
    refused: int = 0


def propose(
    store: Store,
    pen: Pen,
    proposals: Iterable[Proposal],
    *,
    owner: str,
    repo: str,
    outcome: Outcome,
    believed: Mapping[str, float] = NO_TRUSTED_DETECTORS,
    about: Mapping[str, tuple[Anchor, ...]] = NO_ANCHORS,
) -> None:
    """Record proposals as derived memories of low trust that wait for review; recording one twice changes nothing.

    A proposal of a detector in ``believed`` with at least that confidence becomes active, and stays of low trust.
    ``about`` maps memory ids to the code they are about.
    """
    for proposal in proposals:
        fact = _make_fact(proposal, owner)
        if log.ids_about(store.db, [fact.memory_id]):
            # Also if it was rejected or rolled back since: its id follows from the evidence, so it comes only once.
            outcome.known += 1
        elif stays_out(store, fact.text, repo):
            outcome.refused += 1
        else:
            # Derived, so that two processes that read the same session record the proposal once.
            event_id = EventId(derived("proposed", fact.memory_id))
            memory_id = learn(
                store, pen, fact, Scope.PROJECT, repo, channel=Channel.DERIVED, id=event_id,
                anchors=about.get(fact.memory_id, ()),
            )  # fmt: skip
            # `learn` returns another id if an existing memory says the same.
            outcome.known += memory_id != fact.memory_id
            outcome.proposed[proposal.detector] += memory_id == fact.memory_id
            if memory_id == fact.memory_id and proposal.confidence >= believed.get(proposal.detector, UNREACHABLE):
                reason = f"the settings believe {proposal.detector}"
                approval = MemoryApproved(memory_id=fact.memory_id, reason=reason)
                store.record([pen.event(approval, Scope.PROJECT, repo, channel=Channel.DERIVED)])


def believed_from(setting: str) -> dict[str, float]:
    """Parse the setting ``believed``: detectors whose proposals become active, and from which confidence."""
    confidences: dict[str, float] = {}
    for entry in setting.replace(",", " ").split():
        name, _, confidence = entry.partition(":")
        try:
            confidences[name] = float(confidence or 1.0)
        except ValueError:
            raise InvalidInput(f"the setting believed has {entry!r}; write it like 'commands:0.9'") from None
    return confidences


def _make_fact(proposal: Proposal, owner: str) -> MemoryRemembered:
    return MemoryRemembered(
        memory_id=proposal.memory_id,
        kind=proposal.kind,
        # Output of agents and programs can contain anything, at any length; a memory is a short text.
        text=checked(neutral(proposal.text)[:LONGEST_TEXT]),
        owner=owner,
        tags=proposal.tags,
        sources=proposal.sources,
        links=proposal.links,
        confidence=proposal.confidence,
    )
