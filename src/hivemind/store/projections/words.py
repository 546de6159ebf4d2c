"""Passages of memories and their full-text index, for every version a memory ever had."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from hivemind.model.dataclass import dataclass
from hivemind.model.fold import HistoryStep
from hivemind.model.ids import Timestamp
from hivemind.model.recall import Query
from hivemind.model.timestamps import spell_out_date
from hivemind.store.conditions import MATCHES_FILTERS, PASSAGE_IS_CURRENT, VISIBLE, bind_filters
from hivemind.store.database import Database, PassageHit, WordsOfPassage
from hivemind.store.projections import vectors
from hivemind.text.search_terms import split_identifiers, split_pairs, split_passages
from hivemind.text.thesaurus import expand_text

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
"""With secure-delete, FTS5 removes the words of a deleted text at once instead of only marking them as deleted."""

# In Postgres json_each returns text, and keys are numbers.
KEYS = "(SELECT CAST(value AS BIGINT) FROM json_each(?))"
NEIGHBOUR_CHARACTERS = 300
"""Characters of each neighbour that are indexed with a passage; whole neighbours would outweigh long texts."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a memory's text, and the time in which it was current."""

    ordinal: int
    since: Timestamp
    until: Timestamp
    text: str
    context: str
    around: str
    """The texts just before and after it."""


class IndexedMemory(NamedTuple):
    """A memory to index: its key, its history, and the texts of its neighbours in its session."""

    key: int
    life: Sequence[HistoryStep]
    before: str
    after: str


def find_visible(db: Database, query: Query, scores: Mapping[int, float]) -> list[PassageHit]:
    """Those of the passages with these keys and scores that are visible and match the query's filters."""
    rows = db.execute(
        "SELECT p.key, m.key, m.id, m.session_id, m.kind, m.trust, m.repo, m.revised_at, w.text, w.context"
        # In Postgres json_each returns text, and keys are numbers.
        " FROM json_each(:keys) c JOIN passages p ON p.key = CAST(c.value AS BIGINT)"
        f" JOIN memories m ON m.key = p.memory JOIN {db.TEXTS} w ON w.rowid = p.key"
        f" WHERE {VISIBLE} AND {MATCHES_FILTERS} AND {PASSAGE_IS_CURRENT}",
        bind_filters(query) | {"keys": json.dumps(sorted(scores))},
    )
    return [PassageHit(*(*row, scores[row[0]])) for row in rows]


def put(db: Database, changed: Sequence[IndexedMemory]) -> None:
    """Update the indexed passages of memories to match their histories, changing only what differs."""
    new_passages = {
        (memory.key, piece.since, piece.ordinal): piece
        for memory in changed
        for piece in _cut_passages(memory.life, memory.before, memory.after)
    }
    memories_json = json.dumps([memory.key for memory in changed])
    for key, memory_key, old in _read_passages(db, memories_json):
        place = (memory_key, old.since, old.ordinal)
        piece = new_passages.get(place)
        # A passage with the same text keeps its key and its vector, which is slow to make.
        if piece is None or piece.text != old.text:
            _drop(db, key)
            continue
        if (piece.context, piece.around) != (old.context, old.around):
            db.index.set_context(key, piece.context, piece.around)
        if piece.until != old.until:
            db.execute("UPDATE passages SET until = ? WHERE key = ?", piece.until, key)
        del new_passages[place]
    if new_passages:
        _add_passages(db, memories_json, new_passages)


def _add_passages(db: Database, memories_json: str, new_passages: Mapping[tuple[int, str, int], Passage]) -> None:
    db.many(
        "INSERT INTO passages (memory, since, ordinal, until) VALUES (?, ?, ?, ?)",
        [(*place, piece.until) for place, piece in new_passages.items()],
    )
    rows = db.execute(f"SELECT key, memory, since, ordinal FROM passages WHERE memory IN {KEYS}", memories_json)
    keys = {place: key for key, *place_fields in rows if (place := tuple(place_fields)) in new_passages}
    db.index.put(
        [
            WordsOfPassage(keys[place], piece.text, expand_text(piece.text), piece.context, piece.around)
            for place, piece in new_passages.items()
        ]
    )
    vectors.mark_missing(db, keys.values())


def remove(db: Database, memory: int) -> None:
    """Delete a memory from the index for good."""
    for key, *_ in _read_passages(db, json.dumps([memory])):
        _drop(db, key)


def _drop(db: Database, key: int) -> None:
    vectors.unmark_missing(db, key)
    db.index.remove(key)
    db.execute("DELETE FROM passages WHERE key = ?", key)


def _read_passages(db: Database, memories_json: str) -> list[tuple[int, int, Passage]]:
    """The passages of these memories, each with its key and its memory's."""
    rows = db.execute(
        "SELECT p.key, p.memory, p.ordinal, p.since, p.until, w.text, w.context, w.around"
        f" FROM passages p JOIN words w ON w.rowid = p.key WHERE p.memory IN {KEYS}",
        memories_json,
    )
    return [(row[0], row[1], Passage(*row[2:])) for row in rows]


def _cut_passages(life: Sequence[HistoryStep], before: str, after: str) -> list[Passage]:
    """The passages of every version; each is current from the step that brought its text to the one that changed it."""
    changes = [
        step
        for earlier, step in zip([None, *life], life, strict=False)
        if not earlier or step.after.text != earlier.after.text
    ]
    ends = [step.event.at for step in changes[1:]] + [""]
    pieces: list[Passage] = []
    for step, until in zip(changes, ends, strict=True):
        texts = split_passages(step.after.text)
        around = [before, *texts, after]
        # The current version takes tags and links that were added after its text.
        context = _context(step if until else life[-1])
        pieces += [
            Passage(number, step.event.at, until, text, context, _join_neighbours(around[number], around[number + 2]))
            for number, text in enumerate(texts)
        ]
    return pieces


def _join_neighbours(before: str, after: str) -> str:
    """The ends of the texts on both sides; a short remark is often understood only from them."""
    return _add_pairs(f"{before[-NEIGHBOUR_CHARACTERS:]}\n{after[:NEIGHBOUR_CHARACTERS]}".strip())


def _context(step: HistoryStep) -> str:
    """Searchable words beside the text: kind, tags, subject, linked code and date."""
    memory = step.after
    links = (*memory.links, *map(split_identifiers, memory.links))
    names = (memory.kind, *memory.tags, memory.subject, *links, spell_out_date(memory.valid_from))
    return _add_pairs(" ".join(names).strip())


def _add_pairs(text: str) -> str:
    """The text, and what it is searched by in scripts without spaces."""
    return " ".join((text, *split_pairs(text)))
