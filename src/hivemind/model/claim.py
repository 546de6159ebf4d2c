"""What is to be remembered: claims of callers before validation, and proposals of detectors."""

from collections.abc import Mapping, Sequence

from hivemind.model.dataclass import dataclass
from hivemind.model.ids import MemoryId, Timestamp, derive_id
from hivemind.model.memory import Kind, Source, Trace
from hivemind.model.metadata import NO_METADATA, MetadataValue
from hivemind.model.scope import Scope
from hivemind.model.session import Observation
from hivemind.model.timestamps import When


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a caller wants to store; dates and ids are still unparsed text."""

    text: str
    scope: Scope = Scope.PROJECT
    kind: Kind | None = None
    """Without one, the words of the text tell it."""
    tags: Sequence[str] = ()
    subject: str = ""
    replaces: Sequence[str] = ()
    expires: When = ""
    verify_by: When = ""
    valid_from: When = ""
    valid_to: When = ""
    links: Sequence[str] = ()
    sources: Sequence[str] = ()
    confidence: float = 1.0
    session_id: str = ""
    """The session it was learned in, if not the caller's own."""
    trace: Trace | None = None
    propose: bool = False
    """The caller asks for review before it becomes active."""
    quotation: Source | None = None
    """The person's words behind it, as they were found in the session."""
    forbids: Sequence[str] = ()
    """Commands and files that a rule forbids; a guard is proposed from them."""
    metadata: Mapping[str, MetadataValue] = NO_METADATA
    repo: str = ""
    """The repository it applies to, if not the current one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A claim derived from sessions; a person decides whether it is correct."""

    detector: str
    kind: Kind
    text: str
    sources: tuple[Source, ...]
    """The observations it was derived from, the most important first."""
    tags: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    edits: tuple[Observation, ...] = ()
    """Edits from which the related code is found."""
    confidence: float = 0.7
    said_at: Timestamp = ""
    """When it was said, which may be long before it is proposed."""

    @property
    def memory_id(self) -> MemoryId:
        """The same id for the same evidence, so that a second run proposes nothing twice."""
        # Not of the text: detectors word the same finding differently from version to version.
        evidence = [part for source in self.sources for part in (source.session_id, source.event, source.commit)]
        return MemoryId(derive_id("proposal", self.detector, *evidence, self.sources[0].quote))
