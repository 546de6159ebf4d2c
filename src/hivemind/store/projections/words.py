"""Passages of memories and their full-text index, for every version a memory ever had."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hivemind.model.life import Step
from hivemind.model.moments import in_words
from hivemind.model.words import code_words, passages
from hivemind.store.database import Database, Found
from hivemind.store.projections import vectors

TABLES = ("word_counts", "words", "passages")
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
    text, parts, context, around, tokenize = "porter unicode61 remove_diacritics 2"
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE word_counts USING fts5vocab (words, row);
"""

FOUND = "p.key, m.id, m.kind, m.trust, m.repo, m.revised_at, w.text, w.context"

NEARBY = 300
"""Characters on each side that count as around a passage; with whole neighbours long texts drown."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a memory's text, and when it was what we believed."""

    ordinal: int
    since: str
    until: str
    text: str
    context: str
    around: str
    """What was said just before and after."""


def read(db: Database, keys: Iterable[int]) -> list[Found]:
    """Certain passages, whatever their words."""
    rows = db.execute(
        f"SELECT {FOUND} FROM passages p JOIN memories m ON m.key = p.memory JOIN words w ON w.rowid = p.key"
        " WHERE p.key IN (SELECT DISTINCT CAST(value AS BIGINT) FROM json_each(?))",
        json.dumps(list(keys)),
    )
    return [Found(*(*row, 0.0)) for row in rows]


def put(db: Database, memory: int, life: Sequence[Step], before: str, after: str) -> None:
    """Make the index say what the memory's life says, touching only what differs.

    ``before`` and ``after`` are what was said around it in its session.
    """
    wanted = {(piece.since, piece.ordinal): piece for piece in _pieces(life, before, after)}
    for key, held in _held(db, memory):
        piece = wanted.get((held.since, held.ordinal))
        if piece is None or piece.text != held.text:
            _drop(db, key)
            continue
        if (piece.context, piece.around) != (held.context, held.around):
            db.index.surround(key, piece.context, piece.around)
        if piece.until != held.until:
            db.execute("UPDATE passages SET until = ? WHERE key = ?", piece.until, key)
        del wanted[held.since, held.ordinal]
    for piece in wanted.values():
        key = db.value(
            "INSERT INTO passages (memory, ordinal, since, until) VALUES (?, ?, ?, ?) RETURNING key",
            memory, piece.ordinal, piece.since, piece.until,
        )  # fmt: skip
        db.index.put(key, text=piece.text, parts=code_words(piece.text), context=piece.context, around=piece.around)
        vectors.want(db, key)


def remove(db: Database, memory: int) -> None:
    """Take a memory out of the index for good."""
    for key, _ in _held(db, memory):
        _drop(db, key)


def _drop(db: Database, key: int) -> None:
    vectors.no_longer_want(db, key)
    db.index.remove(key)
    db.execute("DELETE FROM passages WHERE key = ?", key)


def _held(db: Database, memory: int) -> list[tuple[int, Passage]]:
    rows = db.execute(
        "SELECT p.key, p.ordinal, p.since, p.until, w.text, w.context, w.around"
        " FROM passages p JOIN words w ON w.rowid = p.key WHERE p.memory = ?",
        memory,
    )
    return [(row[0], Passage(*row[1:])) for row in rows]


def _pieces(life: Sequence[Step], before: str, after: str) -> list[Passage]:
    """A text is believed from the step that brought it to the step that changed it."""
    changes = [
        step
        for earlier, step in zip([None, *life], life, strict=False)
        if not earlier or step.after.text != earlier.after.text
    ]
    ends = [step.event.at for step in changes[1:]] + [""]
    pieces: list[Passage] = []
    for step, until in zip(changes, ends, strict=True):
        texts = passages(step.after.text)
        around = [before, *texts, after]
        context = _context(step if until else life[-1])
        pieces += [
            Passage(number, step.event.at, until, text, context, _around(around[number], around[number + 2]))
            for number, text in enumerate(texts)
        ]
    return pieces


def _around(before: str, after: str) -> str:
    """The nearest words on both sides: a remark needs them, a page does not."""
    return f"{before[-NEARBY:]}\n{after[:NEARBY]}".strip()


def _context(step: Step) -> str:
    """What is not said in the text but known about it: kind, tags, subject, the code it is about, the date."""
    memory = step.after
    links = (*memory.links, *map(code_words, memory.links))
    return " ".join((memory.kind, *memory.tags, memory.subject, *links, in_words(memory.valid_from))).strip()
