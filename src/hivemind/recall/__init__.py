"""OUT: from a question to what is known, read top to bottom: find, decide, rank, doubt, fit, render."""

from collections.abc import Sequence
from dataclasses import replace
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

__all__ = ["Nearby", "about", "answer", "fit", "with_code", "with_files"]


def answer(db: Database, query: Query, meaning: "Meaning | None" = None, judge: Judge = lambda anchors: ()) -> Recall:
    """The memories nearest to the query, as many as fit, those that answer it first; without a model, by words."""
    found = candidates(db, query, meaning)
    is_answered = clears(found, query, db.index.size if meaning else 0)
    judged = doubted(hits(db, query, rank(found, query, is_answered=is_answered)), query, judge)
    # What is chosen is chosen by the question alone: doubt moves a memory down, it never leaves one out.
    shown = newer_first(_marked(in_order(fit(judged, query.limit, query.max_tokens)), query))
    return Recall(query=query, hits=shown, text=render(shown))


def about(db: Database, query: Query, near: Nearby, judge: Judge) -> Recall:
    """What is known about code and about what lies near it, as much as fits."""
    judged = doubted(nearby.hits(db, query, near), query, judge)
    near = nearby.affordable(near, query.max_tokens)
    room = replace(query, max_tokens=query.max_tokens - nearby.cost(near))
    shown = newer_first(_marked(in_order(fit(judged, room.limit, room.max_tokens)), room))
    return nearby.shown_with(near, Recall(query=query, hits=shown, text=""))


def with_files(found: Recall, near: Nearby) -> Recall:
    """An answer with the files that bear on the code it is about, as far as there is room."""
    near = nearby.affordable(near, found.query.max_tokens)
    hits = fit(found.hits, found.query.limit, found.query.max_tokens - nearby.cost(near))
    return nearby.shown_with(near, replace(found, hits=hits))


def with_code(db: Database, found: Recall, near: Nearby, judge: Judge) -> Recall:
    """An answer with the memories tied to the code that its question names, and the files there."""
    query, answers = found.query, found.answers
    there = nearby.hits(db, query, replace(near, files=()))
    answered = {hit.memory.id for hit in answers}
    tied = [hit for hit in there if hit.memory.id not in answered][: max(1, query.limit // 2)]
    sure = (*answers[: query.limit - len(tied)], *in_order(doubted(tied, query, judge)))
    shown = {hit.memory.id for hit in sure}
    closest = [hit for hit in found.hits if not hit.is_sure and hit.memory.id not in shown]
    return with_files(replace(found, hits=(*sure, *closest)[: query.limit]), near)


def _marked(shown: Sequence[Hit], query: Query) -> tuple[Hit, ...]:
    """With what may conflict among them; labels take room, so what no longer fits is left out."""
    marked = mark_conflicts(shown)
    return fit(marked, query.limit, query.max_tokens) if any(hit.may_conflict for hit in marked) else marked
