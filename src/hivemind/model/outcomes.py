"""Outcomes: what followed in a session after a memory was told there, as far as the log shows it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from hivemind.model.dataclass import dataclass
from hivemind.model.ids import EventId, MemoryId, ReceiptId, Timestamp
from hivemind.model.memory import Memory
from hivemind.model.recall import Receipt


class OutcomeKind(StrEnum):
    """What followed a telling; ``LABELS`` explains each."""

    CORRECTED = "corrected"
    IGNORED = "ignored"
    RECURRED = "recurred"
    OBEYED = "obeyed"
    RESOLVED = "resolved"
    GUARDED = "guarded"
    UNDONE = "undone"
    KEPT = "kept"
    MENTIONED = "mentioned"
    UNKNOWN = "unknown"

    @property
    def label(self) -> str:
        """What followed, for people."""
        return LABELS[self]


LABELS = {
    OutcomeKind.CORRECTED: "you corrected the agent about it",
    OutcomeKind.IGNORED: "the agent ran what it warns of",
    OutcomeKind.RECURRED: "the error came again",
    OutcomeKind.OBEYED: "the agent ran what it recommends",
    OutcomeKind.RESOLVED: "the command passed, the error did not come again",
    OutcomeKind.GUARDED: "a guard acted",
    OutcomeKind.UNDONE: "the edit was taken back",
    OutcomeKind.KEPT: "the edit stayed",
    OutcomeKind.MENTIONED: "the agent used a name that only this memory gave",
    OutcomeKind.UNKNOWN: "the log does not show it",
}
HELPED = (OutcomeKind.OBEYED, OutcomeKind.RESOLVED)
UNHEEDED = (OutcomeKind.CORRECTED, OutcomeKind.IGNORED, OutcomeKind.RECURRED)
WITHOUT_SIGN = (OutcomeKind.UNKNOWN, OutcomeKind.KEPT, OutcomeKind.UNDONE)
"""What says nothing about whether anybody used the memory: most edits stay, whatever was told before them."""
FEWEST_SESSIONS = 2
"""In how many sessions a memory must have helped, or been unheeded, to count: once is chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """A line of a receipt, and the memory as it was told."""

    receipt: Receipt
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
# Read by position from statements in projections/outcomes.py, so the order of fields matters.
class TellingOutcome:
    """What followed a telling, and the log entry that shows it."""

    receipt: ReceiptId
    rank: int
    memory_id: MemoryId
    session_id: str
    at: Timestamp
    """When it was told."""
    kind: OutcomeKind
    evidence: EventId | None = None
    """The step of the session that shows it; none if the receipt itself does, or nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TellingRecord:
    """What became of a memory: how often it was told, what followed, and whether it still speaks unasked."""

    tellings: int = 0
    sessions: int = 0
    outcomes: tuple[TellingOutcome, ...] = ()
    """Those that the log shows, newest first."""
    quiet_since: Timestamp = ""
    """Since when it is told only when asked, or where its file, command or error comes up; empty if it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reputation:
    """In how many sessions a memory helped, and in how many nobody heeded it, since it was last edited or verified."""

    successes: int = 0
    failures: int = 0

    @property
    def level(self) -> int:
        """1 if it helped more often than not, -1 if it was unheeded more often, and 0 if too little is known."""
        if self.failures >= FEWEST_SESSIONS and self.failures > self.successes:
            return -1
        return int(self.successes >= FEWEST_SESSIONS and self.successes > self.failures)


NO_REPUTATIONS: Mapping[str, Reputation] = MappingProxyType({})
