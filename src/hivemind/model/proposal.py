"""Memories that a detector proposes, with their evidence."""

from dataclasses import dataclass

from hivemind.model.ids import MemoryId, derive_id
from hivemind.model.memory import Kind, Source
from hivemind.model.session import Observation


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A claim derived from sessions or commits; a person decides whether it is correct."""

    detector: str
    kind: Kind
    text: str
    sources: tuple[Source, ...]
    """The observations or the commit it was derived from, the most important first."""
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    edits: tuple[Observation, ...] = ()
    """Edits from which the related code is found."""
    confidence: float = 0.7

    @property
    def memory_id(self) -> MemoryId:
        """The same id for the same evidence, so that a second run proposes nothing twice."""
        evidence = [part for source in self.sources for part in (source.session_id, source.event, source.commit)]
        return MemoryId(derive_id("proposal", self.detector, *evidence, self.sources[0].quote))
