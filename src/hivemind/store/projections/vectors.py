"""Vectors of passages as bytes: kept beside their text and erased with it.

A vector is a row. Every few hundred rows are also packed into a block that holds only the signs of their numbers,
for a quick first look. Blocks only propose: whether a passage may be seen is asked of its row, in the statement
that reads its vector. This module counts nothing, so that writing a memory does not load a numerical library.
"""

import hashlib
import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hivemind.model.recall import Query
from hivemind.store.database import Database, Row
from hivemind.store.projections.filters import BELIEVED, FITTING, VISIBLE, bound

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


@dataclass(frozen=True, slots=True)
class Vector:
    """A passage's vector in signed bytes."""

    passage: int
    scale: float
    numbers: bytes


def want(db: Database, passage: int) -> None:
    """Note that a passage has no vector yet."""
    db.execute("INSERT INTO vectors_wanted VALUES (?)", passage)


def want_all(db: Database) -> None:
    """Forget every vector, because another model is to make them."""
    with db.transaction():
        db.execute("DELETE FROM vectors")
        db.execute("DELETE FROM vector_blocks")
        db.execute("INSERT OR IGNORE INTO vectors_wanted SELECT key FROM passages")


def wanted(db: Database, limit: int) -> list[tuple[int, str]]:
    """Passages that have no vector yet, newest first, with their texts."""
    rows = db.execute(
        "SELECT v.passage, w.text FROM vectors_wanted v JOIN words w ON w.rowid = v.passage"
        " ORDER BY v.passage DESC LIMIT ?",
        limit,
    )
    return [(row[0], row[1]) for row in rows]


def put(db: Database, model: str, vectors: Iterable[Vector]) -> None:
    """Keep vectors of passages that still exist."""
    for vector in vectors:
        drop(db, vector.passage)
        db.execute(
            "INSERT INTO vectors SELECT key, ?, NULL, ?, ?, ? FROM passages WHERE key = ?",
            model, vector.scale, vector.numbers, checksum(vector.scale, vector.numbers), vector.passage,
        )  # fmt: skip


def checksum(scale: float, numbers: bytes) -> int:
    """What tells a vector from a damaged one."""
    return zlib.crc32(struct.pack("<d", scale) + numbers)


def drop(db: Database, passage: int) -> None:
    """Destroy a passage's vector, in its row and in its block; it is not wanted any more."""
    db.execute("DELETE FROM vectors_wanted WHERE passage = ?", passage)
    row = db.one("DELETE FROM vectors WHERE passage = ? RETURNING block", passage)
    if row is None or row[0] is None:
        return
    held = db.one("SELECT passages, signs FROM vector_blocks WHERE key = ?", row[0])
    assert held is not None
    passages, signs = bytearray(held[0]), bytearray(held[1])
    at = _index(passages, passage)
    width = len(signs) * KEY_BYTES // len(passages)
    passages[at * KEY_BYTES : (at + 1) * KEY_BYTES] = bytes(KEY_BYTES)
    signs[at * width : (at + 1) * width] = bytes(width)
    db.execute("UPDATE vector_blocks SET passages = ?, signs = ? WHERE key = ?", bytes(passages), bytes(signs), row[0])


def unpacked(db: Database, limit: int) -> list[tuple[int, int, bytes]]:
    """Vectors that wait for a block: passage, place and numbers."""
    rows = db.execute(
        "SELECT v.passage, m.scope, m.repo, v.numbers FROM vectors v JOIN passages p ON p.key = v.passage"
        " JOIN memories m ON m.key = p.memory WHERE v.block IS NULL ORDER BY v.passage LIMIT ?",
        limit,
    )
    return [(row[0], place(row[1], row[2]), row[3]) for row in rows]


def pack(db: Database, members: Sequence[int], places: bytes, signs: bytes) -> None:
    """Add a block."""
    keys = b"".join(member.to_bytes(KEY_BYTES, "little") for member in members)
    block = db.value(
        "INSERT INTO vector_blocks (passages, places, signs) VALUES (?, ?, ?) RETURNING key", keys, places, signs
    )
    db.many("UPDATE vectors SET block = ? WHERE passage = ?", [(block, member) for member in members])


def blocks(db: Database, after: int) -> list[Row]:
    """Blocks that were added later: key, passages, places, signs."""
    return db.execute("SELECT key, passages, places, signs FROM vector_blocks WHERE key > ? ORDER BY key", after)


def generation(db: Database) -> int:
    """A number that changes when the tables were derived again and block keys start anew."""
    return int(db.value("PRAGMA schema_version"))


def seen(db: Database, query: Query, model: str, likely: list[int]) -> list[Vector]:
    """Of the likely passages and those not yet in a block, the ones that may answer the query."""
    asked = bound(query) | {"model": model, "likely": json.dumps(likely)}
    rows = db.execute(f"{SEEN} AND v.passage IN (SELECT value FROM json_each(:likely))", asked)
    rows += db.execute(f"{SEEN} AND v.block IS NULL", bound(query) | {"model": model})
    return [Vector(*row) for row in rows]


def of_passages(db: Database, model: str, passages: list[int]) -> list[Vector]:
    """The vectors of certain passages."""
    rows = db.execute(
        "SELECT passage, scale, numbers FROM vectors"
        " WHERE model = ? AND passage IN (SELECT value FROM json_each(?))",
        model, json.dumps(passages),
    )  # fmt: skip
    return [Vector(*row) for row in rows]


def count(db: Database) -> tuple[int, int]:
    """How many passages have a vector, and how many still want one."""
    row = db.one("SELECT (SELECT count(*) FROM vectors), (SELECT count(*) FROM vectors_wanted)")
    return (row[0], row[1]) if row else (0, 0)


def model(db: Database) -> str | None:
    """The model that made the vectors, if there are any."""
    row = db.one("SELECT model FROM vectors LIMIT 1")
    return row[0] if row else None


def place(scope: str, repo: str) -> int:
    """A number for scope and repository, so that blocks can be narrowed without asking the rows."""
    digest = hashlib.blake2b(f"{scope}\0{repo}".encode(), digest_size=KEY_BYTES).digest()
    return int.from_bytes(digest, "little", signed=True)


def _index(passages: bytearray, passage: int) -> int:
    wanted = passage.to_bytes(KEY_BYTES, "little")
    at = passages.find(wanted)
    while at % KEY_BYTES:
        at = passages.find(wanted, at + 1)
    return at // KEY_BYTES
