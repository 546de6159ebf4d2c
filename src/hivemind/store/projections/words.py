"""Passages of memories and their full-text index, for every version a memory ever had."""

from collections.abc import Sequence
from dataclasses import dataclass

from hivemind.model.ids import MemoryId
from hivemind.model.life import Step
from hivemind.model.passages import passages
from hivemind.model.recall import Query
from hivemind.model.words import code_words, phrases, terms
from hivemind.store.database import Database
from hivemind.store.projections.filters import FITTING, VISIBLE, bound

TABLES = ("words", "passages")
SCHEMA = """
CREATE TABLE passages (
    key INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories (key),
    ordinal INTEGER NOT NULL,
    since TEXT NOT NULL,          -- believed from here
    until TEXT NOT NULL           -- to here; empty for what is said today
) STRICT;
CREATE INDEX passages_memory ON passages (memory);
CREATE VIRTUAL TABLE words USING fts5 (
    text, parts, context, tokenize = "porter unicode61 remove_diacritics 2"
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
"""

TEXT_WEIGHT, PARTS_WEIGHT, CONTEXT_WEIGHT = 1.0, 0.5, 0.6


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a memory's text, and when it was what we believed."""

    ordinal: int
    since: str
    until: str
    text: str
    context: str


@dataclass(frozen=True, slots=True)
class Match:
    """A passage that shares words with a question."""

    memory_id: MemoryId
    text: str
    score: float


def search(db: Database, query: Query, limit: int) -> list[Match]:
    """Passages in sight that were believed at the query's moment, the best fitting first."""
    asked = _expression(query.text)
    if not asked:
        return []
    rows = db.execute(
        "SELECT m.id, words.text, -bm25(words, :text_weight, :parts_weight, :context_weight) AS score"
        " FROM words JOIN passages p ON p.key = words.rowid JOIN memories m ON m.key = p.memory"
        f" WHERE words MATCH :asked AND {VISIBLE} AND {FITTING}"
        " AND iif(:as_of = '', p.until = '', p.since <= :as_of AND (p.until = '' OR p.until > :as_of))"
        " ORDER BY score DESC, m.id LIMIT :limit",
        bound(query)
        | {
            "asked": asked,
            "limit": limit,
            "text_weight": TEXT_WEIGHT,
            "parts_weight": PARTS_WEIGHT,
            "context_weight": CONTEXT_WEIGHT,
        },
    )
    return [Match(MemoryId(row[0]), row[1], row[2]) for row in rows]


def put(db: Database, memory: int, life: Sequence[Step]) -> None:
    """Make the index say what the memory's life says, touching only what differs."""
    wanted = {(piece.since, piece.ordinal): piece for piece in _pieces(life)}
    for key, held in _held(db, memory):
        piece = wanted.get((held.since, held.ordinal))
        if piece is None or (piece.text, piece.context) != (held.text, held.context):
            _drop(db, key)
            continue
        if piece.until != held.until:
            db.execute("UPDATE passages SET until = ? WHERE key = ?", piece.until, key)
        del wanted[held.since, held.ordinal]
    for piece in wanted.values():
        key = db.value(
            "INSERT INTO passages (memory, ordinal, since, until) VALUES (?, ?, ?, ?) RETURNING key",
            memory, piece.ordinal, piece.since, piece.until,
        )  # fmt: skip
        db.execute(
            "INSERT INTO words (rowid, text, parts, context) VALUES (?, ?, ?, ?)",
            key, piece.text, code_words(piece.text), piece.context,
        )  # fmt: skip


def remove(db: Database, memory: int) -> None:
    """Take a memory out of the index for good."""
    for key, _ in _held(db, memory):
        _drop(db, key)


def _expression(question: str) -> str:
    """Any of the words, and all of the phrases that are in quotes."""
    any_word = " OR ".join(f'"{term}"' for term in terms(question))
    together = [f'"{phrase}"' for phrase in phrases(question)]
    return " AND ".join([*together, f"({any_word})"] if any_word else together)


def _drop(db: Database, key: int) -> None:
    db.execute("DELETE FROM words WHERE rowid = ?", key)
    db.execute("DELETE FROM passages WHERE key = ?", key)


def _held(db: Database, memory: int) -> list[tuple[int, Passage]]:
    rows = db.execute(
        "SELECT p.key, p.ordinal, p.since, p.until, w.text, w.context"
        " FROM passages p JOIN words w ON w.rowid = p.key WHERE p.memory = ?",
        memory,
    )
    return [(row[0], Passage(*row[1:])) for row in rows]


def _pieces(life: Sequence[Step]) -> list[Passage]:
    """A text is believed from the step that brought it to the step that changed it."""
    changes = [
        step
        for before, step in zip([None, *life], life, strict=False)
        if not before or step.after.text != before.after.text
    ]
    ends = [step.event.at for step in changes[1:]] + [""]
    return [
        Passage(ordinal, step.event.at, until, text, _context(step if until else life[-1]))
        for step, until in zip(changes, ends, strict=True)
        for ordinal, text in enumerate(passages(step.after.text))
    ]


def _context(step: Step) -> str:
    """What is not said in the text but known about it: tags, subject, the code it is about."""
    memory = step.after
    return " ".join((*memory.tags, memory.subject, *memory.links, *map(code_words, memory.links))).strip()
