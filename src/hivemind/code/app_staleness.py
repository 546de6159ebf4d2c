"""Memories whose code has changed."""

import math
from collections.abc import Callable
from itertools import islice

from hivemind.code import git
from hivemind.code.code_names import surely_names_code
from hivemind.context import Context
from hivemind.model.memory import CURRENT_STATUSES, Memory
from hivemind.model.reports import StaleMemory
from hivemind.store.projections import memories

MAX_UNLINKED = 2_000
"""Memories without links that are looked at; the newest come first."""
EVERY = 100_000
"""More memories than are tied to one repository."""


def stale_memories(context: Context, since: str = "", deadline: float = math.inf) -> tuple[StaleMemory, ...]:
    """Find memories whose code changed, and how; with ``since``, only by changes after that commit.

    Those that cannot be judged before the deadline, in CPU time, are left out.
    """
    checkout = context.checkout
    commit = git.resolve_commit(checkout.index.root, since) if since else ""
    candidates = anchored_memories(context)
    if not candidates:
        return ()
    anchors = [anchor for memory in candidates for anchor in memory.anchors]
    judgements = iter(checkout.judge(anchors, deadline=deadline))
    doubts = []
    for memory in candidates:
        stale = [staleness for staleness in islice(judgements, len(memory.anchors)) if staleness.must_verify]
        if commit:
            # It loads the parsers.
            from hivemind.code.staleness import changed_since

            stale = [staleness for staleness in stale if changed_since(checkout.index, staleness, commit)]
        if stale:
            doubts.append(StaleMemory(memory=memory, became=tuple(stale)))
    return tuple(doubts)


def anchored_memories(context: Context) -> list[Memory]:
    """Find the memories linked to code of this tree."""
    query = context.query(limit=EVERY, statuses=CURRENT_STATUSES)
    return [memory for memory in memories.find_anchored(context.store.db, query) if context.checkout.owns(memory)]


def unlinked_memories(context: Context, names_code: Callable[[str], bool] = surely_names_code) -> list[Memory]:
    """Find the newest memories about this tree that name code and are not linked to any."""
    query = context.query(limit=MAX_UNLINKED, statuses=CURRENT_STATUSES)
    return [
        memory
        for memory in memories.find_unanchored(context.store.db, query)
        if context.checkout.owns(memory) and (memory.links or names_code(memory.text))
    ]
