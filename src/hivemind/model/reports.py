"""What the verbs report back about what they did or found."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from hivemind.errors import InvalidInput
from hivemind.model.code import Callers, Related, Staleness, Symbol
from hivemind.model.life import Step
from hivemind.model.memory import Channel, Memory, Source
from hivemind.model.recall import Recall, Receipt
from hivemind.model.session import Session


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
    unreadable: tuple[str, ...] = ()
    """Which lines could not be read, and why; they are in the quarantine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptOut:
    """A line of an instruction file that a person decided against before."""

    file: str
    lines: str
    why: str
    """Rejected, retracted or erased."""
    text: str
    """Empty for what was erased, which is not repeated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What instruction files said, and what of it was new or gone."""

    said: int
    new: int
    gone: int
    kept_out: tuple[KeptOut, ...] = ()


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
    quarantined: int = 0
    """Of these, how many were set aside; the others were read and are of no use."""


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
    callers: Callers | None
    """Of a single symbol; none for anything else."""

    @property
    def files(self) -> tuple[Related, ...]:
        """The files that bear on it, and why."""
        return self.recall.files


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What is known about a working tree."""

    files: int
    symbols: int
    changed: int
    """Files that had changed since the last look."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """Something worth doing now, and why."""

    command: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a person stands: what is remembered, who is connected, what waits."""

    store: str
    bytes: int
    repository: str
    memories: tuple[tuple[str, int], ...]
    """Of those in sight, how many have which status."""
    elsewhere: int
    """How many belong to other repositories."""
    last_session: Session | None
    connected: tuple[str, ...]
    waiting: int
    doubted: int
    quarantined: int
    """How many things could not be read."""
    next: tuple[NextStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """One day of memory."""

    date: str
    learned: int
    memories: tuple[tuple[str, int], ...]
    """All recorded by the end of it: status as it is today, count."""
    recalls: int
    to_verify: int
    """Of the recalls, those that showed something the code puts in doubt."""
    briefs: int
    brief_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """A repository, and what was learned in it."""

    repo: str
    """Empty for what holds everywhere."""
    memories: tuple[tuple[str, int], ...]
    """Status, count."""
    newest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Behind:
    """Code behind a memory: what became of it, as it was and as it is."""

    staleness: Staleness
    then: str
    """Empty where no commit has kept it."""
    now: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tie:
    """A memory on a symbol or file, and what became of that."""

    memory: Memory
    path: str
    symbol: str
    staleness: Staleness | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Near:
    """What lies around a file or folder."""

    target: str
    is_file: bool
    children: tuple[tuple[str, int], ...]
    """Of a folder: paths, and how many files lie in each; 0 for a file."""
    symbols: tuple[Symbol, ...]
    related: tuple[Related, ...]
    ties: tuple[Tie, ...]


class Sort(StrEnum):
    """What sort of thing names somebody or something."""

    MEMORY = "memory"
    VERSION = "earlier version"
    TRACE = "trace"
    OBSERVATION = "observation"
    SESSION = "session"
    QUESTION = "question"
    BACKUP = "backup"
    QUARANTINE = "quarantine"
    RECORD = "record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something kept here that names what was asked for."""

    sort: Sort
    id: str
    """Of the memory, log entry or session; of a file, its name."""
    repo: str
    """The repository it belongs to; empty where it holds everywhere."""
    at: str
    excerpt: str
    session: str = ""
    """The session it was seen in."""
    stays: str = ""
    """Why it cannot be erased from here; empty where it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """Everything kept here that names something."""

    about: str
    found: tuple[Mention, ...]

    @property
    def erasable(self) -> tuple[Mention, ...]:
        """What goes if nothing is left out."""
        return tuple(one for one in self.found if not one.stays)

    def less(self, left_out: Iterable[str]) -> tuple[Mention, ...]:
        """What is to be erased: all that can be, less what a person names by its id, its session or its file."""
        kept: set[str] = set()
        for written in left_out:
            prefix = written.strip()
            names = {name for one in self.found for name in (one.id, one.session) if name}
            matching = {name for name in names if prefix and name.startswith(prefix)}
            matching = {prefix} if prefix in names else matching
            if not matching:
                raise InvalidInput(
                    f"nothing in the list is called {prefix!r}; give an id, session or file as the list shows it"
                )
            kept |= matching
        return tuple(one for one in self.erasable if not {one.id, one.session} & kept)

    def by_sort(self) -> list[tuple[Sort, list[Mention]]]:
        """Grouped, in the order in which sorts are listed."""
        groups = [(sort, [one for one in self.found if one.sort is sort]) for sort in Sort]
        return [(sort, group) for sort, group in groups if group]
