"""Memories about given code and about the files near it."""

from collections.abc import Iterator
from dataclasses import replace

from hivemind.model.code import RelatedFile, SharedSession, Symbol
from hivemind.model.dataclass import dataclass
from hivemind.model.memory import Memory
from hivemind.model.recall import Hit, Query, Recall, Signal
from hivemind.recall.ranking import build_labels
from hivemind.recall.rendering import count_tokens, render, render_nearby
from hivemind.store.database import Database
from hivemind.store.projections import memories

SYMBOL_SCORE, FILE_SCORE, NEAR_SCORE = 1.0, 0.8, 0.5
"""Of a memory about the symbol itself, about its file, and about the file closest to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearby:
    """Code that somebody asks about, and the files related to it."""

    symbols: tuple[Symbol, ...]
    inside: tuple[str, ...]
    """The files and folders in question, or that contain the code in question."""
    files: tuple[RelatedFile, ...] = ()
    sessions: tuple[SharedSession, ...] = ()
    """Sessions that touched its files together with others."""


def count_nearby_tokens(near: Nearby) -> int:
    """Count the tokens that the files and sessions cost in an answer."""
    return count_tokens("\n".join(render_nearby(near.files, near.sessions)))


def drop_if_too_long(near: Nearby, max_tokens: int) -> Nearby:
    """Drop files and sessions that would leave less than half of the tokens for memories."""
    return near if count_nearby_tokens(near) <= max_tokens // 2 else replace(near, files=(), sessions=())


def attach(near: Nearby, recall: Recall) -> Recall:
    """Add files and sessions to an answer and render it."""
    text = render(recall.hits, near.files, near.sessions)
    return replace(recall, text=text, files=near.files, sessions=near.sessions)


def load_hits(db: Database, query: Query, near: Nearby) -> Iterator[Hit]:
    """Yield memories about the code, then about its files, then about files near it; the newest first among equals."""
    paths = (*near.inside, *(file.path for file in near.files))
    hits = [_make_hit(memory, query, near) for memory in memories.find_anchored(db, query, paths)]
    yield from sorted(hits, key=lambda hit: -hit.score)


def _make_hit(memory: Memory, query: Query, near: Nearby) -> Hit:
    signal = _score(memory, near)
    is_valid = query.is_valid(memory)
    return Hit(
        memory=memory, passage=memory.text, score=signal.score, signals=(signal,), labels=build_labels(memory, query),
        is_sure=is_valid, is_valid=is_valid,
    )  # fmt: skip


def _score(memory: Memory, near: Nearby) -> Signal:
    anchor_labels = {anchor.label for anchor in memory.anchors}
    for symbol in near.symbols:
        if symbol.label in anchor_labels:
            return Signal(name="place", score=SYMBOL_SCORE, why=f"is about {symbol.label}")
    paths = [anchor.path for anchor in memory.anchors]
    for path in paths:
        if path in near.inside:
            return Signal(name="place", score=FILE_SCORE, why=f"is about {path}")
    # Weights are comparable within one answer only, so the score is relative to the largest of them.
    largest_weight = max(file.weight for file in near.files)
    closest = max((file for file in near.files if file.path in paths), key=lambda file: file.weight)
    why = f"is about {closest.path} ({', '.join(closest.why)})"
    return Signal(name="place", score=round(NEAR_SCORE * closest.weight / largest_weight, 4), why=why)
