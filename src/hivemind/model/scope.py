"""Scopes of memories, repositories, and what a reader may see."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import PurePath
from typing import Self

from hivemind.errors import InvalidInput
from hivemind.model.dataclass import dataclass
from hivemind.text.clean import list_texts


class Choice(StrEnum):
    """An enumeration that a person can write by name."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a name; raises InvalidInput with the valid names."""
        try:
            return cls(text.strip().lower())
        except (AttributeError, TypeError, ValueError):
            name = cls.__name__.lower()
            raise InvalidInput(f"{text!r} is not a {name}; choose from {', '.join(cls)}") from None

    @classmethod
    def parse_all(cls, names: str | Iterable[str] | None) -> tuple[Self, ...]:
        """Parse one name or several."""
        return tuple(map(cls.parse, list_texts(names, cls.__name__.lower())))


class Scope(Choice):
    """Who a memory belongs to: one person everywhere, one person in one repository, or the team."""

    USER = "user"
    PROJECT = "project"
    TEAM = "team"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository: its id, shared by all clones and worktrees, and its path on this machine."""

    id: str
    """``remote:host[:port]/path``, else ``commit:<first commit>``, else ``path:<directory>``."""
    root: str
    """The root of the current working tree; empty on a hub, which has none."""
    tree: str = ""
    """The id of the working tree; linked worktrees share it."""
    known_as: tuple[str, ...] = ()
    """Earlier ids of this working tree: before it had a remote, or with another remote."""
    problem: str = ""
    """Why it could only be identified by its path although it is under git; empty for all others."""

    @property
    def name(self) -> str:
        """A short name for people; not unique."""
        # A commit id means nothing to people, so the folder gives the name.
        tail = self.root if self.id.startswith("commit:") else self.id
        return tail.rstrip("/").rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTrees:
    """The directories whose repository is known, and the repository of each."""

    repos: Mapping[str, str]

    def find(self, directory: str) -> str:
        """The repository of a directory in or below a known tree; empty if there is none."""
        path = PurePath(directory)
        return next((self.repos[str(place)] for place in (path, *path.parents) if str(place) in self.repos), "")


def label_other_repository(repo: str) -> str:
    """The label of a memory from another repository."""
    kind, _, name = repo.partition(":")
    return f"from another repository: {name[:12] if kind == 'commit' else name.rsplit('/', 1)[-1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """What a reader may see. Every query carries it; the text of a question cannot extend it."""

    repos: tuple[str, ...]
    """The current repository, under each id it had."""
    everywhere: bool = False
    """Include this person's memories of other repositories, labelled."""

    def is_elsewhere(self, repo: str) -> bool:
        """Whether a memory belongs to another repository than the current one."""
        return bool(repo) and any(self.repos) and repo not in self.repos

    @classmethod
    def of(cls, repository: Repository, *, everywhere: bool = False) -> "Visibility":
        """What may be seen from a working tree; on a hub, which has no repository, all memories of the team."""
        return cls(repos=(repository.id, *repository.known_as), everywhere=everywhere or not repository.id)
