"""Ways to search: Hivemind through its public API, and simpler ones to compare it with.

Each takes texts and gives a search: from a question to ids, best first.
"""

import hashlib
import os
import re
import shutil
import tempfile
import time
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
from hivemind.model.ids import short
from hivemind.model.memory import Channel
from hivemind.model.recall import Recall
from hivemind.model.text import LONGEST_TEXT, neutral
from hivemind.model.words import passages, terms
from hivemind.model.writer import Writer
from hivemind.recall import embedder
from hivemind.recall.budget import tokens
from hivemind.recall.meaning import Meaning
from hivemind.recall.weights import Floats
from hivemind.settings import Settings

Search = Callable[[str], list[str]]
DEPTH = 100


class Remembering:
    """The model, which reads each text once, and each question anew: some sets fill many stores with the same texts."""

    def __init__(self, file: str) -> None:
        self._real = embedder.default()
        self.name, self.dimension = self._real.name, self._real.dimension
        self._known: dict[bytes, Floats] = {}
        self._kept = apsw.Connection(file)
        self._kept.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, numbers BLOB)")

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row of unit length for each text, in the order given."""
        if len(texts) == 1:
            return self._real.embed(texts)
        digests = [hashlib.sha256(f"{self.name}\0{text}".encode()).digest()[:16] for text in texts]
        unknown = {digest: text for digest, text in zip(digests, texts, strict=True) if not self._knows(digest)}
        for digest, row in zip(unknown, self._real.embed(list(unknown.values())), strict=True):
            self._known[digest] = row
            self._kept.execute("INSERT INTO vectors VALUES (?, ?)", (digest, row.astype(np.float32).tobytes()))
        return np.stack([self._known[digest] for digest in digests])

    def _knows(self, digest: bytes) -> bool:
        if digest not in self._known:
            for (numbers,) in self._kept.execute("SELECT numbers FROM vectors WHERE text = ?", (digest,)):
                self._known[digest] = np.frombuffer(numbers, np.float32)
        return digest in self._known


@cache
def model() -> Remembering:
    """The one model of a run; with HIVEMIND_BENCH_VECTORS naming a file, it knows what earlier runs have read."""
    return Remembering(os.environ.get("HIVEMIND_BENCH_VECTORS", ":memory:"))


class Product:
    """The product as it is installed: remember, then recall."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._texts = texts
        home = Path(tempfile.mkdtemp(prefix="hivemind-bench-"))
        self.mind = _opened(home, "here")
        self._fill([(number, text) for number, text in enumerate(texts) if text.hidden != "elsewhere"], self.mind)
        if elsewhere := [(number, text) for number, text in enumerate(texts) if text.hidden == "elsewhere"]:
            with _opened(home, "elsewhere") as other:
                self._fill(elsewhere, other)
        self.mind.maintenance.catch_up()
        self.bytes = self.mind.maintenance.stats().bytes
        """Before questions are asked, which leave receipts."""
        finalize(self, _discard, self.mind, home)

    def _fill(self, numbered: Sequence[tuple[int, Text]], mind: Hivemind) -> None:
        kept = mind.remember_all(
            Claim(text=_acceptable(text.text), session_id=text.session, valid_from=text.date, tags=[f"id-{number}"])
            for number, text in numbered
        )
        for memory, (_, text) in zip(kept, numbered, strict=True):
            if text.hidden == "retracted":
                mind.forget(memory.id)

    def __call__(self, question: str) -> list[str]:
        """As deep as the measures look."""
        return self._ids(self.mind.recall(_acceptable(question), limit=DEPTH, max_tokens=10_000_000))

    def rendered(self, question: str) -> tuple[list[str], int, bool]:
        """What an agent is shown by default, its tokens, and whether it is said to be an answer."""
        recall = self.mind.recall(_acceptable(question))
        return self._ids(recall), tokens(recall.text), bool(recall.answers)

    def lag(self, text: str) -> float:
        """Milliseconds from the call that writes to the end of the recall that shows it."""
        start = time.perf_counter()
        kept = self.mind.remember(text)
        found = self.mind.recall(text)
        spent = 1000 * (time.perf_counter() - start)
        assert kept.id in [hit.memory.id for hit in found.hits], "what was written was not readable at once"
        self.mind.forget(kept.id)
        return spent

    def _ids(self, found: Recall) -> list[str]:
        """In the order in which they were rendered, and only what was."""
        places = [found.text.find(f"[{short(hit.memory.id)} · ") for hit in found.hits]
        assert -1 not in places, "scored what was not rendered"
        assert places == sorted(places), "scored in another order than rendered"
        return [self._texts[int(hit.memory.tags[0].removeprefix("id-"))].id for hit in found.hits]


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
    "hivemind": Product,
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
    search = Product(texts)
    return lambda question, meta=None: search(question)


def _acceptable(text: str) -> str:
    """What the product takes: no control characters, no more than a memory may hold."""
    shown = re.sub("[\ufffd\x00]", " ", neutral(text))
    return shown.encode("utf-8", "replace")[:LONGEST_TEXT].decode("utf-8", "ignore").strip() or "(empty)"


def _opened(home: Path, name: str) -> Hivemind:
    directory = home / name
    directory.mkdir()
    writer = Writer(actor="bench", channel=Channel.PERSON)
    mind = Hivemind.open(directory=directory, settings=Settings(home=home, person="bench"), writer=writer)
    mind._context.embedder.meaning = Meaning(model())
    return mind


def _discard(mind: Hivemind, home: Path) -> None:
    mind.close()
    shutil.rmtree(home, ignore_errors=True)
