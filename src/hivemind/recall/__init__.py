"""OUT: from a question to what is known, read top to bottom: find, decide, rank, doubt, fit, render."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hivemind.model.recall import Hit, Query, Recall
from hivemind.recall import nearby
from hivemind.recall.bar import clears
from hivemind.recall.budget import fit
from hivemind.recall.conflict import mark_conflicts, newer_first
from hivemind.recall.doubt import Judge, doubted, in_order
from hivemind.recall.nearby import Nearby
from hivemind.recall.rank import hits, rank
from hivemind.recall.render import render
from hivemind.recall.search import candidates
from hivemind.store.database import Database

if TYPE_CHECKING:
    from hivemind.recall.meaning import Meaning

__all__ = ["Nearby", "about", "answer", "fit"]


def answer(db: Database, query: Query, meaning: "Meaning | None" = None, judge: Judge = lambda anchors: ()) -> Recall:
    """The memories that best answer the query, as many as fit; without a model, by words alone."""
    found = candidates(db, query, meaning)
    if not clears(found, query, db.index.size if meaning else 0):
        return Recall(query=query, hits=(), text="")
    judged = doubted(hits(db, query, rank(found, query)), query, judge)
    # What is chosen is chosen by the question alone: doubt moves a memory down, it never leaves one out.
    shown = newer_first(_marked(in_order(fit(judged, query.limit, query.max_tokens)), query))
    return Recall(query=query, hits=shown, text=render(shown))


def about(db: Database, query: Query, near: Nearby, judge: Judge) -> Recall:
    """What is known about code and about what lies near it, as much as fits."""
    judged = doubted(nearby.hits(db, query, near), query, judge)
    shown = newer_first(_marked(in_order(fit(judged, query.limit, query.max_tokens)), query))
    return Recall(query=query, hits=shown, text=render(shown))


def _marked(shown: Sequence[Hit], query: Query) -> tuple[Hit, ...]:
    """With what may conflict among them; labels take room, so what no longer fits is left out."""
    marked = mark_conflicts(shown)
    return fit(marked, query.limit, query.max_tokens) if any(hit.may_conflict for hit in marked) else marked
