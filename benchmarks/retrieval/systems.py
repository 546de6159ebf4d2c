"""Ways to search: Hivemind through its public API, and simpler ones to compare it with.

Each takes texts and gives a search: from a question to ids, best first.
"""

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from weakref import finalize

import apsw
import numpy as np

from benchmarks.retrieval.sets import Text, read_date
from hivemind import Hivemind
from hivemind.model.claim import Claim
from hivemind.model.memory import Channel
from hivemind.model.passages import passages
from hivemind.model.text import LONGEST_TEXT, neutral
from hivemind.model.words import terms
from hivemind.model.writer import Writer
from hivemind.recall import embedder
from hivemind.recall.meaning import Meaning
from hivemind.recall.weights import Floats
from hivemind.settings import Settings

Search = Callable[[str], list[str]]
DEPTH = 100


class Remembering:
    """The model, which reads each text once in a run: some sets fill many stores with the same texts."""

    def __init__(self) -> None:
        self._real = embedder.default()
        self.name, self.dimension = self._real.name, self._real.dimension
        self._known: dict[str, Floats] = {}

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of unit length for each text, in the order given."""
        unknown = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(unknown, self._real.embed(unknown), strict=True))
        return np.stack([self._known[text] for text in texts])


@cache
def model() -> Remembering:
    """The one model of a run."""
    return Remembering()


def hivemind(texts: Sequence[Text]) -> Search:
    """The product as it is installed: remember, then recall."""
    home = Path(tempfile.mkdtemp(prefix="hivemind-bench-"))
    writer = Writer(actor="bench", channel=Channel.PERSON)
    mind = Hivemind.open(directory=home, settings=Settings(home=home, person="bench"), writer=writer)
    mind.__dict__["_meaning"] = Meaning(model())
    mind.remember_all(
        Claim(text=_acceptable(text.text), session_id=text.session, valid_from=text.date, tags=[f"id-{number}"])
        for number, text in enumerate(texts)
    )
    mind.catch_up()

    def search(question: str) -> list[str]:
        found = mind.recall(_acceptable(question), limit=DEPTH, max_tokens=10_000_000)
        return [texts[int(hit.memory.tags[0].removeprefix("id-"))].id for hit in found.hits]

    finalize(search, _discard, mind, home)
    return search


def words_only(texts: Sequence[Text]) -> Search:
    """Plain FTS5: porter stems, any word of the question, BM25."""
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5 (text, tokenize = 'porter unicode61')")
    db.executemany(
        "INSERT INTO t (rowid, text) VALUES (?, ?)", [(place, text.text) for place, text in enumerate(texts)]
    )

    def search(question: str) -> list[str]:
        asked = " OR ".join(f'"{term}"' for term in terms(question)) or '""'
        rows = db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", (asked, DEPTH))
        return [texts[int(row[0])].id for row in rows]

    return search


def meaning_only(texts: Sequence[Text]) -> Search:
    """The nearest passages by the same model, compared exactly."""
    owners, pieces = zip(
        *((place, piece) for place, text in enumerate(texts) for piece in passages(text.text)), strict=True
    )
    vectors = model().embed(pieces)

    def search(question: str) -> list[str]:
        near = vectors @ model().embed([question])[0]
        return list(dict.fromkeys(texts[owners[place]].id for place in np.argsort(-near)))[:DEPTH]

    return search


def grep(texts: Sequence[Text]) -> Search:
    """How many different words of the question a text contains."""
    held = [text.text.lower() for text in texts]

    def search(question: str) -> list[str]:
        asked = terms(question)
        hits = Counter({place: sum(term in text for term in asked) for place, text in enumerate(held)})
        return [texts[place].id for place, count in hits.most_common(DEPTH) if count]

    return search


SYSTEMS: dict[str, Callable[[Sequence[Text]], Search]] = {
    "hivemind": hivemind,
    "words only": words_only,
    "meaning only": meaning_only,
    "grep": grep,
}


def factory(docs: Sequence[Any]) -> Callable[..., list[str]]:
    """For harnesses that hand over documents with ``id``, ``text`` and ``meta`` and ask ``search(query, meta)``."""
    sessions = [str(d.meta.get("session") or d.meta.get("batch") or d.meta.get("date") or "") for d in docs]
    shared = Counter(sessions)
    texts = [
        Text(
            id=d.id,
            text=d.text,
            session=session if shared[session] > 1 else "",
            date=read_date(str(d.meta.get("date") or "")),
        )
        for d, session in zip(docs, sessions, strict=True)
    ]
    search = hivemind(texts)
    return lambda question, meta=None: search(question)


def _acceptable(text: str) -> str:
    """What the product takes: no control characters, no more than a memory may hold."""
    shown = re.sub("[\ufffd\x00]", " ", neutral(text))
    return shown.encode("utf-8", "replace")[:LONGEST_TEXT].decode("utf-8", "ignore").strip() or "(empty)"


def _discard(mind: Hivemind, home: Path) -> None:
    mind.close()
    shutil.rmtree(home, ignore_errors=True)
