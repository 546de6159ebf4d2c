"""The results of commands."""

from collections.abc import Iterable
from enum import StrEnum

from hivemind.errors import InvalidInput
from hivemind.model.code import Callers, RelatedFile, Staleness
from hivemind.model.dataclass import dataclass
from hivemind.model.fold import HistoryStep
from hivemind.model.memory import Memory
from hivemind.model.recall import Recall, Receipt
from hivemind.model.session import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """A memory with its history and the receipts of who saw it."""

    memory: Memory
    history: tuple[HistoryStep, ...]
    receipts: tuple[Receipt, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillReport:
    """The result of importing past transcripts and commits."""

    batch: str
    """The id of the import, for a rollback."""
    learned: int
    """Proposals made from the imported data."""
    transcripts: int = 0
    sessions: int = 0
    observations: int = 0
    new: int = 0
    """How many of the observations were not yet stored."""
    commits: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    """Reasons why lines could not be read, and how many lines each."""
    quarantined: int = 0
    """How many of these lines are in the quarantine; the others were read and have no use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleMemory:
    """A memory whose code changed, and how."""

    memory: Memory
    became: tuple[Staleness, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RelatedContext:
    """Memories, files and callers related to code or to a task."""

    recall: Recall
    callers: Callers | None
    """Callers of a single symbol; none for anything else."""

    @property
    def files(self) -> tuple[RelatedFile, ...]:
        """The related files, and why."""
        return self.recall.files


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DailyStats:
    """Statistics of one day."""

    date: str
    learned: int
    memories: tuple[tuple[str, int], ...]
    """Current status and count of all memories recorded by the end of the day."""
    recalls: int
    to_verify: int
    """How many of the recalls showed a memory whose code changed."""
    briefs: int
    brief_tokens: int


@dataclass(frozen=True, slots=True)
class WeekSummary:
    """What memory did in the last seven days."""

    sessions: int
    """Sessions that were given something."""
    memories: int
    briefs: int
    answers: int
    """Questions and prompts that memory answered."""
    hints: int
    """What agents were told before an edit or a command, or after a failure."""
    warnings: int
    """Memories that were shown with a warning that their code had changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchoredCode:
    """The code of an anchor, then and now, and how it changed."""

    staleness: Staleness
    then: str
    """Empty if no commit contains it."""
    now: str


class MentionSort(StrEnum):
    """Where a mention was found."""

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
    """A stored item that contains the name searched for."""

    sort: MentionSort
    id: str
    """The id of the memory, log entry or session; for a file, its name."""
    repo: str
    """The repository it belongs to; empty if it applies everywhere."""
    at: str
    excerpt: str
    session: str = ""
    """The session it was observed in."""
    stays: str = ""
    """Why it cannot be erased from here; empty if it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """All stored items that contain a name."""

    about: str
    found: tuple[Mention, ...]

    @property
    def erasable(self) -> tuple[Mention, ...]:
        """The mentions that can be erased."""
        return tuple(mention for mention in self.found if not mention.stays)

    def excluding(self, exclusions: Iterable[str]) -> tuple[Mention, ...]:
        """The mentions that can be erased, without those that a person excludes by id, session or file."""
        excluded_names: set[str] = set()
        for text in exclusions:
            prefix = text.strip()
            names = {name for mention in self.found for name in (mention.id, mention.session) if name}
            matching = {name for name in names if prefix and name.startswith(prefix)}
            # An exact name wins over names that begin with it.
            matching = {prefix} if prefix in names else matching
            if not matching:
                raise InvalidInput(
                    f"nothing in the list is called {prefix!r}; give an id, session or file as the list shows it"
                )
            excluded_names |= matching
        return tuple(mention for mention in self.erasable if not {mention.id, mention.session} & excluded_names)

    def by_sort(self) -> list[tuple[MentionSort, list[Mention]]]:
        """The mentions grouped by sort, in the order of ``MentionSort``."""
        groups = [(sort, [mention for mention in self.found if mention.sort is sort]) for sort in MentionSort]
        return [(sort, group) for sort, group in groups if group]
