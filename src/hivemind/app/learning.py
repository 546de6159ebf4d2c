"""Recording claims and proposals one after another, so that each is compared with those before it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hivemind.app.context import Context
from hivemind.curate import distil
from hivemind.curate.event_factory import EventFactory
from hivemind.curate.learn import learn as learned_from
from hivemind.errors import Refused
from hivemind.model.claim import Proposal
from hivemind.model.code import Anchor
from hivemind.model.events import Event, MemoryRemembered
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope

ABOUT_NO_CODE: Mapping[str, tuple[Anchor, ...]] = {}


class ClaimRefused(Refused):
    """A claim was refused; ``events`` record that, and must be stored after the transaction has ended."""

    def __init__(self, message: str, events: Sequence[Event]) -> None:
        super().__init__(message)
        self.events = events


@dataclass(slots=True)
class Outcome:
    """How many proposals were new, known and refused."""

    proposed: Counter[str] = field(default_factory=Counter)
    """How many are new, by detector."""
    known: int = 0
    refused: int = 0


def learn(
    context: Context,
    factory: EventFactory,
    fact: MemoryRemembered,
    scope: Scope,
    repo: str,
    *,
    channel: Channel | None = None,
    id: EventId | None = None,
    anchors: tuple[Anchor, ...] = (),
    said_by_person: bool = False,
) -> MemoryId:
    """Record a claim and what follows from it; return the memory that now says it, or raise ``ClaimRefused``."""
    learned = learned_from(
        context.store,
        factory,
        fact,
        scope,
        repo,
        channel=channel,
        id=id,
        anchors=anchors,
        said_by_person=said_by_person,
    )
    if learned.refusal:
        raise ClaimRefused(learned.refusal, learned.events)
    context.record(learned.events)
    return learned.memory_id


def propose(
    context: Context,
    factory: EventFactory,
    proposals: Iterable[Proposal],
    repo: str,
    outcome: Outcome,
    *,
    anchors: Mapping[str, tuple[Anchor, ...]] = ABOUT_NO_CODE,
    believed: Mapping[str, float] = distil.NO_TRUSTED_DETECTORS,
) -> None:
    """Record proposals, in one transaction or not at all; to propose the same twice changes nothing.

    The anchors of a proposal are found by the id of its memory.
    """
    with context.store.db.transaction():
        for proposal in proposals:
            done = distil.make_proposal(
                context.store, factory, proposal, owner=context.settings.person, repo=repo,
                minimum_confidences=believed, anchors=anchors.get(proposal.memory_id, ()),
            )  # fmt: skip
            if done.events:
                context.record(done.events)
            match done.fate:
                case distil.Fate.NEW:
                    outcome.proposed[proposal.detector] += 1
                case distil.Fate.KNOWN:
                    outcome.known += 1
                case distil.Fate.REFUSED:
                    outcome.refused += 1
