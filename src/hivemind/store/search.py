"""Search in SQLite: words by FTS5, meaning by vectors of bytes.

A vector is a row. Every few hundred rows are also packed into a block that holds only the signs of their numbers,
for a quick first look. Blocks only propose: whether a passage may be seen is asked of its row, in the statement
that reads its vector. Only what compares vectors loads a numerical library; writing a memory does not.
"""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hivemind.model.recall import Query
from hivemind.model.scope import Sight
from hivemind.model.words import phrases, terms
from hivemind.store.database import Database, Found, Row, Vector
from hivemind.store.projections.filters import BELIEVED, FITTING, bound, telling
from hivemind.store.projections.vectors import KEY_BYTES, checksum, place
from hivemind.store.projections.words import FOUND
from hivemind.store.visibility import VISIBLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hivemind.store.signs import Signs

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
    " JOIN memories m ON m.key = p.memory JOIN words w ON w.rowid = p.key ORDER BY seen.score DESC, m.id"
)
LOOKED_AT = 4
WEIGHTS = {"text": 1.0, "parts": 0.5, "context": 0.6, "around": 0.35}
BLOCK = 256


class Search:
    """The index of one open file."""

    def __init__(self, db: Database, stems: Any) -> None:
        self._db = db
        self._stems = stems
        self._signs: Signs | None = None
        self._generation = -1

    @property
    def size(self) -> int:
        """How many passages are in blocks, and a little for those that wait for one."""
        return (len(self._signs) if self._signs else 0) + BLOCK // 8

    def put(self, passage: int, *, text: str, parts: str, context: str, around: str) -> None:
        """Let a passage be found by its words."""
        self._db.execute(
            "INSERT INTO words (rowid, text, parts, context, around) VALUES (?, ?, ?, ?, ?)",
            passage, text, parts, context, around,
        )  # fmt: skip

    def surround(self, passage: int, context: str, around: str) -> None:
        """Change what is known around a passage."""
        self._db.execute("UPDATE words SET context = ?, around = ? WHERE rowid = ?", context, around, passage)

    def remove(self, passage: int) -> None:
        """Take a passage out for good, its vector with it."""
        self._db.execute("DELETE FROM words WHERE rowid = ?", passage)
        self._forget(passage)

    def search(self, query: Query, limit: int) -> list[Found]:
        """Passages in sight that were believed at the query's moment, the best fitting first."""
        asked = _expression(query.text, self._telling(terms(query.text)))
        if not asked:
            return []
        values = bound(query) | WEIGHTS | {"asked": asked, "limit": limit}
        # Most of what matches best is usually in sight; only where it is not, everything that matches is looked at.
        rows = self._db.execute(SEARCH, values | {"looked_at": LOOKED_AT * limit})
        if len(rows) < limit:
            rows = self._db.execute(SEARCH, values | {"looked_at": -1})
        return [Found(*row) for row in rows]

    def sharing(self, any_of: Sequence[Sequence[str]], repo: str, limit: int) -> list[int]:
        """Keys of the newest memories of a repository, or of the user, whose text today has all words of a group."""
        quoted = ([word.replace('"', '""') for word in group] for group in any_of)
        groups = ["(" + " AND ".join(f'"{word}"' for word in group) + ")" for group in quoted]
        if not groups:
            return []
        rows = self._db.execute(
            "SELECT DISTINCT m.key FROM words JOIN passages p ON p.key = words.rowid"
            " JOIN memories m ON m.key = p.memory WHERE words MATCH :asked AND p.until = ''"
            " AND m.repo IN ('', :repo) ORDER BY words.rowid DESC LIMIT :limit",
            {"asked": f"text : ({' OR '.join(groups)})", "repo": repo, "limit": limit},
        )
        return [row[0] for row in rows]

    def is_said_elsewhere(self, word: str, except_in: Iterable[str]) -> bool:
        """Whether any memory but these has a word in one of its texts."""
        row = self._db.one(
            "SELECT 1 FROM words JOIN passages p ON p.key = words.rowid JOIN memories m ON m.key = p.memory"
            " WHERE words MATCH ? AND m.id NOT IN (SELECT value FROM json_each(?)) LIMIT 1",
            'text : "' + word.replace('"', '""') + '"', json.dumps(list(except_in)),
        )  # fmt: skip
        return row is not None

    def keep(self, model: str, vectors: Iterable[Vector]) -> None:
        """Let passages be found by their meaning; a block is packed whenever enough wait for one."""
        with self._db.transaction():
            for vector in vectors:
                self._forget(vector.passage)
                self._db.execute(
                    "INSERT INTO vectors SELECT key, ?, NULL, ?, ?, ? FROM passages WHERE key = ?",
                    model, vector.scale, vector.numbers, checksum(vector.scale, vector.numbers), vector.passage,
                )  # fmt: skip
            while len(waiting := self._unpacked()) == BLOCK:
                self._pack(waiting)

    def forget_vectors(self) -> None:
        """Let go of every vector."""
        self._db.execute("DELETE FROM vectors")
        self._db.execute("DELETE FROM vector_blocks")

    def likely(self, asked: "NDArray[np.float32]", sight: Sight, limit: int) -> list[int]:
        """The passages in sight whose signs differ least from the question's, and those not yet in a block."""
        waiting = self._db.execute("SELECT passage FROM vectors WHERE block IS NULL")
        return [*self._refreshed().likely(asked, sight, limit), *(row[0] for row in waiting)]

    def _refreshed(self) -> "Signs":
        """The signs with the blocks that are new; with all of them, if the tables were derived again."""
        from hivemind.store.signs import Signs

        generation = self._db.value("PRAGMA schema_version")
        if self._signs is None or generation != self._generation:
            self._signs, self._generation = Signs(), generation
        self._signs.add(
            self._db.execute(
                "SELECT key, passages, places, signs FROM vector_blocks WHERE key > ? ORDER BY key",
                self._signs.last_block,
            )
        )
        return self._signs

    def _unpacked(self) -> list[Row]:
        """Vectors that wait for a block: passage, scope, repository and numbers."""
        return self._db.execute(
            "SELECT v.passage, m.scope, m.repo, v.numbers FROM vectors v JOIN passages p ON p.key = v.passage"
            " JOIN memories m ON m.key = p.memory WHERE v.block IS NULL ORDER BY v.passage LIMIT ?",
            BLOCK,
        )

    def _pack(self, waiting: list[Row]) -> None:
        from hivemind.store.signs import packed

        block = self._db.value(
            "INSERT INTO vector_blocks (passages, places, signs) VALUES (?, ?, ?) RETURNING key",
            b"".join(row[0].to_bytes(KEY_BYTES, "little") for row in waiting),
            b"".join(place(row[1], row[2]).to_bytes(KEY_BYTES, "little", signed=True) for row in waiting),
            packed([row[3] for row in waiting]),
        )
        self._db.many("UPDATE vectors SET block = ? WHERE passage = ?", [(block, row[0]) for row in waiting])

    def _forget(self, passage: int) -> None:
        """Destroy a passage's vector, in its row and in its block."""
        row = self._db.one("DELETE FROM vectors WHERE passage = ? RETURNING block", passage)
        if row is None or row[0] is None:
            return
        held = self._db.one("SELECT passages, signs FROM vector_blocks WHERE key = ?", row[0])
        assert held is not None
        passages, signs = bytearray(held[0]), bytearray(held[1])
        at = _place_of(passages, passage)
        width = len(signs) * KEY_BYTES // len(passages)
        passages[at * KEY_BYTES : (at + 1) * KEY_BYTES] = bytes(KEY_BYTES)
        signs[at * width : (at + 1) * width] = bytes(width)
        self._db.execute(
            "UPDATE vector_blocks SET passages = ?, signs = ? WHERE key = ?", bytes(passages), bytes(signs), row[0]
        )

    def _telling(self, asked: list[str]) -> list[str]:
        stems = self._stems(asked)
        found = "SELECT term, doc FROM word_counts WHERE term IN (SELECT value FROM json_each(?))"
        counts: dict[str, int] = dict(self._db.execute(found, json.dumps(stems)))
        return telling(asked, [counts.get(stem, 0) for stem in stems])


def _expression(question: str, telling: list[str]) -> str:
    """Any of the words, and all of the phrases that are in quotes."""
    any_word = " OR ".join(f'"{term}"' for term in telling)
    together = [f'"{phrase}"' for phrase in phrases(question)]
    return " AND ".join([*together, f"({any_word})"] if any_word else together)


def _place_of(passages: bytearray, passage: int) -> int:
    wanted = passage.to_bytes(KEY_BYTES, "little")
    at = passages.find(wanted)
    while at % KEY_BYTES:
        at = passages.find(wanted, at + 1)
    return at // KEY_BYTES
