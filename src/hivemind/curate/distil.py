"""From what detectors find to the events that propose it."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from hivemind.curate.exclusion import stays_out
from hivemind.curate.learn import learn
from hivemind.curate.pen import Pen
from hivemind.errors import InvalidInput
from hivemind.model.code import Anchor
from hivemind.model.events import Event, MemoryApproved, MemoryRemembered
from hivemind.model.ids import EventId, derived
from hivemind.model.memory import Channel
from hivemind.model.proposal import Proposal
from hivemind.model.scope import Scope
from hivemind.model.text import checked, neutral
from hivemind.store import Store, log

LONGEST = 2000
NEVER = 2.0
"""A confidence that nothing has."""
EVERYTHING_WAITS: Mapping[str, float] = {}


class Fate(Enum):
    """What becomes of a proposal."""

    NEW = auto()
    KNOWN = auto()
    """It was proposed before, or a memory says the same."""
    REFUSED = auto()
    """Its value was rejected, erased or taken back before."""


class Proposed(NamedTuple):
    """What becomes of a proposal, and the events that make it so."""

    fate: Fate
    events: list[Event]


def propose(
    store: Store,
    pen: Pen,
    proposal: Proposal,
    *,
    owner: str,
    repo: str,
    believed: Mapping[str, float] = EVERYTHING_WAITS,
    anchors: tuple[Anchor, ...] = (),
) -> Proposed:
    """The events of a proposal: derived, of low trust, waiting for a person; none if it was proposed before.

    What a detector in ``believed`` finds with that confidence becomes active, and stays of low trust.
    """
    fact = _stated(proposal, owner)
    if log.ids_about(store.db, [fact.memory_id]):
        return Proposed(Fate.KNOWN, [])
    if stays_out(store, fact.text, repo):
        return Proposed(Fate.REFUSED, [])
    born = EventId(derived("proposed", fact.memory_id))
    learned = learn(store, pen, fact, Scope.PROJECT, repo, channel=Channel.DERIVED, id=born, anchors=anchors)
    if learned.memory_id != fact.memory_id:
        return Proposed(Fate.KNOWN, learned.events)
    if proposal.confidence < believed.get(proposal.detector, NEVER):
        return Proposed(Fate.NEW, learned.events)
    approval = MemoryApproved(memory_id=fact.memory_id, reason=f"the settings believe {proposal.detector}")
    return Proposed(Fate.NEW, [*learned.events, pen.event(approval, Scope.PROJECT, repo, channel=Channel.DERIVED)])


def believed_from(written: str) -> dict[str, float]:
    """Which detectors a person believes and from which confidence on, as the setting writes it."""
    found: dict[str, float] = {}
    for part in written.replace(",", " ").split():
        name, _, least = part.partition(":")
        try:
            found[name] = float(least or 1.0)
        except ValueError:
            raise InvalidInput(f"the setting believed says {part!r}; write it like 'commands:0.9'") from None
    return found


def _stated(proposal: Proposal, owner: str) -> MemoryRemembered:
    return MemoryRemembered(
        memory_id=proposal.memory_id,
        kind=proposal.kind,
        # What agents and programs print may hold anything, at any length; a memory is a short text.
        text=checked(neutral(proposal.text)[:LONGEST]),
        owner=owner,
        tags=proposal.tags,
        sources=proposal.sources,
        links=proposal.links,
        confidence=proposal.confidence,
    )
