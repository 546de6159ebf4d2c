"""Memories and code: links, staleness, related files, the code index."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hivemind import system
from hivemind.background import find_deadline
from hivemind.code import lazy_modules
from hivemind.code.code_names import looks_like_code
from hivemind.code.shared_sessions import find_shared_sessions
from hivemind.code.staleness import (
    ASKED_SECONDS,
    anchor_memory,
    count_links,
    find_stale_memories,
    find_unlinked_memories,
    follow_moved,
)
from hivemind.context import Context, Progress, quietly
from hivemind.errors import HivemindError, InvalidInput, NotFound
from hivemind.model.claim import Claim
from hivemind.model.code import Anchor, AnchoredCode, CommitReport, RelatedFile, Symbol
from hivemind.model.memory import Memory
from hivemind.model.recall import RelatedContext
from hivemind.model.review import StaleMemory
from hivemind.store.integrity import Finding
from hivemind.store.projections import memories
from hivemind.text.clean import plural, validate_label

MOST_NEIGHBOURS = 5
"""Files that an agent is given with the files it asked about; each costs it tokens."""

FindRelated = Callable[[str, int, Progress], RelatedContext]
"""Finds what is related to some code or a task; recall does, which stands above this package."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """The size of a working tree's index."""

    files: int
    symbols: int
    changed: int
    """Files that changed since the last indexing."""
    linked: int
    """Memories that could be linked to code only now."""
    left_out: int
    """Files beyond the number that is indexed."""


def describe_links(linked: int, unlinked: int, *, may_lack_names: bool) -> str:
    """Say how many memories are linked to code, how many are not, and what to do about it."""
    text = f"{plural(linked, 'memory')} linked to code"
    if not unlinked:
        return text
    remedies = ["'hivemind code index'"] * may_lack_names + ["'hivemind code link ID CODE'"]
    return f"{text}, {unlinked} without a link that seem to name code: {' or '.join(remedies)}"


class Code:
    """Links memories to code, and finds what is stale or related."""

    def __init__(self, context: Context, find_related: FindRelated) -> None:
        self._context = context
        self._find_related = find_related
        self._checkout = context.checkout

    def link(self, memory: str, links: Sequence[str], *, instead: bool = False) -> Memory:
        """Link a memory to code, in addition to its links or instead of them."""
        context, checkout = self._context, self._checkout
        target = context.find_memory_to_change(memory)
        # Its links decide whether it is stale, and a stale memory counts less.
        if context.author.channel.trust < target.trust:
            context.require_person(f"linking {target.id[:8]}, which is of higher trust,")
        # Its code is elsewhere, so its fingerprint cannot be taken here.
        if not checkout.owns(target):
            raise InvalidInput(f"{target.id[:8]} does not belong to this repository; link it where it does")
        commit = checkout.read_head()
        new = [anchor for link in links for anchor in self._resolve_link(validate_label(link, "a link"), commit)]
        anchors = lazy_modules.links.deduplicate_anchors([*(() if instead else target.anchors), *new])
        return anchor_memory(context, target, anchors)

    def _resolve_link(self, link: str, commit: str) -> list[Anchor]:
        link = self._checkout.complete_link(link)
        anchors = lazy_modules.links.resolve_link(self._checkout.index, link, commit)
        if not anchors:
            raise InvalidInput(lazy_modules.links.explain_mismatch(self._checkout.index, link))
        return anchors

    def stale(self, *, since: str = "", wait: bool = False) -> tuple[StaleMemory, ...]:
        """Find memories whose code changed, and how; with ``since``, only by changes after that commit.

        With ``wait`` all code is read first; else ``is_behind`` says whether some is left to the background.
        """
        if not wait:
            return find_stale_memories(self._context, since, deadline=find_deadline(ASKED_SECONDS))
        asked_at = time.time()
        self._checkout.index.refresh()
        return find_stale_memories(self._context, since, asked_at)

    @property
    def is_behind(self) -> bool:
        """Whether the last answer needed more of the code than could be read in time."""
        return self._checkout.is_code_behind

    def behind(self, memory: Memory) -> tuple[AnchoredCode, ...]:
        """Return the code of a memory's anchors then and now; empty for code of other repositories."""
        if not memory.anchors or not self._checkout.owns(memory):
            return ()
        index, texts = self._checkout.index, [memory.text] * len(memory.anchors)
        return tuple(
            AnchoredCode(
                staleness=staleness,
                then=lazy_modules.versions.read_old_code(index, staleness.anchor),
                now=lazy_modules.versions.read_current_code(index.root, staleness.now),
            )
            for staleness in self._checkout.try_to_judge(memory.anchors, texts)
        )

    def find_related(self, target: str, *, limit: int = 10, progress: Progress = quietly) -> RelatedContext:
        """Find memories, files and callers related to a file, folder, module, symbol or task."""
        return self._find_related(target, limit, progress)

    def neighbours(self, files: Sequence[str]) -> tuple[RelatedFile, ...]:
        """Find the files most related to some files: edited together, or with names in common."""
        checkout = self._checkout
        inside = checkout.find_paths(map(checkout.complete_path, files)) if checkout.exists else ()
        if not inside:
            return ()
        checkout.index.refresh_if_older(0.0)
        sessions = find_shared_sessions(self._context.store.db, self._context.repository, inside)
        return tuple(lazy_modules.related_files.find_related(checkout.index, inside, MOST_NEIGHBOURS, sessions))

    def file_at(self, path: str, commit: str = "") -> str:
        """Read a file at a commit, or at the one checked out."""
        return lazy_modules.versions.read_file(self._checkout.root, path, commit)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """The symbols of a file, the file itself first."""
        inside = self._checkout.find_path(self._checkout.complete_path(path))
        symbols = tuple(self._checkout.index.read_symbols(inside)) if inside else ()
        if not symbols:
            raise NotFound(f"there is no file {path!r} in this working tree")
        return symbols

    def index(self, progress: Progress = quietly) -> IndexReport:
        """Index the whole working tree."""
        changed = self._checkout.index.refresh(progress)
        linked_count = self.relink_unlinked()
        follow_moved(self._context)
        if self._checkout.is_under_git:
            self.index_commits()
        return self._report(changed, linked_count)

    def _report(self, changed: int, linked: int) -> IndexReport:
        index = self._checkout.index
        files, symbols = index.count_files_and_symbols()
        left_out = index.count_left_out()
        return IndexReport(files=files, symbols=symbols, changed=changed, linked=linked, left_out=left_out)

    def index_commits(self, *, since: str = "", dry_run: bool = False, progress: Progress = quietly) -> CommitReport:
        """Index the commits that give a reason: new ones, or all since a date."""
        self._checkout.require_git()
        return lazy_modules.commit_index.index_commits(self._context, since=since, dry_run=dry_run, progress=progress)

    def relink_unlinked(self) -> int:
        """Link memories that name code which the index knows by now, and return how many; call it after indexing."""
        self._checkout.take_unlinked()
        return self._relink(find_unlinked_memories(self._context, looks_like_code))

    def retry_links(self) -> None:
        """Link the memories of the last commands that named code which was not there then."""
        db, sight, tries = self._context.store.db, self._context.limit_sight(), self._checkout.take_unlinked()
        self._relink([memory for memory in memories.get_visible(db, tries, sight) if not memory.anchors])
        self._checkout.note_unlinked(memories.get_visible(db, tries, sight), tries)

    def _relink(self, unlinked: Sequence[Memory]) -> int:
        context, checkout = self._context, self._checkout
        # A hub or a teammate's memory has an owner who links it; only one's own are changed here.
        own = [memory for memory in unlinked if memory.owner == context.settings.person]
        claims = [Claim(text=memory.text, scope=memory.scope, links=memory.links) for memory in own]
        anchors = checkout.find_anchors(claims, context.list_edited_files, is_thorough=False)
        pairs = [(memory, matches) for memory, matches in zip(own, anchors, strict=True) if matches]
        for memory, matches in pairs:
            anchor_memory(context, memory, matches)
        return len(pairs)

    def index_politely(self) -> IndexReport:
        """Index the tree and judge all links at the lowest priority, unless another process is indexing it."""
        system.lower_priority()
        if self._checkout.index.is_being_refreshed():
            return self._report(changed=0, linked=0)
        return self.index()

    def health(self) -> Finding:
        """Say how much of the code is indexed and linked to memories."""
        if not self._checkout.is_under_git:
            return Finding(what="code", is_well=True, detail="no git repository here, so nothing is followed")
        try:
            files, symbols = self._checkout.index.count_files_and_symbols()
            linked, unlinked = count_links(self._context)
        except HivemindError as error:
            return Finding(what="code", is_well=False, detail=str(error), remedy="hivemind code index")
        counts = f"{plural(symbols, 'symbol')} in {plural(files, 'file')}"
        if self._checkout.index.is_being_refreshed():
            counts += " so far, being indexed now"
        elif self._checkout.index.has_much_to_read():
            counts += " so far: the tree is not indexed yet, which 'hivemind code index' does"
        if left_out := self._checkout.index.count_left_out():
            counts += f" ({plural(left_out, 'more file')} left out: over the limit)"
        counts += f"; {describe_links(linked, unlinked, may_lack_names=self._checkout.index.may_lack_names)}"
        return Finding(what="code", is_well=True, detail=counts)
