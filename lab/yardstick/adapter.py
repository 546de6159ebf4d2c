"""What the yardstick asks of a system: the interface of an adapter, and the values that it returns."""

import abc
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple


class NotOffered(Exception):
    """The system has no such function."""


class NotRun(Exception):
    """The system has it, but it needs a key, a download or a service that is not here; the message says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One thing that a system found."""

    text: str
    id: str = ""
    """The id that ``remember`` returned; empty for a part of a session."""
    session: str = ""
    """The session it comes from, if the system says so."""
    is_sure: bool = True
    """Whether the system offers it as an answer; False if it says itself that this may not be one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a search returned: the hits, best first, and the text as an agent gets to see it."""

    hits: tuple[Hit, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a system says about a note whose code changed."""

    asks: bool
    """Whether it asks to verify the note."""
    label: str = ""
    place: str = ""
    """Where the code is now, as ``path::symbol``; empty if the system says that it is gone, or does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something to remember, and where it comes from."""

    text: str
    repo: Path
    user: str = "ada"
    source: str = "person"
    """``person``, ``agent``, or ``tool`` for output of a tool that nobody vouches for."""
    link: str = ""
    """Code that it is about, as ``path::symbol``."""


class Turn(NamedTuple):
    """A prompt, and the end of the reply before it."""

    prompt: str
    reply: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What was measured: version, the doors used, and every choice that the adapter made."""

    version: str
    doors: str
    choices: str = ""
    home: str = ""
    """Where the project lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCommand:
    """A command that an agent runs at an event, with its JSON on standard input."""

    argv: tuple[str, ...]
    environ: Mapping[str, str] = field(default_factory=dict)


class Adapter(abc.ABC):
    """A system under test; a method that stays as it is here counts as not offered."""

    name: str = ""
    needs: tuple[str, ...] = ()
    """Programs that must be on the path, such as ``npm``."""

    requests_in_recall: int = 1
    """How often ``recall`` asks the system; more than once if one request gives ids and another the text."""

    def __init__(self, peers: Path) -> None:
        self.peers = peers / self.name
        """The folder into which the system is installed."""

    def install(self) -> None:  # noqa: B027 - most plain systems have nothing to do here
        """Install the system into its own folder; nothing to do for what comes with Python."""

    @abc.abstractmethod
    def describe(self) -> Description:
        """Return what is installed; raise ``NotRun`` if nothing is."""

    @abc.abstractmethod
    def open(self, folder: Path) -> None:
        """Open a store in an empty folder, or the one that is there."""

    def close(self) -> None:  # noqa: B027
        """Close the store and end all processes that were started for it."""

    @abc.abstractmethod
    def remember(self, note: Note) -> str:
        """Store a note, and return its id."""

    def remember_all(self, notes: Iterable[Note]) -> list[str]:
        """Store many notes; a system with a faster door for this may use it."""
        return [self.remember(note) for note in notes]

    def recall(self, query: str, repo: Path, *, k: int = 5, user: str = "ada") -> Answer:
        """Search, as an agent would, in a repository."""
        raise NotOffered("no search")

    def tell(self, prompt: str, repo: Path) -> str:
        """Return what an agent is told unasked with this prompt, in a new session."""
        raise NotOffered("says nothing with a prompt")

    def brief(self, repo: Path) -> str:
        """Return what an agent is told at the start of a session."""
        raise NotOffered("says nothing at the start of a session")

    def observe(self, transcripts: Sequence[Path], repo: Path) -> None:
        """Take in past sessions of a repository, given as transcripts of Claude Code, oldest first."""
        raise NotOffered("takes in no sessions")

    def hear(self, turns: Sequence[Turn]) -> list[list[str]]:
        """Return for each turn, a session of its own, what the system keeps as memories, without a judge."""
        raise NotOffered("keeps nothing of what is said")

    def suggest(self, turns: Sequence[Turn]) -> list[list[str]]:
        """Return for each turn which sentences of the prompt the system asks the agent to judge."""
        raise NotOffered("asks no judge")

    def delete(self, note_id: str, repo: Path) -> None:
        """Delete a note for good."""
        raise NotOffered("deletes nothing")

    def check_changes(self, repo: Path) -> Mapping[str, Change]:
        """Return what the system says about notes whose code changed in a working tree, by the id of the note."""
        raise NotOffered("does not look at code")

    def list_contradictions(self, repo: Path) -> set[frozenset[str]]:
        """Return the pairs of notes that the system says contradict each other."""
        raise NotOffered("does not compare notes")

    def get_hook(self, event: str, repo: Path) -> HookCommand:
        """Return the command that an agent runs at an event: PostToolUse, SessionStart or UserPromptSubmit."""
        raise NotOffered("no hook")

    def measure_tools(self) -> tuple[int, int]:
        """Return how many tools an agent is offered, and the bytes of their description."""
        raise NotOffered("no tools")
