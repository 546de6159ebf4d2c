"""What somebody asks us to remember, as they say it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hivemind.model.memory import Kind, Trace
from hivemind.model.metadata import NO_METADATA, Value
from hivemind.model.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Something worth knowing next time; dates and ids still as people write them."""

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
    """Where it was learned, if not in the session that speaks."""
    trace: Trace | None = None
    propose: bool = False
    """Its speaker wants a person to look at it first."""
    metadata: Mapping[str, Value] = NO_METADATA
    repo: str = ""
    """The repository it holds in, if not in the one at hand."""
