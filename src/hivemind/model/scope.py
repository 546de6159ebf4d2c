"""Whose a memory is, where it holds, and what a reader may see."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from hivemind.errors import InvalidInput


class Choice(StrEnum):
    """One of a few words that a person may write."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """The one a person named."""
        try:
            return cls(text.strip().lower())
        except ValueError:
            name = cls.__name__.lower()
            raise InvalidInput(f"{text!r} is not a {name}; choose from {', '.join(cls)}") from None


class Scope(Choice):
    """Whose it is: mine everywhere, mine in this repository, or the team's."""

    USER = "user"
    PROJECT = "project"
    TEAM = "team"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository as every clone and worktree of it is known, and where it lies here."""

    id: str
    """``remote:host[:port]/path``, else ``commit:<first commit>``, else ``path:<directory>``."""
    root: str
    """The top of the working tree at hand; empty on a hub, which has none."""
    tree: str = ""
    """What tells this working tree from every other; its linked worktrees share it."""
    former_id: str = ""
    """What the id was under earlier rules, where these gave another one."""
    known_as: tuple[str, ...] = ()
    """What this same working tree was called before: without a remote, under another address, by earlier rules."""

    @property
    def name(self) -> str:
        """A short name for people; not an identity."""
        tail = self.root if self.id.startswith("commit:") else self.id
        return tail.rstrip("/").rsplit("/", 1)[-1]


def elsewhere(repo: str) -> str:
    """How something of another repository is labelled."""
    kind, _, name = repo.partition(":")
    return f"from another repository: {name[:12] if kind == 'commit' else name.rsplit('/', 1)[-1]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What a reader may see; every query carries it, and nothing in a question can widen it."""

    repos: tuple[str, ...]
    """The repository at hand, under each name it had."""
    everywhere: bool = False
    """Also what this person learned in other repositories, labelled."""

    def is_elsewhere(self, repo: str) -> bool:
        """Whether something belongs to a repository other than the one at hand."""
        return bool(repo) and any(self.repos) and repo not in self.repos

    @classmethod
    def of(cls, repository: Repository, *, everywhere: bool = False) -> "Sight":
        """What may be seen from a working tree; on a hub, from no repository in particular, all that is the team's."""
        return cls(repos=(repository.id, *repository.known_as), everywhere=everywhere or not repository.id)
