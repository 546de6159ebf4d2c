"""What a detector found worth knowing, and what it rests on."""

from dataclasses import dataclass

from hivemind.model.ids import MemoryId, derived
from hivemind.model.memory import Kind, Source
from hivemind.model.session import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A claim that nobody has made in so many words; a person decides whether it holds."""

    detector: str
    kind: Kind
    text: str
    sources: tuple[Source, ...]
    """The observations or the commit it was read from, the telling one first."""
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    edits: tuple[Observation, ...] = ()
    """By which the code it is about is found."""
    confidence: float = 0.7

    @property
    def memory_id(self) -> MemoryId:
        """The same for the same evidence, so that looking at it again proposes nothing new."""
        evidence = [part for one in self.sources for part in (one.session_id, one.event, one.commit)]
        return MemoryId(derived("proposal", self.detector, *evidence, self.sources[0].quote))
