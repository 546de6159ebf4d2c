"""The working tree as one object: its identity, commit, code index, anchors and their staleness."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hivemind.background import measure_cpu_seconds
from hivemind.code import git, lazy_modules
from hivemind.code import repository as repositories_on_disk
from hivemind.code.code_names import looks_like_code, surely_names_code
from hivemind.errors import HivemindError, StoreError, Unavailable
from hivemind.model.claim import Claim, Proposal
from hivemind.model.code import Anchor, Staleness
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Memory
from hivemind.model.scope import Repository, Scope, Visibility, label_other_repository
from hivemind.store.database import Database
from hivemind.store.projections import repositories

if TYPE_CHECKING:
    from hivemind.code.commit_index import CommitIndex
    from hivemind.code.index import CodeIndex

MAX_LABELS = 3
"""Names of linked code that are shown when a memory is stored."""

NO_TREE = "there is no working tree here; run this in a clone of the repository"

EditedFiles = Callable[[Claim], Iterable[str]]
"""The files that were edited in the session of a claim."""


class Checkout:
    """A repository with its working tree, if it has one; the code index is opened when it is first needed."""

    def __init__(self, repository: Repository, home: Path, *, is_hurried: bool = False) -> None:
        self.repository = repository
        self._home = home
        self._is_hurried = is_hurried

    @staticmethod
    def of(repository: Repository, db: Database, home: Path, *, is_hurried: bool = False) -> "Checkout":
        """Make the checkout of a repository with its earlier ids."""
        if repository.root:
            repository = replace(repository, known_as=_find_earlier_names(db, repository))
        return Checkout(repository, home, is_hurried=is_hurried)

    @property
    def exists(self) -> bool:
        """Whether there is a working tree; a hub knows repositories by their ids only."""
        return bool(self.repository.root)

    @property
    def root(self) -> Path:
        """The directory of the working tree."""
        return Path(self.repository.root)

    @property
    def names(self) -> tuple[str, ...]:
        """Every id that this repository has or had, the current one first."""
        return (self.repository.id, *self.repository.known_as)

    @property
    def is_under_git(self) -> bool:
        """Whether git tracks the tree; any other directory may be a whole disk."""
        return self.exists and (self.root / ".git").exists()

    @cached_property
    def index(self) -> "CodeIndex":
        """The code index of the tree, opened on first use; it may be deleted at any time."""
        if not self.exists:
            raise Unavailable(NO_TREE)
        return self.open_index(self.root)

    def open_index(self, root: Path) -> "CodeIndex":
        """Open the code index of a tree, as for another thread; the caller closes it."""
        return lazy_modules.index.CodeIndex.open(root, self._home / "index", is_hurried=self._is_hurried)

    def open_commits(self) -> "CommitIndex":
        """Open the index of commits to write to it; the caller closes it."""
        if not self.exists:
            raise Unavailable(NO_TREE)
        return lazy_modules.commit_index.CommitIndex.open(self.root, self._home / "index")

    def read_commits(self) -> "AbstractContextManager[CommitIndex | None]":
        """Open the index of commits to read it; None if there is none."""
        if not self.is_under_git:
            return nullcontext()
        return lazy_modules.commit_index.open_for_reading(self.root, self._home / "index")

    def close(self) -> None:
        """Close the code index, if it was opened."""
        if "index" in self.__dict__:
            self.index.close()

    @property
    def is_code_behind(self) -> bool:
        """Whether an answer needed more of the code than could be read in time."""
        return "index" in self.__dict__ and self.index.is_behind

    def read_head(self) -> str:
        """The commit that is checked out."""
        return git.read_head(self.root) if self.exists else ""

    def is_elsewhere(self, repo: str) -> bool:
        """Whether a memory or session with this repository id belongs to another repository."""
        return Visibility.of(self.repository).is_elsewhere(repo)

    def label_elsewhere(self, repo: str) -> str:
        """Return the label of what belongs to another repository; empty for what belongs here."""
        return label_other_repository(repo) if self.is_elsewhere(repo) else ""

    def owns(self, memory: Memory) -> bool:
        """Whether a memory is about this tree."""
        return self.exists and memory.repo in self.names

    def is_meant_by(self, claim: Claim) -> bool:
        """Whether a claim names no repository, or this one."""
        return claim.repo in ("", *self.names)

    def find_anchors(self, claims: Sequence[Claim], edited_files: EditedFiles) -> list[tuple[Anchor, ...]]:
        """Find the code that each claim is about; none if the index cannot be opened."""
        about_code = [self._may_be_about_code(claim) for claim in claims]
        anchors: list[tuple[Anchor, ...]] = [()] * len(claims)
        # The usual case: a note in words opens no index and starts no git.
        if not any(about_code):
            return anchors
        commit, asked_at = self.read_head(), time.time()
        with suppress(Unavailable, StoreError):
            for place, claim in enumerate(claims):
                if about_code[place]:
                    near = self._list_paths_in_tree(edited_files(claim))
                    anchors[place] = lazy_modules.links.find_anchors(
                        self.index, claim.links, claim.sources, claim.text, commit, near, asked_at
                    )
        return anchors

    def find_proposal_anchors(
        self, proposals: Sequence[Proposal], root: str, path_of: Callable[[str], str] = str
    ) -> dict[str, tuple[Anchor, ...]]:
        """Find the code in a tree that each proposal is about, by memory id."""
        # Outside git the tree may be a whole home directory, which must not be indexed.
        if not proposals or not (Path(root) / ".git").exists():
            return {}
        anchors: dict[str, tuple[Anchor, ...]] = {}
        with suppress(Unavailable, StoreError), self.open_index(Path(root)) as index:
            anchors.update(lazy_modules.links.anchor_proposals(index, proposals, path_of))
        return anchors

    def try_to_judge(
        self, anchors: Sequence[Anchor], *, commit: str = "", in_passing: bool = False, deadline: float = math.inf
    ) -> Sequence[Staleness]:
        """Judge how anchored code changed; empty if that is not possible, shorter if the time is not enough."""
        try:
            return self.judge(anchors, commit=commit, in_passing=in_passing, deadline=deadline)
        except HivemindError:
            # An answer without this is worth more than none, and each entry still says how old it is.
            return ()

    def judge(
        self, anchors: Sequence[Anchor], *, commit: str = "", in_passing: bool = False, deadline: float = math.inf
    ) -> Sequence[Staleness]:
        """Judge how anchored code changed, as far as there is time until the deadline, in CPU time; may raise."""
        has_time = (lambda seconds: measure_cpu_seconds() + seconds < deadline) if deadline < math.inf else None
        return lazy_modules.code_changes.judge(self.index, anchors, commit, in_passing=in_passing, has_time=has_time)

    def find_current_anchors(self, memory: Memory, edited_files: EditedFiles) -> tuple[Anchor, ...]:
        """Return the anchors of a memory in the current code, without deleted code."""
        if not self.owns(memory):
            return memory.anchors
        staleness = self.try_to_judge(memory.anchors, commit=self.read_head()) if memory.anchors else ()
        # It could not be judged, which is no reason to lose the anchors.
        if memory.anchors and not staleness:
            return memory.anchors
        files = [f"{source.file}:{source.lines}".rstrip(":") for source in memory.sources if source.file]
        claim = Claim(text=memory.text, scope=memory.scope, links=memory.links, sources=files)
        current = tuple(anchor_staleness.now for anchor_staleness in staleness if anchor_staleness.now)
        return current or self.find_anchors([claim], edited_files)[0]

    def explain_broken_links(self, memory: Memory) -> tuple[str, ...]:
        """Explain which links of a memory match no code in this tree, a sentence each."""
        if not memory.links or not self.owns(memory):
            return ()
        try:
            return tuple(
                f"{lazy_modules.links.explain_mismatch(self.index, link)}. The memory is kept; link it to code with"
                f" 'hivemind code link {shorten_id(memory.id)} PATH::SYMBOL'"
                for link in memory.links
                if not lazy_modules.links.resolve_link(self.index, link)
            )
        except (Unavailable, StoreError) as error:
            return (f"not linked to {', '.join(memory.links)}: {error}. The memory is kept",)

    def describe_links(self, memory: Memory) -> str:
        """Say which code a new memory is linked to, or why it is linked to none though it names some; else empty."""
        if memory.anchors:
            labels = [anchor.label for anchor in memory.anchors]
            more = f" and {len(labels) - MAX_LABELS} more" if len(labels) > MAX_LABELS else ""
            return f"Linked to {', '.join(labels[:MAX_LABELS])}{more}."
        # What is wrong with links that somebody wrote is in `explain_broken_links`.
        if memory.links or not self.owns(memory) or not looks_like_code(memory.text):
            return ""
        with suppress(Unavailable, StoreError):
            if ambiguity := lazy_modules.links.describe_ambiguity(self.index, memory.text):
                command = f"hivemind code link {shorten_id(memory.id)} PATH::SYMBOL"
                return f"Not linked to code: {ambiguity}. '{command}' links it to one."
            if not surely_names_code(memory.text):
                return ""
            if self.index.is_behind:
                return "Not linked to code yet: the code is indexed in the background, and then the memory is linked."
            if self.index.is_built:
                return "Not linked to code: nothing here has a name that it mentions."
        return "Not linked to code yet: this tree is not indexed. 'hivemind code index' does that and links it."

    def _may_be_about_code(self, claim: Claim) -> bool:
        """Whether it is worth opening the index for a claim."""
        if claim.scope is Scope.USER or not (self.exists and self.repository.id and self.is_meant_by(claim)):
            return False
        return bool(claim.links or claim.sources) or looks_like_code(claim.text)

    def _list_paths_in_tree(self, files: Iterable[str]) -> list[str]:
        root = self.index.root
        return [path.relative_to(root).as_posix() for path in map(Path, files) if path.is_relative_to(root)]


def _find_earlier_names(db: Database, repository: Repository) -> tuple[str, ...]:
    """Find the ids that this repository had before, but none of a fork or namesake."""
    names = [
        *repositories_on_disk.select_weaker_ids(repository, repositories.find_names_at(db, repository.root)),
        *repositories.find_names_of_tree(db, repository.tree),
        # Sessions of worktrees and clones that are gone, from before it was known whose they were.
        *(f"path:{root}" for root in repositories.find_roots(db, [repository.id])),
    ]
    return tuple(dict.fromkeys(name for name in names if name != repository.id))
