"""OUT: from a question to what is known, read top to bottom: find, decide, rank, doubt, fit, render."""

from dataclasses import replace
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

__all__ = ["Nearby", "about", "answer", "fit", "with_code", "with_files"]


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
    near = nearby.affordable(near, query.max_tokens)
    shown = in_order(fit(judged, query.limit, query.max_tokens - nearby.cost(near)))
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
