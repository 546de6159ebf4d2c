"""What the verbs report back about what they did or found."""

from dataclasses import dataclass

from hivemind.model.code import Callers, Related, Staleness
from hivemind.model.life import Step
from hivemind.model.memory import Channel, Memory, Source
from hivemind.model.recall import Recall, Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a memory is believed, what became of it, and whom it reached."""

    memory: Memory
    history: tuple[Step, ...]
    receipts: tuple[Receipt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import brought."""

    new: int
    known: int
    refused: int
    batch: str
    """Names it for a rollback."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What instruction files said, and what of it was new or gone."""

    said: int
    new: int
    gone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """A memory as the team gets to see it, and what of it stays here."""

    memory: Memory
    text: str
    sources: tuple[Source, ...]
    channel: Channel
    """How far it will be believed follows from this."""
    withheld: tuple[str, ...]
    """What was taken out of it."""
    copy: str = ""
    """The team's memory, once it is published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """A memory that waits for a person, with what it rests on and what it conflicts with."""

    memory: Memory
    why: str
    against: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """Which model searches by meaning, and how far it has come."""

    name: str
    dimension: int
    embedded: int
    waiting: int
    without: str
    """Why there is none, if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """How a model does on the memories at hand."""

    name: str
    found: float
    """Mean reciprocal rank of a memory when its first half is the question."""
    milliseconds: float
    """For one text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What memory cost a session."""

    actor: str
    session_id: str
    briefs: int
    prompts: int
    recalls: int
    memories: int
    """How many were put before it, each time counted."""
    told_before: int
    """How many of them an earlier session had been told: found out once, and not again."""
    unasked_tokens: int
    asked_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How much there is."""

    memories: tuple[tuple[str, str, str, int], ...]
    """Scope, kind, status, count."""
    sessions: int
    observations: int
    events: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """What the past had to tell."""

    batch: str
    """Names what was learned, for a rollback."""
    learned: int
    """Proposals made from it."""
    transcripts: int = 0
    sessions: int = 0
    observations: int = 0
    new: int = 0
    """Of the observations, those nobody had told before."""
    commits: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    """Why lines could not be read, and how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Distilled:
    """What was learned from sessions."""

    sessions: int
    proposed: int
    known: int
    """Said before, here or by another session."""
    refused: int
    """Rejected or erased before, so they stay out."""
    by_detector: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """Observations that were let go, to keep within the settings."""

    observations: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A memory that the code at hand puts in doubt, and by what."""

    memory: Memory
    became: tuple[Staleness, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevant:
    """What bears on code or on a task: what is known, which files, who calls it."""

    recall: Recall
    files: tuple[Related, ...]
    callers: Callers | None
    """Of a single symbol; none for anything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What is known about a working tree."""

    files: int
    symbols: int
    changed: int
    """Files that had changed since the last look."""
