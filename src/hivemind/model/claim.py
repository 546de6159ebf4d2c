"""A request to remember something, before it is validated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hivemind.model.memory import Kind, Trace
from hivemind.model.metadata import NO_METADATA, MetadataValue
from hivemind.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a caller wants to store; dates and ids are still unparsed text."""

    text: str
    scope: Scope = Scope.PROJECT
    kind: Kind = Kind.FACT
    tags: Sequence[str] = ()
    subject: str = ""
    replaces: Sequence[str] = ()
    expires: str = ""
    verify_by: str = ""
    valid_from: str = ""
    valid_to: str = ""
    links: Sequence[str] = ()
    sources: Sequence[str] = ()
    confidence: float = 1.0
    session_id: str = ""
    """The session it was learned in, if not the caller's own."""
    trace: Trace | None = None
    propose: bool = False
    """The caller asks for review before it becomes active."""
    metadata: Mapping[str, MetadataValue] = NO_METADATA
    repo: str = ""
    """The repository it applies to, if not the current one."""
