"""Digests of sessions: what was asked, concluded, done, fixed, given up and left open, each line a quotation."""

from enum import StrEnum

from hivemind.model.dataclass import dataclass
from hivemind.model.ids import EventId, SessionId, Timestamp
from hivemind.model.session import Observation, Session


class Evidence(StrEnum):
    """Who is behind a line of a digest, the most trusted first."""

    SAID = "said"
    """The person's own typed words."""
    CONFIRMED = "confirmed"
    """An agent's words that the person confirmed, or that repeat what the person ruled and were not contradicted."""
    OBSERVED = "observed"
    """What the log itself shows: this command failed, that one made it pass."""
    AGENT = "agent"
    """An agent's words that nobody confirmed."""
    FOREIGN = "foreign"
    """Words that came from tool output or a paste, whoever repeats them; a digest leaves them out."""

    @property
    def label(self) -> str:
        """Who is behind it, for the person whose session it was."""
        return EVIDENCE_LABELS[self]

    @property
    def is_reliable(self) -> bool:
        """Whether it may be told unasked on an ordinary match; an agent's own words need a sure one."""
        return self in (Evidence.SAID, Evidence.CONFIRMED, Evidence.OBSERVED)


EVIDENCE_LABELS = {
    Evidence.SAID: "you said",
    Evidence.CONFIRMED: "you confirmed",
    Evidence.OBSERVED: "seen in the log",
    Evidence.AGENT: "an agent's summary, not confirmed",
    Evidence.FOREIGN: "from tool output or a paste",
}


class Part(StrEnum):
    """The part of a digest that a line belongs to."""

    TASK = "task"
    REQUEST = "request"
    """What the task became."""
    CONCLUSION = "conclusion"
    REPLY = "reply"
    """What the agent said at the end of a turn, in its own words; no reader of a digest is shown it."""
    CHANGE = "change"
    """A changed file, with the symbols in it."""
    COMMIT = "commit"
    FIX = "fix"
    """A command that failed, and what made it pass."""
    DEAD_END = "dead end"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestLine:
    """A line of a digest: a quotation, and where it stands."""

    part: Part
    evidence: Evidence
    event: EventId
    """The log entry that it quotes."""
    at: Timestamp
    text: str
    about: str = ""
    """What a ruling rules on, quoted from the message it answers; empty if it stands alone."""
    is_summary: bool = False
    """Whether the agent put it as a summary of what was agreed, and the person confirmed it."""
    files: tuple[str, ...] = ()
    """Files that were changed in the same turn, from the top of the working tree where that is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a session came to."""

    session_id: SessionId
    version: int
    """How many observations it was made from; a session that goes on gets another one."""
    lines: tuple[DigestLine, ...] = ()

    def select(self, *parts: Part) -> tuple[DigestLine, ...]:
        """Return the lines of these parts, in order."""
        return tuple(line for line in self.lines if line.part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedConclusion:
    """A conclusion with the messages around it."""

    session: Session
    line: DigestLine
    around: tuple[Observation, ...]
    """What was said before and after it, and the message that it quotes."""
    is_forgotten: bool = False
    """Whether a person said that it must not be told."""
