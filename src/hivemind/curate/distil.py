"""From what was observed to what is proposed: detectors look, and what they find is recorded once."""

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

LONGEST = 2000
NEVER = 2.0
"""A confidence that nothing has."""
EVERYTHING_WAITS: Mapping[str, float] = {}
ABOUT_NO_CODE: Mapping[str, tuple[Anchor, ...]] = {}


@dataclass(slots=True)
class Outcome:
    """What became of proposals."""

    proposed: Counter[str] = field(default_factory=Counter)
    """How many are new, by detector."""
    known: int = 0
    refused: int = 0


def propose(
    store: Store,
    pen: Pen,
    found: Iterable[Proposal],
    *,
    owner: str,
    repo: str,
    outcome: Outcome,
    believed: Mapping[str, float] = EVERYTHING_WAITS,
    about: Mapping[str, tuple[Anchor, ...]] = ABOUT_NO_CODE,
) -> None:
    """Record proposals as what they are: derived, of low trust, waiting for a person. Twice changes nothing.

    What a detector in ``believed`` finds with that confidence becomes active, and stays of low trust. The code that
    each is ``about`` is given by the id of the memory.
    """
    for proposal in found:
        fact = _stated(proposal, owner)
        if log.ids_about(store.db, [fact.memory_id]):
            outcome.known += 1
        elif stays_out(store, fact.text, repo):
            outcome.refused += 1
        else:
            born = EventId(derived("proposed", fact.memory_id))
            said_by = learn(
                store, pen, fact, Scope.PROJECT, repo, channel=Channel.DERIVED, id=born,
                anchors=about.get(fact.memory_id, ()),
            )  # fmt: skip
            outcome.known += said_by != fact.memory_id
            outcome.proposed[proposal.detector] += said_by == fact.memory_id
            if said_by == fact.memory_id and proposal.confidence >= believed.get(proposal.detector, NEVER):
                reason = f"the settings believe {proposal.detector}"
                approved = MemoryApproved(memory_id=fact.memory_id, reason=reason)
                store.record([pen.event(approved, Scope.PROJECT, repo, channel=Channel.DERIVED)])


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
