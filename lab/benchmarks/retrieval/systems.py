"""The systems that are compared: Hivemind through its public API, and simpler ways to search.

Each takes texts and returns a search function from a question to ids, best first.
"""

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any
from weakref import finalize

import apsw
import numpy as np

from hivemind import Hivemind
from hivemind.embedding import embedder
from hivemind.embedding.semantic_index import SemanticIndex
from hivemind.embedding.weights import Floats
from hivemind.model.claim import Claim
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Channel, Writer
from hivemind.model.recall import Query, Recall
from hivemind.recall.candidates import Candidate, find_candidates
from hivemind.recall.ranking import Ranked
from hivemind.recall.rendering import count_tokens
from hivemind.settings import Settings
from hivemind.text.clean import MAX_TEXT_BYTES, neutralise
from hivemind.text.search_terms import extract_terms, split_passages
from hivemind.text.thesaurus import name_concepts
from lab.benchmarks.retrieval.sets import Text, read_date

Search = Callable[[str], list[str]]
DEPTH = 100
PASSAGES_PER_JOB = 64


class CachedEmbedder:
    """The model with a cache for texts, since some sets fill many stores with the same ones; not for questions."""

    def __init__(self, file: str) -> None:
        self._real = embedder.load_default()
        self.name, self.dimension = self._real.name, self._real.dimension
        self._vectors: dict[bytes, Floats] = {}
        self._cache = apsw.Connection(file)
        self._cache.set_busy_timeout(60_000)
        # Passages are embedded in two threads, and a connection is for one at a time.
        self._lock = Lock()
        self._cache.execute("CREATE TABLE IF NOT EXISTS vectors (text BLOB PRIMARY KEY, numbers BLOB)")

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length for each text, in the same order; a single text is a question."""
        if len(texts) == 1:
            return self._real.embed(texts)
        with self._lock:
            return self._look_up(texts)

    def _look_up(self, texts: Sequence[str]) -> Floats:
        digests = [hashlib.sha256(f"{self.name}\0{text}".encode()).digest()[:16] for text in texts]
        unknown = {digest: text for digest, text in zip(digests, texts, strict=True) if not self._is_known(digest)}
        for digest, row in zip(unknown, self._real.embed(list(unknown.values())), strict=True):
            self._vectors[digest] = row
            numbers = row.astype(np.float32).tobytes()
            self._cache.execute("INSERT OR IGNORE INTO vectors VALUES (?, ?)", (digest, numbers))
        return np.stack([self._vectors[digest] for digest in digests])

    def rank_word(self, word: str) -> int | None:
        """Return how common a word is."""
        return self._real.rank_word(word)

    def _is_known(self, digest: bytes) -> bool:
        if digest not in self._vectors:
            for (numbers,) in self._cache.execute("SELECT numbers FROM vectors WHERE text = ?", (digest,)):
                self._vectors[digest] = np.frombuffer(numbers, np.float32)
        return digest in self._vectors


@cache
def load_model() -> CachedEmbedder:
    """Return the model of this run; HIVEMIND_BENCH_VECTORS names a file for vectors of earlier runs."""
    return CachedEmbedder(os.environ.get("HIVEMIND_BENCH_VECTORS", ":memory:"))


def embed_ahead(texts: Iterable[Text], jobs: int) -> None:
    """Embed the passages of all texts with several processes, into the file that HIVEMIND_BENCH_VECTORS names."""
    distinct = {name_concepts(piece) for text in texts for piece in split_passages(_clean(text.text))}
    # The longest first, so that no process ends with them alone.
    passages = sorted(distinct, key=len, reverse=True)
    chunks = [passages[start : start + PASSAGES_PER_JOB] for start in range(0, len(passages), PASSAGES_PER_JOB)]
    with ProcessPoolExecutor(jobs) as pool:
        for _ in pool.map(_embed_chunk, chunks):
            pass


def _embed_chunk(passages: Sequence[str]) -> None:
    load_model().embed(passages)


class Product:
    """Hivemind as it is installed: remember, then recall."""

    def __init__(self, texts: Sequence[Text]) -> None:
        self._texts = texts
        self._text_ids: dict[str, str] = {}
        home = Path(tempfile.mkdtemp(prefix="hivemind-bench-"))
        self.mind = _open_memory(home, "here")
        self._fill([(number, text) for number, text in enumerate(texts) if text.hidden != "elsewhere"], self.mind)
        if elsewhere := [(number, text) for number, text in enumerate(texts) if text.hidden == "elsewhere"]:
            with _open_memory(home, "elsewhere") as other:
                self._fill(elsewhere, other)
        self.mind.maintenance.catch_up()
        self.bytes = self.mind.maintenance.stats().bytes
        """Taken before questions are asked, because each recall stores a receipt."""
        finalize(self, _discard, self.mind, home)

    def _fill(self, texts: Sequence[tuple[int, Text]], mind: Hivemind) -> None:
        memories = mind.remember_all(
            Claim(text=_clean(text.text), session_id=text.session, valid_from=text.date, tags=[f"id-{number}"])
            for number, text in texts
        )
        for memory, (_, text) in zip(memories, texts, strict=True):
            self._text_ids[memory.id] = text.id
            if text.hidden == "retracted":
                mind.forget(memory.id)

    def __call__(self, question: str) -> list[str]:
        """Return as many ids as the measures look at."""
        return self._ids(self.mind.recall(_clean(question), limit=DEPTH, max_tokens=10_000_000))

    def render(self, question: str) -> tuple[list[str], int, float]:
        """Return the ids an agent sees by default, their tokens, and how sure recall is that they answer."""
        recall = self.mind.recall(_clean(question))
        confidence = max((hit.confidence or 0.0 for hit in recall.hits), default=0.0)
        return self._ids(recall), count_tokens(recall.text), confidence

    def find_candidates(self, question: str) -> tuple[Query, list[Candidate]]:
        """Return what recall ranks: the question as it is searched, and the passages found."""
        context = self.mind._context
        query = replace(context.query(_clean(question), max_tokens=1_000), limit=DEPTH)
        return query, find_candidates(context.store.db, query, context.embedder.meaning)

    def get_text_ids(self, ranking: Sequence[Ranked]) -> list[str]:
        """Return the ids of the texts behind a ranking."""
        return [self._text_ids[place.candidate.passage.memory_id] for place in ranking]

    def lag(self, text: str) -> float:
        """Return the milliseconds from the start of a write to the end of the recall that finds it."""
        start = time.perf_counter()
        memory = self.mind.remember(text)
        recall = self.mind.recall(text)
        milliseconds = 1000 * (time.perf_counter() - start)
        assert memory.id in [hit.memory.id for hit in recall.hits], (
            "a memory was not readable right after it was written"
        )
        self.mind.forget(memory.id)
        return milliseconds

    def _ids(self, recall: Recall) -> list[str]:
        """Return the ids in the order in which they were rendered, and check that all were."""
        places = [recall.text.find(f"[{shorten_id(hit.memory.id)} · ") for hit in recall.hits]
        assert -1 not in places, "a hit was not rendered"
        assert places == sorted(places), "hits were rendered in another order"
        return [self._texts[int(hit.memory.tags[0].removeprefix("id-"))].id for hit in recall.hits]


def words_only(texts: Sequence[Text]) -> Search:
    """Search with plain FTS5: porter stems, any word of the question, BM25."""
    db = apsw.Connection(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5 (text, tokenize = 'porter unicode61')")
    db.executemany(
        "INSERT INTO t (rowid, text) VALUES (?, ?)", [(place, text.text) for place, text in enumerate(texts)]
    )

    def search(question: str) -> list[str]:
        expression = " OR ".join(f'"{term}"' for term in extract_terms(question)) or '""'
        rows = db.execute("SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT ?", (expression, DEPTH))
        return [texts[int(row[0])].id for row in rows]

    return search


def meaning_only(texts: Sequence[Text]) -> Search:
    """Search by vectors of the same model alone, compared exactly."""
    owners, pieces = zip(
        *((place, piece) for place, text in enumerate(texts) for piece in split_passages(text.text)), strict=True
    )
    vectors = load_model().embed(pieces)

    def search(question: str) -> list[str]:
        near = vectors @ load_model().embed([question])[0]
        return list(dict.fromkeys(texts[owners[place]].id for place in np.argsort(-near)))[:DEPTH]

    return search


def grep(texts: Sequence[Text]) -> Search:
    """Rank texts by how many different words of the question they contain."""
    lower_texts = [text.text.lower() for text in texts]

    def search(question: str) -> list[str]:
        words = extract_terms(question)
        hits = Counter({place: sum(term in text for term in words) for place, text in enumerate(lower_texts)})
        return [texts[place].id for place, count in hits.most_common(DEPTH) if count]

    return search


SYSTEMS: dict[str, Callable[[Sequence[Text]], Search]] = {
    "hivemind": Product,
    "words only": words_only,
    "meaning only": meaning_only,
    "grep": grep,
}


def factory(docs: Sequence[Any]) -> Callable[..., list[str]]:
    """Return a ``search(query, meta)`` for harnesses that pass documents with ``id``, ``text`` and ``meta``."""
    sessions = [str(d.meta.get("session") or d.meta.get("batch") or d.meta.get("date") or "") for d in docs]
    session_sizes = Counter(sessions)
    texts = [
        Text(
            id=d.id,
            text=d.text,
            session=session if session_sizes[session] > 1 else "",
            date=read_date(str(d.meta.get("date") or "")),
        )
        for d, session in zip(docs, sessions, strict=True)
    ]
    search = Product(texts)
    return lambda question, meta=None: search(question)


def _clean(text: str) -> str:
    """Return the text as the product accepts it: without control characters, and not too long."""
    text_without_controls = re.sub("[\ufffd\x00]", " ", neutralise(text))
    return (
        text_without_controls.encode("utf-8", "replace")[:MAX_TEXT_BYTES].decode("utf-8", "ignore").strip() or "(empty)"
    )


def _open_memory(home: Path, name: str) -> Hivemind:
    directory = home / name
    directory.mkdir()
    writer = Writer(actor="bench", channel=Channel.PERSON)
    mind = Hivemind.open(directory=directory, settings=Settings(home=home, person="bench"), writer=writer)
    mind._context.embedder.meaning = SemanticIndex(load_model())
    return mind


def _discard(mind: Hivemind, home: Path) -> None:
    mind.close()
    shutil.rmtree(home, ignore_errors=True)
