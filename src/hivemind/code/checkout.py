"""The working tree as one object: its identity, commit, code index, anchors and their staleness."""

import math
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from hivemind.code import git, lazy_modules, tree_notes
from hivemind.code.code_names import find_paths, looks_like_code, surely_names_code
from hivemind.code.repository import rank_id
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

_PLACE_IN_FILE = re.compile(r"::|:(?=\d)")
"""What separates a path from a symbol or lines in it."""

MOST_THOROUGH_CLAIMS = 5
"""For more claims at once, names are not searched for in files that git ignores, which takes long."""

MAX_LABELS = 3
"""Names of linked code that are shown when a memory is stored."""

NO_TREE = "there is no working tree here; run this in a clone of the repository"

EditedFiles = Callable[[Claim], Iterable[str]]
"""The files that were edited in the session of a claim."""


class Checkout:
    """A repository with its working tree, if it has one; the code index is opened when it is first needed."""

    def __init__(self, repository: Repository, home: Path, *, folder: str = "", is_hurried: bool = False) -> None:
        self.repository = repository
        self._home = home
        self._folder = folder
        """Where in the tree the commands run; empty at its root, and outside of it."""
        self._is_hurried = is_hurried

    @staticmethod
    def of(
        repository: Repository, db: Database, home: Path, *, directory: Path | None = None, is_hurried: bool = False
    ) -> "Checkout":
        """Make the checkout of a repository with its earlier ids, as seen from a directory."""
        if repository.root:
            repository = replace(repository, known_as=_find_earlier_names(db, repository))
        place, root = os.path.realpath(directory or "."), os.path.realpath(repository.root or ".")
        folder = place[len(root) + 1 :].replace(os.sep, "/") if directory and place.startswith(root + os.sep) else ""
        return Checkout(repository, home, folder=folder, is_hurried=is_hurried)

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

    def require_git(self) -> None:
        """Refuse to go on where git does not track the tree."""
        if not self.is_under_git:
            raise Unavailable("there is no git repository here; run this in a clone of the repository")

    def find_path(self, file: str) -> str:
        """Return the path of a file from the top of the tree; empty if it lies outside."""
        root = self.root.resolve()
        path = (root / file).resolve()
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else ""

    def find_paths(self, files: Iterable[str]) -> tuple[str, ...]:
        """Return the paths of those files that lie inside of the tree."""
        return tuple(filter(None, map(self.find_path, files)))

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

    @property
    def has_unlinked(self) -> bool:
        """Whether memories wait for code that was not here."""
        return self.exists and tree_notes.has_waiting(self._home / "index", self.root)

    def take_unlinked(self) -> dict[str, int]:
        """The ids of the memories that wait for their code, and how often they were tried; nobody else tries them."""
        waiting = tree_notes.read_waiting(self._home / "index", self.root)
        tree_notes.write_waiting(self._home / "index", self.root, {})
        return waiting

    def close(self) -> None:
        """Close the code index, if it was opened."""
        if "index" in self.__dict__:
            self.index.close()

    @property
    def is_code_behind(self) -> bool:
        """Whether an answer needed more of the code than could be read in time."""
        return "index" in self.__dict__ and self.index.is_behind

    @property
    def has_code_work(self) -> bool:
        """Whether the background has code to read, or memories to link to where their code is now."""
        return self.is_code_behind or ("index" in self.__dict__ and self.index.has_moved_code)

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

    def complete_path(self, text: str) -> str:
        """A path from the root of the tree for one from the current folder, if there is such a file or folder."""
        path = _PLACE_IN_FILE.split(text, maxsplit=1)[0]
        place = os.path.normpath(self.root / self._folder / path)
        is_written_elsewhere = bool(self._folder) or os.path.isabs(path)
        if not is_written_elsewhere or not place.startswith(f"{self.root}{os.sep}") or not os.path.exists(place):
            return text
        return os.path.relpath(place, self.root).replace(os.sep, "/") + text[len(path) :]

    def complete_link(self, link: str) -> str:
        """A link from the root of the tree for one that was written in the current folder, which comes first."""
        path = self.complete_path(link)
        is_at_root = (self.root / _PLACE_IN_FILE.split(link, maxsplit=1)[0]).exists()
        with suppress(Unavailable, StoreError):
            if path != link and is_at_root:
                # Both files are there; that of the folder is meant unless only the other one has the symbol.
                return next(filter(partial(lazy_modules.links.find_path, self.index), (path, link)), path)
            if path == link and self._folder and not is_at_root:
                return lazy_modules.links.complete_link(self.index, link, self._folder)
        return path

    def complete(self, claim: Claim) -> Claim:
        """A claim with its links and files from the root of the tree."""
        if not (claim.links or claim.sources) or not self._may_be_about_code(claim):
            return claim
        links = [self.complete_link(link) for link in claim.links]
        return replace(claim, links=links, sources=[self.complete_path(source) for source in claim.sources])

    def find_anchors(
        self, claims: Sequence[Claim], edited_files: EditedFiles, *, is_thorough: bool = True
    ) -> list[tuple[Anchor, ...]]:
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
                    near = self.find_paths(edited_files(claim))
                    anchors[place] = lazy_modules.links.find_anchors(
                        self.index, claim.links, claim.sources, claim.text, commit, near, asked_at,
                        everywhere=is_thorough and len(claims) <= MOST_THOROUGH_CLAIMS,
                    )  # fmt: skip
                    self.keep_code(anchors[place])
        return anchors

    def keep_code(self, anchors: Sequence[Anchor]) -> None:
        """Keep the code of new anchors, so that later changes can be shown."""
        with suppress(Unavailable, StoreError):
            lazy_modules.versions.keep_code(self.index, anchors)

    def note_unlinked(self, memories: Iterable[Memory], tries: Mapping[str, int] = MappingProxyType({})) -> None:
        """Note which of these memories name code that is not here, so that the next commands look for it again."""
        ids = [
            memory.id
            for memory in memories
            if not memory.anchors and self.owns(memory) and (memory.links or surely_names_code(memory.text))
        ]
        if ids:
            waiting = tree_notes.read_waiting(self._home / "index", self.root)
            waiting.update((memory_id, tries.get(memory_id, -1) + 1) for memory_id in ids)
            tree_notes.write_waiting(self._home / "index", self.root, waiting)

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
            lazy_modules.versions.keep_code(index, [anchor for group in anchors.values() for anchor in group])
        return anchors

    def try_to_judge(
        self, anchors: Sequence[Anchor], texts: Sequence[str] = (), *, commit: str = "", deadline: float = math.inf
    ) -> Sequence[Staleness]:
        """Judge how anchored code changed; empty if that is not possible, shorter if the time is not enough."""
        try:
            return self.judge(anchors, texts, commit=commit, deadline=deadline)
        except HivemindError:
            # An answer without this is worth more than none, and each entry still says how old it is.
            return ()

    def judge(
        self,
        anchors: Sequence[Anchor],
        texts: Sequence[str] = (),
        *,
        commit: str = "",
        asked_at: float | None = None,
        deadline: float = math.inf,
    ) -> Sequence[Staleness]:
        """Judge how anchored code changed, as far as there is time until the deadline, in CPU time; may raise.

        With what the memories say, those that a change does not concern are not asked to be verified.
        """
        return lazy_modules.code_changes.judge(self.index, anchors, texts, commit, asked_at=asked_at, deadline=deadline)

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
        self.keep_code(current)
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
            labels = memory.about
            more = f" and {len(labels) - MAX_LABELS} more" if len(labels) > MAX_LABELS else ""
            return f"Linked to {', '.join(labels[:MAX_LABELS])}{more}.{self._describe_namesake(memory)}"
        # What is wrong with links that somebody wrote is in `explain_broken_links`.
        if memory.links or not self.owns(memory):
            return ""
        files = [source.file for source in memory.sources if find_paths(source.file)]
        if missing_file := next((file for file in files if not (self.root / file).exists()), ""):
            return f"Not linked to {missing_file}: there is no such file here."
        if not looks_like_code(memory.text):
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
                return "Not linked to code yet: nothing here has a name that it mentions. The next commands look again."
        return "Not linked to code yet: this tree is not indexed. 'hivemind code index' does that and links it."

    def _describe_namesake(self, memory: Memory) -> str:
        """Say that a path that was taken from the current folder is also a path from the root."""
        prefix = f"{self._folder}/"
        links = [link.removeprefix(prefix) for link in memory.links if link.startswith(prefix)]
        paths = [_PLACE_IN_FILE.split(link, maxsplit=1)[0] for link in links] if self._folder else []
        namesake = next((path for path in paths if (self.root / path).exists()), "")
        return f" {namesake} at the root is another file; for that, write {self.root / namesake}." if namesake else ""

    def _may_be_about_code(self, claim: Claim) -> bool:
        """Whether it is worth opening the index for a claim."""
        if claim.scope is Scope.USER or not (self.exists and self.repository.id and self.is_meant_by(claim)):
            return False
        return bool(claim.links or claim.sources) or looks_like_code(claim.text)


def _find_earlier_names(db: Database, repository: Repository) -> tuple[str, ...]:
    """Find the ids that this repository had before, but none of a fork or namesake."""
    strength = rank_id(repository.id)
    names = [
        # An id of the same strength may belong to another repository that was at this path before.
        *(name for name in repositories.find_names_at(db, repository.root) if rank_id(name) < strength),
        *repositories.find_names_of_tree(db, repository.tree),
        # Sessions of worktrees and clones that are gone, from before it was known whose they were.
        *(f"path:{root}" for root in repositories.find_roots(db, [repository.id])),
    ]
    return tuple(dict.fromkeys(name for name in names if name != repository.id))
