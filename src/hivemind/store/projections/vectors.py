"""Vectors of passages as bytes: stored beside their text and erased with it."""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable

from hivemind.model.recall import Query
from hivemind.store.conditions import MATCHES_FILTERS, PASSAGE_IS_CURRENT, VISIBLE, bind_filters
from hivemind.store.database import Database, Vector

TABLES = ("vectors", "vector_blocks", "vectors_wanted")
SCHEMA = """
CREATE TABLE vector_blocks (
    key INTEGER PRIMARY KEY,
    passages BLOB NOT NULL,       -- 64-bit keys, zero where a vector was erased
    places BLOB NOT NULL,         -- 64-bit names of scope and repository
    signs BLOB NOT NULL
) STRICT;
CREATE TABLE vectors (
    passage INTEGER PRIMARY KEY,  -- negative: of a session
    model TEXT NOT NULL,
    block INTEGER,                -- none while it waits for a block to fill
    scale REAL NOT NULL,
    numbers BLOB NOT NULL,        -- signed bytes; times scale they are the vector
    checksum INTEGER NOT NULL     -- of scale and numbers; nothing in the log could tell a flipped bit
) STRICT;
CREATE INDEX vectors_waiting ON vectors (passage) WHERE block IS NULL;
CREATE TABLE vectors_wanted (     -- passages that have none yet
    passage INTEGER PRIMARY KEY
) STRICT;
"""
SESSION_SCOPE = "session"
"""Stands for a scope in the place of a session's vector, so that no search for memories proposes it."""


def mark_missing(db: Database, passages: Iterable[int]) -> None:
    """Record that passages have no vector yet."""
    db.many("INSERT INTO vectors_wanted (passage) VALUES (?)", [(passage,) for passage in passages])


def unmark_missing(db: Database, passage: int) -> None:
    """Record that a passage has its vector or was deleted."""
    db.execute("DELETE FROM vectors_wanted WHERE passage = ?", passage)


def mark_all_missing(db: Database, session_keys: Iterable[int] = ()) -> None:
    """Delete every vector, so that another model can make them; ``session_keys`` are those of sessions."""
    with db.transaction():
        db.index.delete_vectors()
        # Without WHERE, SQLite would read ON CONFLICT as the condition of a join.
        db.execute("INSERT INTO vectors_wanted (passage) SELECT key FROM passages WHERE TRUE ON CONFLICT DO NOTHING")
        db.many(
            "INSERT INTO vectors_wanted (passage) VALUES (?) ON CONFLICT DO NOTHING", [(key,) for key in session_keys]
        )


def find_missing(db: Database, limit: int) -> list[tuple[int, str]]:
    """Passages of memories that have no vector yet, newest first, with their texts."""
    # Mostly there are none, and joining the words takes five times as long as finding that out.
    if not db.one("SELECT 1 FROM vectors_wanted WHERE passage > 0 LIMIT 1"):
        return []
    rows = db.execute(
        # An outer join fixes the join order; otherwise SQLite reads all words to find that no vector is missing.
        "SELECT v.passage, w.text FROM vectors_wanted v LEFT JOIN words w ON w.rowid = v.passage"
        # Passages of sessions have negative keys.
        " WHERE v.passage > 0 ORDER BY v.passage DESC LIMIT ?",
        limit,
    )
    return [(row[0], row[1]) for row in rows]


def checksum(scale: float, numbers: bytes) -> int:
    """A checksum that reveals a damaged vector."""
    return zlib.crc32(struct.pack("<d", scale) + numbers)


def find_matching(db: Database, query: Query, model: str, limit: int) -> list[Vector]:
    """The vectors of all passages that are visible and match the query's filters; empty if they exceed the limit."""
    # One more than the limit shows that there are more.
    rows = find_some(db, query, model, limit + 1)
    return rows if len(rows) <= limit else []


def find_some(db: Database, query: Query, model: str, limit: int) -> list[Vector]:
    """The vectors of passages that are visible and match the query's filters, at most this many of them."""
    rows = db.execute(
        "SELECT v.passage, v.scale, v.numbers FROM vectors v JOIN passages p ON p.key = v.passage"
        f" JOIN memories m ON m.key = p.memory WHERE v.model = :model AND {VISIBLE}"
        f" AND {MATCHES_FILTERS} AND {PASSAGE_IS_CURRENT} LIMIT :limit",
        bind_filters(query) | {"model": model, "limit": limit},
    )
    return [Vector(*row) for row in rows]


def get_all(db: Database, model: str, passages: Iterable[int]) -> list[Vector]:
    """The vectors of these passages, as far as they have one."""
    rows = db.execute(
        # A join in the order of keys, because IN first copies them to a table. In Postgres json_each returns text.
        "SELECT v.passage, v.scale, v.numbers FROM json_each(?) c JOIN vectors v ON v.passage = CAST(c.value AS BIGINT)"
        " WHERE v.model = ?",
        json.dumps(sorted(passages)), model,
    )  # fmt: skip
    return list(map(Vector._make, rows))


def count(db: Database, model: str) -> tuple[int, int]:
    """The numbers of passages with and without a vector of this model."""
    [(count, waiting)] = db.execute("SELECT (SELECT count(*) FROM vectors), (SELECT count(*) FROM vectors_wanted)")
    # All vectors are of one model, and those of another are replaced.
    return (count, waiting) if read_model(db) in (None, model) else (0, count + waiting)


def read_model(db: Database) -> str | None:
    """The model that made the vectors, if there are any."""
    # In the order of the primary key, so that Postgres never reads vectors of other teams.
    row = db.one("SELECT model FROM vectors ORDER BY passage LIMIT 1")
    return row[0] if row else None


def hash_place(scope: str, repo: str) -> int:
    """A number for scope and repository, by which blocks are filtered without reading rows."""
    digest = hashlib.blake2b(f"{scope}\0{repo}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
