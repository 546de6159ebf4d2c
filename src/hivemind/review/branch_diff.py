"""The memory diff of a branch: what it taught, and which memories it makes stale, moves or contradicts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from hivemind.code.staleness import EVERY, find_anchored_memories, judge_memories
from hivemind.context import Context
from hivemind.lazy import LazyModule
from hivemind.model.ids import Timestamp
from hivemind.model.memory import CURRENT_STATUSES, Memory
from hivemind.model.review import BranchDiff, Contradiction, StaleMemory
from hivemind.model.scope import Scope
from hivemind.store.projections import guards, memories, sessions

if TYPE_CHECKING:
    from hivemind.review import branches
    from hivemind.review.branches import Branch
else:
    # It loads the parsers, and most reviews are not of a branch.
    branches = LazyModule("review.branches")


def compare_branch(context: Context, name: str) -> BranchDiff:
    """Return the memory diff of a branch that a person names; empty for the one that is checked out."""
    checkout = context.checkout
    checkout.require_git()
    branch = branches.find_branch(checkout.root, name)
    stale, moves = _find_affected(context, branch)
    # What the branch makes stale or moves was written about the code before it, perhaps just before.
    old_ids = {item.memory.id for item in (*stale, *moves)}
    new_memories = [memory for memory in _find_taught(context, branch) if memory.id not in old_ids]
    return BranchDiff(
        base_name=branch.base_name,
        tip_name=branch.tip_name,
        base=branch.base,
        tip=branch.tip,
        files=len(branch.files),
        taught=tuple(new_memories),
        stale=tuple(stale),
        moved=tuple(moves),
        contradicted=tuple(_find_contradicted(context, new_memories)),
        guarded=tuple(item.memory.id for item in stale if guards.get(context.store.db, item.memory.id)),
    )


def select_public(diff: BranchDiff) -> BranchDiff:
    """Return a diff with memories of the team alone, and how many others there are."""
    public = replace(
        diff,
        taught=tuple(filter(_is_shared, diff.taught)),
        stale=tuple(item for item in diff.stale if _is_shared(item.memory)),
        moved=tuple(item for item in diff.moved if _is_shared(item.memory)),
        contradicted=tuple(item for item in diff.contradicted if _is_shared(item.memory) and _is_shared(item.by)),
    )
    ids = public.memory_ids
    guarded_ids = tuple(memory_id for memory_id in diff.guarded if memory_id in ids)
    return replace(public, guarded=guarded_ids, hidden=len(diff.memory_ids - ids))


def _is_shared(memory: Memory) -> bool:
    return memory.scope is Scope.TEAM


def _find_taught(context: Context, branch: "Branch") -> Iterator[Memory]:
    """Yield the memories that were stored since the branch began, in sessions that changed its files or about these."""
    checkout, files = context.checkout, {*branch.files}

    @cache
    def changed_files(session_id: str) -> bool:
        paths = sessions.find_edited_files(context.store.db, session_id)
        return any(checkout.find_path(path) in files for path in paths)

    query = context.query(limit=EVERY, statuses=CURRENT_STATUSES)
    for memory in memories.list_memories(context.store.db, query):
        if not checkout.owns(memory) or _find_time(memory) < branch.started_at:
            continue
        # Linked at a commit of the other branch: it was learned there.
        if any(anchor.commit in branch.other_commits for anchor in memory.anchors):
            continue
        if not files.isdisjoint(_list_paths(memory)) or (memory.session_id and changed_files(memory.session_id)):
            yield memory


def _find_time(memory: Memory) -> Timestamp:
    # An import keeps when a memory was first recorded as the time from which it is valid.
    is_imported = memory.batch.startswith("import") and memory.valid_from
    return memory.valid_from if is_imported else memory.recorded_at


def _list_paths(memory: Memory) -> set[str]:
    paths = {anchor.path for anchor in memory.anchors} | {source.file for source in memory.sources if source.file}
    return paths | {link.partition("::")[0] for link in memory.links}


def _find_affected(context: Context, branch: "Branch") -> tuple[list[StaleMemory], list[StaleMemory]]:
    """Find the memories whose code the branch changes so that they must be verified, and those whose code it moves."""
    stale, relocations = [], []
    for memory, judgements in judge_memories(find_anchored_memories(context), branch.judge):
        changes = [change for change in judgements if change]
        if doubts := tuple(change for change in changes if change.must_verify):
            stale.append(StaleMemory(memory=memory, became=doubts))
        elif moves := tuple(change for change in changes if change.is_followed):
            relocations.append(StaleMemory(memory=memory, became=moves))
    return stale, relocations


def _find_contradicted(context: Context, new_memories: Sequence[Memory]) -> Iterator[Contradiction]:
    """Yield the older memories that new ones contradict or replace."""
    new_ids = {memory.id for memory in new_memories}
    for memory in new_memories:
        old_ids = [old_id for old_id in (*memory.contradicts, *memory.supersedes) if old_id not in new_ids]
        visible = memories.get_visible(context.store.db, old_ids, context.limit_sight()) if old_ids else []
        for old in visible:
            yield Contradiction(memory=old, by=memory, is_replaced=old.id in memory.supersedes)
