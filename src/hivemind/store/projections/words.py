"""Passages of memories and their full-text index, for every version a memory ever had."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hivemind.model.ids import MemoryId
from hivemind.model.life import Step
from hivemind.model.moments import in_words
from hivemind.model.passages import passages
from hivemind.model.recall import Query
from hivemind.model.words import code_words, phrases, terms
from hivemind.store.database import Database
from hivemind.store.projections import vectors
from hivemind.store.projections.filters import BELIEVED, FITTING, VISIBLE, bound

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

FOUND = "p.key, m.id, m.kind, m.trust, m.repo, m.revised_at, words.text, words.context"

SEARCH = (
    "WITH best AS MATERIALIZED ("
    "SELECT rowid AS key, -bm25(words, :text, :parts, :context, :around) AS score FROM words"
    " WHERE words MATCH :asked ORDER BY score DESC LIMIT :looked_at),"
    # Texts are read only of those that are in sight and good enough.
    " seen AS MATERIALIZED ("
    "SELECT best.key, best.score, p.memory FROM best JOIN passages p ON p.key = best.key"
    f" JOIN memories m ON m.key = p.memory WHERE {VISIBLE} AND {FITTING} AND {BELIEVED}"
    " ORDER BY best.score DESC, m.id LIMIT :limit)"
    f" SELECT {FOUND}, seen.score FROM seen JOIN passages p ON p.key = seen.key"
    " JOIN memories m ON m.key = p.memory JOIN words ON words.rowid = p.key ORDER BY seen.score DESC, m.id"
)
LOOKED_AT = 4

TEXT_WEIGHT, PARTS_WEIGHT, CONTEXT_WEIGHT, AROUND_WEIGHT = 1.0, 0.5, 0.6, 0.35


AT_MOST, AT_LEAST = 4_000, 2
"""How many passages the words of a question may match together before the commonest are left out."""
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


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that may answer, how well its words fit, and what ranking needs to know of its memory."""

    key: int
    memory_id: MemoryId
    kind: str
    trust: int
    repo: str
    revised_at: str
    text: str
    context: str
    score: float


def search(db: Database, query: Query, limit: int) -> list[Found]:
    """Passages in sight that were believed at the query's moment, the best fitting first."""
    asked = _expression(query.text, _telling(db, terms(query.text)))
    if not asked:
        return []
    values = bound(query) | {
        "asked": asked,
        "limit": limit,
        "text": TEXT_WEIGHT,
        "parts": PARTS_WEIGHT,
        "context": CONTEXT_WEIGHT,
        "around": AROUND_WEIGHT,
    }
    # Most of what matches best is usually in sight; only where it is not, everything that matches is looked at.
    rows = db.execute(SEARCH, values | {"looked_at": LOOKED_AT * limit})
    if len(rows) < limit:
        rows = db.execute(SEARCH, values | {"looked_at": -1})
    return [Found(*row) for row in rows]


def sharing(db: Database, all_of: Sequence[str], repo: str, limit: int = 50) -> list[int]:
    """Keys of the newest memories of a repository, or of the user, whose text today has all of these words."""
    rows = db.execute(
        "SELECT DISTINCT m.key FROM words JOIN passages p ON p.key = words.rowid JOIN memories m ON m.key = p.memory"
        " WHERE words MATCH :asked AND p.until = '' AND m.repo IN ('', :repo) ORDER BY words.rowid DESC LIMIT :limit",
        {"asked": "text : (" + " AND ".join(f'"{word}"' for word in all_of) + ")", "repo": repo, "limit": limit},
    )
    return [row[0] for row in rows]


def is_said_elsewhere(db: Database, word: str, except_in: Iterable[str]) -> bool:
    """Whether any memory but these has a word in one of its texts."""
    row = db.one(
        "SELECT 1 FROM words JOIN passages p ON p.key = words.rowid JOIN memories m ON m.key = p.memory"
        " WHERE words MATCH ? AND m.id NOT IN (SELECT value FROM json_each(?)) LIMIT 1",
        'text : "' + word.replace('"', '""') + '"', json.dumps(list(except_in)),
    )  # fmt: skip
    return row is not None


def read(db: Database, keys: Iterable[int]) -> list[Found]:
    """Certain passages, whatever their words."""
    rows = db.execute(
        f"SELECT {FOUND} FROM passages p JOIN memories m ON m.key = p.memory JOIN words ON words.rowid = p.key"
        " WHERE p.key IN (SELECT value FROM json_each(?))",
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
            db.execute("UPDATE words SET context = ?, around = ? WHERE rowid = ?", piece.context, piece.around, key)
        if piece.until != held.until:
            db.execute("UPDATE passages SET until = ? WHERE key = ?", piece.until, key)
        del wanted[held.since, held.ordinal]
    for piece in wanted.values():
        key = db.value(
            "INSERT INTO passages (memory, ordinal, since, until) VALUES (?, ?, ?, ?) RETURNING key",
            memory, piece.ordinal, piece.since, piece.until,
        )  # fmt: skip
        db.execute(
            "INSERT INTO words (rowid, text, parts, context, around) VALUES (?, ?, ?, ?, ?)",
            key, piece.text, code_words(piece.text), piece.context, piece.around,
        )  # fmt: skip
        vectors.want(db, key)


def remove(db: Database, memory: int) -> None:
    """Take a memory out of the index for good."""
    for key, _ in _held(db, memory):
        _drop(db, key)


def _telling(db: Database, asked: list[str]) -> list[str]:
    """The rarest of the words, as many as keep the search short; common ones move few places and cost most."""
    stems = db.stems(asked)
    counts: dict[str, int] = dict(
        db.execute(
            "SELECT term, doc FROM word_counts WHERE term IN (SELECT value FROM json_each(?))", json.dumps(stems)
        )
    )
    matches = 0
    kept: list[str] = []
    for word, stem in sorted(zip(asked, stems, strict=True), key=lambda pair: counts.get(pair[1], 0)):
        matches += counts.get(stem, 0)
        if matches > AT_MOST and len(kept) >= AT_LEAST:
            break
        kept.append(word)
    return kept


def _expression(question: str, telling: list[str]) -> str:
    """Any of the words, and all of the phrases that are in quotes."""
    any_word = " OR ".join(f'"{term}"' for term in telling)
    together = [f'"{phrase}"' for phrase in phrases(question)]
    return " AND ".join([*together, f"({any_word})"] if any_word else together)


def _drop(db: Database, key: int) -> None:
    db.execute("DELETE FROM words WHERE rowid = ?", key)
    vectors.drop(db, key)
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
    """What is not said in the text but known about it: tags, subject, the code it is about, the date."""
    memory = step.after
    links = (*memory.links, *map(code_words, memory.links))
    return " ".join((*memory.tags, memory.subject, *links, in_words(memory.valid_from))).strip()
