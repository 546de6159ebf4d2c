"""Guards: a person's rule that answers before an agent acts against it."""

from enum import StrEnum

from hivemind.model.dataclass import dataclass
from hivemind.model.ids import MemoryId, SessionId, Timestamp
from hivemind.model.memory import Memory
from hivemind.model.scope import Choice


class GuardAnswer(Choice):
    """What happens when a guard's trigger matches a call."""

    REMIND = "remind"
    """The agent is told the memory, as without a guard."""
    ASK = "ask"
    """The client asks the person whether the call may be made."""
    DENY = "deny"
    """The call is refused, with the memory as the reason."""


class GuardState(StrEnum):
    """Whether a guard acts now."""

    ARMED = "armed"
    PAUSED = "paused"
    """The person lets such calls pass until a time."""
    ENDED = "ended"
    """Its date has passed."""
    DISARMED = "disarmed"
    """Its memory is stale, disputed, expired, replaced or was edited since."""
    OFFERED = "offered"
    """A teammate set it: it only reminds until the person accepts it."""

    def describe(self, why: str) -> str:
        """Return the state with its reason, for people: "paused until …", "disarmed: its memory is disputed"."""
        separator = ":" if self in (GuardState.DISARMED, GuardState.OFFERED) else ""
        return f"{self}{separator} {why}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The calls at which a guard acts: each list is an alternative."""

    commands: tuple[str, ...] = ()
    """Patterns of commands: a program, its first words, its options."""
    exceptions: tuple[str, ...] = ()
    """Patterns of commands and globs of files that are allowed although a pattern matches them."""
    files: tuple[str, ...] = ()
    """Globs of paths from the top of the repository."""
    symbols: tuple[str, ...] = ()
    """Symbols as ``path::name``."""
    tools: tuple[str, ...] = ()
    """Names of tools, as globs."""

    @property
    def is_empty(self) -> bool:
        """Whether it matches no call."""
        return not (self.commands or self.files or self.symbols or self.tools)

    @property
    def summary(self) -> str:
        """The trigger in one line."""
        exceptions = f" (not {', '.join(self.exceptions)})" if self.exceptions else ""
        patterns = {"command": self.commands, "file": self.files, "symbol": self.symbols, "tool": self.tools}
        return ", ".join(f"{what} {each}" for what, group in patterns.items() for each in group) + exceptions


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryGuard:
    """A guard as it was set."""

    memory_id: MemoryId
    trigger: Trigger
    answer: GuardAnswer
    ends_at: Timestamp = ""
    paused_until: Timestamp = ""
    head: str = ""
    """The log entry that made the version of the memory for which it was set."""
    set_at: Timestamp
    set_by: str
    is_own: bool
    """Whether the person set or accepted it, not a teammate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardReport:
    """A guard with its memory, and whether it acts now."""

    guard: MemoryGuard
    memory: Memory
    state: GuardState
    why: str = ""
    """Why it does not act; empty if it does."""
    acts: int = 0
    """How often it asked or refused."""

    @property
    def summary(self) -> str:
        """Its state, and why it does not act."""
        return self.state.describe(self.why)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCall:
    """A call of a past session that a trigger matches or nearly matches."""

    session_id: SessionId
    at: Timestamp
    agent: str
    call: str
    """The command, or the file that was changed."""
    pattern: str
    """The pattern that matches; empty if only the program is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardTrial:
    """What a trigger would have done in the past sessions of this repository."""

    sessions: int
    """How many sessions were looked at."""
    acts: tuple[PastCall, ...]
    near: tuple[PastCall, ...]
    """Calls of the same programs at which it would not have acted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardVerdict:
    """What a guard says to a call that is about to be made."""

    memory: Memory
    answer: GuardAnswer
    pattern: str
    """The pattern that matches the call."""
    call: str
    """The command, file or tool."""
    changes_guard: bool
    """Whether the call would change a guard, which only the person may do."""
    set_by: str
    set_at: Timestamp
    state: GuardState
    why_not: str = ""
    """Why the guard only reminds although it matches; empty if it is armed."""
