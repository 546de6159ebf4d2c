"""OUT: from a question to what is known, read top to bottom: find, rank, fit, render."""

from hivemind.model.recall import Query, Recall
from hivemind.recall.budget import fit
from hivemind.recall.rank import rank
from hivemind.recall.render import render
from hivemind.recall.search import candidates
from hivemind.store.database import Database

__all__ = ["answer"]


def answer(db: Database, query: Query) -> Recall:
    """The memories that best answer the query, as many as fit."""
    hits = fit(rank(candidates(db, query), query), query.limit, query.max_tokens)
    return Recall(query=query, hits=hits, text=render(hits))
