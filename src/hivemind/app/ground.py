"""The working tree at hand, looked at only when something is about code."""

from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hivemind.app.core import Core, head_commit
from hivemind.codebase import git
from hivemind.codebase.written import like_code
from hivemind.errors import HivemindError, StoreError, Unavailable
from hivemind.model.claim import Claim
from hivemind.model.code import Anchor, Staleness
from hivemind.model.memory import Memory
from hivemind.model.proposal import Proposal
from hivemind.model.scope import Repository
from hivemind.store.projections import sessions

if TYPE_CHECKING:
    # Parsers take longer to load than most commands to run.
    from hivemind.codebase.index import Index


def index_at(root: str, home: Path) -> "Index":
    """What is known about the working tree at a place."""
    from hivemind.codebase.index import Index

    return Index.open(Path(root), home / "index")


def is_under_git(repository: Repository) -> bool:
    """Whether there is a working tree; any other directory may be somebody's whole disk."""
    return (Path(repository.root) / ".git").exists()


class Grounded(Core):
    """Verbs that may touch on code."""

    @cached_property
    def _index(self) -> "Index":
        """What is known about the tree, opened when it is first asked for; it may be deleted at any time."""
        return index_at(self.repository.root, self._settings.home)

    def close(self) -> None:
        """Give the files back."""
        if "_index" in self.__dict__:
            self._index.close()
        self._store.close()

    def unresolved_links(self, memory: Memory) -> tuple[str, ...]:
        """Which links of a memory lead to nothing in this working tree, or to too much to mean anything."""
        if not memory.links or not self._is_of_here(memory):
            return ()
        from hivemind.curate import anchor

        try:
            return tuple(link for link in memory.links if not anchor.linked(self._index, link))
        except (Unavailable, StoreError):
            return memory.links

    def _became(self, anchors: Sequence[Anchor], *, commit: str = "", in_passing: bool = False) -> Sequence[Staleness]:
        """What became of code since memories took hold of it; nothing where that cannot be told."""
        from hivemind.codebase.staleness import judge

        if not self.repository.root:
            return ()
        try:
            return judge(self._index, anchors, commit, in_passing=in_passing)
        except HivemindError:
            # An answer without this is worth more than none, and each entry still says how old it is.
            return ()

    def _today(self, memory: Memory) -> tuple[Anchor, ...]:
        """The code a memory is about, as it is now and where it is now; what is gone is let go."""
        is_tied = memory.anchors and self._is_of_here(memory)
        became = self._became(memory.anchors, commit=head_commit(self.repository)) if is_tied else ()
        if memory.anchors and not became:
            return memory.anchors
        files = [f"{one.file}:{one.lines}".rstrip(":") for one in memory.sources if one.file]
        claim = Claim(text=memory.text, scope=memory.scope, links=memory.links, sources=files)
        now = tuple(one.now for one in became if one.now)
        return now or (self._anchors([claim])[0] if self._is_of_here(memory) else ())

    def _is_of_here(self, memory: Memory) -> bool:
        """Whether it is about the tree at hand; a hub has none."""
        return bool(self.repository.root) and memory.repo in (self.repository.id, *self.repository.known_as)

    def _anchors(self, claims: Sequence[Claim]) -> list[tuple[Anchor, ...]]:
        """The code that each claim is about; none is better than no memory."""
        about_code = [self._may_be_about_code(claim) for claim in claims]
        if not any(about_code):
            return [()] * len(claims)
        from hivemind.curate import anchor

        commit = head_commit(self.repository)
        found: list[tuple[Anchor, ...]] = [()] * len(claims)
        with suppress(Unavailable, StoreError):
            for place, claim in enumerate(claims):
                if about_code[place]:
                    near = self._edited_in(claim.session_id or self._writer.session_id)
                    found[place] = anchor.anchors(self._index, claim.links, claim.sources, claim.text, commit, near)
        return found

    def _edited_in(self, session: str) -> list[str]:
        """The files of this tree that a session has edited so far, by which it is told what its words mean."""
        root = self._index.root
        edited = map(Path, sessions.edited(self._store.db, session) if session else ())
        return [file.relative_to(root).as_posix() for file in edited if file.is_relative_to(root)]

    def _about(
        self, proposals: Sequence[Proposal], root: str, named: Callable[[str], str] = str
    ) -> dict[str, tuple[Anchor, ...]]:
        """The code that each proposal is about: what was edited, else what it names; by the id of its memory."""
        if not proposals or not (Path(root) / ".git").exists():
            return {}
        from hivemind.curate import anchor

        commit = git.head(Path(root))
        found: dict[str, tuple[Anchor, ...]] = {}
        with suppress(Unavailable, StoreError), closing(index_at(root, self._settings.home)) as index:
            done = anchor.edits(index.root, proposals, named)
            for one in proposals:
                found[one.memory_id] = anchor.edited(index, done[one.memory_id], commit) or (
                    anchor.anchors(index, one.links, (), one.text, commit) if one.links or like_code(one.text) else ()
                )
        return found

    def _may_be_about_code(self, claim: Claim) -> bool:
        """Whether it is worth looking."""
        if not self.repository.root or not self._place(claim.scope):
            return False
        return bool(claim.links or claim.sources) or (is_under_git(self.repository) and like_code(claim.text))
