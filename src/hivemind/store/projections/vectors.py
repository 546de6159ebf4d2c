"""Vectors of passages as bytes: kept beside their text and erased with it."""

import hashlib
import json
import struct
import zlib

from hivemind.model.recall import Query
from hivemind.store.database import Database, Vector
from hivemind.store.projections.filters import BELIEVED, FITTING, bound
from hivemind.store.visibility import VISIBLE

TABLES = ("vectors", "vector_blocks", "vectors_wanted")
SCHEMA = """
CREATE TABLE vector_blocks (
    key INTEGER PRIMARY KEY,
    passages BLOB NOT NULL,       -- 64-bit keys, zero where a vector was erased
    places BLOB NOT NULL,         -- 64-bit names of scope and repository
    signs BLOB NOT NULL
) STRICT;
CREATE TABLE vectors (
    passage INTEGER PRIMARY KEY,
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
KEY_BYTES = 8

SEEN = (
    "SELECT v.passage, v.scale, v.numbers"
    " FROM vectors v JOIN passages p ON p.key = v.passage JOIN memories m ON m.key = p.memory"
    f" WHERE v.model = :model AND {VISIBLE} AND {FITTING} AND {BELIEVED}"
)


def want(db: Database, passage: int) -> None:
    """Note that a passage has no vector yet."""
    db.execute("INSERT INTO vectors_wanted VALUES (?)", passage)


def no_longer_want(db: Database, passage: int) -> None:
    """A passage has its vector, or is gone."""
    db.execute("DELETE FROM vectors_wanted WHERE passage = ?", passage)


def want_all(db: Database) -> None:
    """Forget every vector, because another model is to make them."""
    with db.transaction():
        db.index.forget_vectors()
        db.execute("INSERT INTO vectors_wanted SELECT key FROM passages WHERE TRUE ON CONFLICT DO NOTHING")


def wanted(db: Database, limit: int) -> list[tuple[int, str]]:
    """Passages that have no vector yet, newest first, with their texts."""
    rows = db.execute(
        # An outer join fixes the order: else all words are read to find that nothing is wanted.
        "SELECT v.passage, w.text FROM vectors_wanted v LEFT JOIN words w ON w.rowid = v.passage"
        " ORDER BY v.passage DESC LIMIT ?",
        limit,
    )
    return [(row[0], row[1]) for row in rows]


def checksum(scale: float, numbers: bytes) -> int:
    """What tells a vector from a damaged one."""
    return zlib.crc32(struct.pack("<d", scale) + numbers)


def seen(db: Database, query: Query, model: str, likely: list[int]) -> list[Vector]:
    """Of the likely passages, the ones that may answer the query."""
    rows = db.execute(
        f"{SEEN} AND v.passage IN (SELECT DISTINCT CAST(value AS BIGINT) FROM json_each(:likely))",
        bound(query) | {"model": model, "likely": json.dumps(likely)},
    )
    return [Vector(*row) for row in rows]


def fitting(db: Database, query: Query, model: str, limit: int) -> list[Vector]:
    """Every passage that may answer the query, if there are not more than the limit; else none."""
    rows = db.execute(f"{SEEN} LIMIT :limit", bound(query) | {"model": model, "limit": limit + 1})
    return [Vector(*row) for row in rows] if len(rows) <= limit else []


def of_passages(db: Database, model: str, passages: list[int]) -> list[Vector]:
    """The vectors of certain passages."""
    rows = db.execute(
        "SELECT passage, scale, numbers FROM vectors"
        " WHERE model = ? AND passage IN (SELECT DISTINCT CAST(value AS BIGINT) FROM json_each(?))",
        model, json.dumps(passages),
    )  # fmt: skip
    return [Vector(*row) for row in rows]


def count(db: Database) -> tuple[int, int]:
    """How many passages have a vector, and how many still want one."""
    row = db.one("SELECT (SELECT count(*) FROM vectors), (SELECT count(*) FROM vectors_wanted)")
    return (row[0], row[1]) if row else (0, 0)


def waiting(db: Database) -> int:
    """How many passages have no vector yet."""
    return int(db.value("SELECT count(*) FROM vectors_wanted"))


def model(db: Database) -> str | None:
    """The model that made the vectors, if there are any."""
    row = db.one("SELECT model FROM vectors LIMIT 1")
    return row[0] if row else None


def place(scope: str, repo: str) -> int:
    """A number for scope and repository, so that blocks can be narrowed without asking the rows."""
    digest = hashlib.blake2b(f"{scope}\0{repo}".encode(), digest_size=KEY_BYTES).digest()
    return int.from_bytes(digest, "little", signed=True)
