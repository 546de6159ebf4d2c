"""The state of a store: its size, its embedding model, and what needs attention."""

from hivemind.model.dataclass import dataclass
from hivemind.model.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """The embedding model, and how many memories it has embedded."""

    name: str
    dimension: int
    embedded: int
    waiting: int
    without: str
    """Why there is no model; empty if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """The size of a store."""

    memories: tuple[tuple[str, str, str, int], ...]
    """Scope, kind, status, count."""
    sessions: int
    observations: int
    events: int
    bytes: int
    outcomes: tuple[tuple[str, int], ...] = ()
    """What followed when memories were told, and how often; unknown where the log does not show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """A command to run next, and why."""

    command: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusReport:
    """An overview of the store: memories, connected agents, and what needs attention."""

    store: str
    bytes: int
    repository: str
    is_off: bool
    """Whether memory is off in this repository."""
    memories: tuple[tuple[str, int], ...]
    """Status and count of the visible memories."""
    elsewhere: int
    """How many memories belong to other repositories."""
    last_session: Session | None
    connected: tuple[str, ...]
    waiting: int
    doubted: int
    is_code_behind: bool
    """Whether more code changed than could be read, so that more memories may be in doubt."""
    linked: int
    """How many memories are linked to code of this tree."""
    unlinked: int
    """How many seem to name code and are not linked to any."""
    embedded: int
    """How many passages can be searched by meaning."""
    unembedded: int
    """How many are searched by words until they have a vector."""
    quarantined: int
    """How many inputs could not be read."""
    next: tuple[NextStep, ...]
    week: tuple[str, ...] = ()
    """What memory did here in the last seven days, in sentences."""
