"""OUT: from a question to what is known, read top to bottom: find, decide, rank, doubt, fit, render."""

from typing import TYPE_CHECKING

from hivemind.model.recall import Query, Recall
from hivemind.recall import nearby
from hivemind.recall.bar import clears
from hivemind.recall.budget import fit
from hivemind.recall.doubt import Judge, doubted, in_order
from hivemind.recall.nearby import Nearby
from hivemind.recall.rank import hits, newer_first, rank
from hivemind.recall.render import render
from hivemind.recall.search import candidates
from hivemind.store.database import Database

if TYPE_CHECKING:
    from hivemind.recall.meaning import Meaning

__all__ = ["Nearby", "about", "answer", "fit"]


def answer(db: Database, query: Query, meaning: "Meaning | None" = None, judge: Judge = lambda anchors: ()) -> Recall:
    """The memories nearest to the query, as many as fit, those that answer it first; without a model, by words."""
    found = candidates(db, query, meaning)
    is_answered = clears(found, query, db.index.size if meaning else 0)
    judged = doubted(hits(db, query, rank(found, query, is_answered=is_answered)), query, judge)
    # What is chosen is chosen by the question alone: doubt moves a memory down, it never leaves one out.
    shown = newer_first(in_order(fit(judged, query.limit, query.max_tokens)))
    return Recall(query=query, hits=shown, text=render(shown))


def about(db: Database, query: Query, near: Nearby, judge: Judge) -> Recall:
    """What is known about code and about what lies near it, as much as fits."""
    judged = doubted(nearby.hits(db, query, near), query, judge)
    shown = in_order(fit(judged, query.limit, query.max_tokens))
    return Recall(query=query, hits=shown, text=render(shown))
