"""The brief: what an agent gets without asking, such as conventions, memories to verify, and how to search for more.

Its order depends on nothing that changes from session to session, so that agents' prompt caches stay valid.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import zip_longest

from hivemind.model.dataclass import dataclass
from hivemind.model.memory import Kind, Memory, Trust
from hivemind.model.recall import Hit, Query, Signal
from hivemind.model.timestamps import format_timestamp, parse_timestamp
from hivemind.recall.conflicting_hits import join_sides, put_newer_first
from hivemind.recall.ranking import build_labels
from hivemind.recall.rendering import count_tokens, fit, render_entry
from hivemind.store.database import Database
from hivemind.store.projections import memories, receipts, sessions
from hivemind.text.clean import first_line
from hivemind.text.commands import find_command_purposes, find_purposes
from hivemind.text.fence import UNASKED_NOTE, wrap_in_fence

KINDS = (
    Kind.FACT, Kind.CONVENTION, Kind.REQUIREMENT, Kind.DECISION, Kind.PROCEDURE, Kind.PREFERENCE, Kind.FIX,
)  # fmt: skip
"""What the brief contains, in this order."""
ONLY_IF_TRUSTED = (Kind.FACT, Kind.FIX)
"""Kinds that the brief includes only if a person said or approved them: agents note too many of these."""

SHARES: dict[Kind, float] = {
    Kind.PROCEDURE: 0.25,
    Kind.CONVENTION: 0.25,
    Kind.PREFERENCE: 0.15,
    Kind.DECISION: 0.15,
    Kind.REQUIREMENT: 0.1,
    Kind.FACT: 0.05,
    Kind.FIX: 0.05,
}
"""The part of the budget that each kind is sure of, the most useful first; what a kind leaves is free for the rest."""
RECENT_SESSIONS, RECENT_USE = 5, timedelta(days=60)
"""What counts as recent work, and for how long a use of a memory counts."""

MOST_MEMORIES = 500
LONGEST_ENTRY = 400
"""Characters; an agent can recall the rest of a longer memory."""
FRAME_TOKENS = 90
"""Tokens of the fence, the note and the last line."""

MORE = "the `recall` tool or `hivemind recall QUESTION`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a brief contains besides its entries."""

    mark: str
    """Of the fence; the author of a memory cannot know it, so a memory cannot close the fence."""
    receipt: str
    more: int = 0
    """How many memories did not fit."""


def find_standing(db: Database, query: Query) -> tuple[Hit, ...]:
    """Return the memories that hold in this repository, the most trusted first, one kind after the other in turn."""
    kinds_query = replace(query, kinds=KINDS, limit=MOST_MEMORIES)
    current = [
        memory
        for memory in memories.find_most_trusted(db, kinds_query)
        # What is not true now is left to recall.
        if memory.is_valid(query.now) and (memory.trust is Trust.HIGH or memory.kind not in ONLY_IF_TRUSTED)
    ]
    by_use = sorted(current, key=_make_use_key(db, query, current), reverse=True)
    hits = (make_hit(memory, query, "holds here") for memory in _take_turns(_put_commands_first(by_use)))
    return tuple(join_sides(db, hits, query))


def fit_shares(hits: Sequence[Hit], max_tokens: int) -> tuple[Hit, ...]:
    """Return the hits that fit: first what each kind is sure of, then as many others as the rest of the budget takes.

    Commands to test, lint and build come before everything else, whatever their kind.
    """
    in_order = {hit.memory.id: hit for hit in _list_first_commands(hits)}
    for kind, share in SHARES.items():
        of_kind = [hit for hit in hits if hit.memory.kind is kind]
        in_order |= {hit.memory.id: hit for hit in fit(of_kind, len(of_kind) + 1, int(share * max_tokens))}
    # A key that is set again keeps its place, so what was put first stays first.
    in_order |= {hit.memory.id: hit for hit in hits}
    return fit(in_order.values(), len(hits) + 1, max_tokens)


def _list_first_commands(hits: Iterable[Hit]) -> list[Hit]:
    """List the first hit for each purpose that nearly every task needs a command for."""
    by_purpose: dict[str, Hit] = {}
    for hit in hits:
        for purpose in find_command_purposes(hit.passage):
            by_purpose.setdefault(purpose, hit)
    return list({hit.memory.id: hit for hit in by_purpose.values()}.values())


def _make_use_key(
    db: Database, query: Query, candidates: Sequence[Memory]
) -> Callable[[Memory], tuple[Trust, bool, int, str]]:
    """Make a sort key: trust, then fit to the repository's recent work, then use, then age."""
    since = format_timestamp(parse_timestamp(query.now) - RECENT_USE)
    uses = receipts.count_uses(db, [memory.id for memory in candidates], since)
    recent_sessions = sessions.list_sessions(db, query.sight, limit=RECENT_SESSIONS)
    recent_files = {file for _, file, _ in sessions.find_touched_files(db, [session.id for session in recent_sessions])}

    def rate(memory: Memory) -> tuple[Trust, bool, int, str]:
        paths = {anchor.path for anchor in memory.anchors}
        is_recent = any(file == path or file.endswith(f"/{path}") for path in paths for file in recent_files)
        # Doublings and not counts: the order must not change with every single recall.
        return memory.trust, is_recent, uses.get(memory.id, 0).bit_length(), memory.recorded_at

    return rate


def _put_commands_first(candidates: Sequence[Memory]) -> list[Memory]:
    """Put the memories that quote a command to test, lint or build before others of the same trust."""
    # Sorting is stable: the order within both parts stays.
    return sorted(candidates, key=lambda memory: (-memory.trust, not find_command_purposes(memory.text)))


def _take_turns(memories: Sequence[Memory]) -> Iterator[Memory]:
    """Yield memories by trust, then one of each kind in turn."""
    for trust in sorted(Trust, reverse=True):
        kinds = [[memory for memory in memories if (memory.trust, memory.kind) == (trust, kind)] for kind in SHARES]
        yield from (memory for turn in zip_longest(*kinds) for memory in turn if memory)


def find_linked(db: Database, query: Query, files: Sequence[str]) -> tuple[Hit, ...]:
    """Return the memories linked to these files or symbols."""
    linked_memories = memories.find_linked(db, query, files)
    return tuple(make_hit(memory, query, "is linked to the code in question") for memory in linked_memories)


def find_commands(db: Database, query: Query) -> list[Hit]:
    """Find the most trusted command for each purpose that a prompt names, such as to run the tests."""
    purposes = find_purposes(query.text)
    if not purposes:
        return []
    kinds_query = replace(query, text="", kinds=(Kind.PROCEDURE, Kind.CONVENTION), limit=MOST_MEMORIES)
    standing = memories.find_most_trusted(db, kinds_query)
    candidates = _take_turns([memory for memory in standing if memory.is_valid(query.now)])
    hits = [make_hit(memory, query, "is a command that the prompt needs") for memory in candidates]
    return [
        hit for hit in _list_first_commands(hits) if not set(purposes).isdisjoint(find_command_purposes(hit.passage))
    ]


def mark_unasked(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return the hits with a first reason that says to people that nobody asked for them."""
    signal = Signal(name="unasked", score=1.0, why="unasked")
    return tuple(replace(hit, signals=(signal, *hit.signals)) for hit in hits)


def render_brief(hits: Sequence[Hit], frame: Frame, *, asked_ids: Sequence[str] = ()) -> str:
    """Render the brief: memories in ``asked_ids`` first, best first, then by kind and age, then those in doubt."""
    if not hits:
        return ""
    requested = [hit for hit in hits if hit.memory.id in asked_ids]
    standing = sorted((hit for hit in hits if hit.memory.id not in asked_ids), key=_make_order_key)
    # No headings and no kinds: they cost tokens, and a model solves as much without them.
    entries = [render_entry(hit, with_kind=False) for hit in put_newer_first([*requested, *standing])]
    more = f"{frame.more} more that did not fit" if frame.more else "More"
    return wrap_in_fence(UNASKED_NOTE, "\n".join([*entries, f"{more}: {MORE} Receipt {frame.receipt}"]), frame.mark)


def _make_order_key(hit: Hit) -> tuple[bool, int, str, str]:
    """Make a key for an order that is the same in each session, unlike that of scores: prompt caches stay valid."""
    memory = hit.memory
    place = KINDS.index(memory.kind) if memory.kind in KINDS else -1
    return bool(hit.labels), place, memory.recorded_at, memory.id


def count_entry_tokens(hits: Iterable[Hit]) -> int:
    """Count the tokens of the entries."""
    return sum(count_tokens(render_entry(hit, with_kind=False)) for hit in hits)


def make_hit(memory: Memory, query: Query, why: str) -> Hit:
    """Make a hit of a memory for the brief, shortened and with its warnings."""
    passage = memory.text if len(memory.text) <= LONGEST_ENTRY else first_line(memory.text, LONGEST_ENTRY)
    signal = Signal(name="standing", score=1.0, why=why)
    labels = build_labels(memory, query)
    return Hit(memory=memory, passage=passage, score=float(memory.trust), signals=(signal,), labels=labels)
