"""OUT: from a question to what is known, read top to bottom: find, decide, rank, fit, render."""

from typing import TYPE_CHECKING

from hivemind.model.recall import Query, Recall
from hivemind.recall.bar import clears
from hivemind.recall.budget import fit
from hivemind.recall.rank import hits, rank
from hivemind.recall.render import render
from hivemind.recall.search import candidates
from hivemind.store.database import Database

if TYPE_CHECKING:
    from hivemind.recall.meaning import Meaning

__all__ = ["answer", "fit"]


def answer(db: Database, query: Query, meaning: "Meaning | None" = None) -> Recall:
    """The memories that best answer the query, as many as fit; without a model, by words alone."""
    found = candidates(db, query, meaning)
    if not clears(found, query, meaning.size if meaning else 0):
        return Recall(query=query, hits=(), text="")
    shown = fit(hits(db, query, rank(found, query)), query.limit, query.max_tokens)
    return Recall(query=query, hits=shown, text=render(shown))
