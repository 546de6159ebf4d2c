"""Search in SQLite: words by FTS5, meaning by vectors of bytes.

Every vector is a row. Each 256 rows are also packed into a block with only the signs of their numbers, for a quick
first comparison. Blocks and vectors only propose candidates: the statement that reads a candidate's text also checks
whether its memory is visible. NumPy is loaded only to compare vectors, not to write a memory.
"""

import json
from array import array
from collections.abc import Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from hivemind.lazy import LazyModule
from hivemind.model.recall import Query
from hivemind.model.scope import Visibility
from hivemind.store.conditions import MAX_MATCHES, VISIBLE, bind_filters, bind_sight, pick_rare_words
from hivemind.store.database import Database, PassageHit, Row, Vector, WordsOfPassage
from hivemind.store.projections import session_passages, words
from hivemind.store.projections.vectors import SESSION_SCOPE, checksum, hash_place
from hivemind.text.search_terms import extract_phrases, extract_terms, is_unspaced
from hivemind.text.thesaurus import expand_question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hivemind.store import binary_index
else:
    # It loads NumPy, which most processes do not need: a third of the import time of the application.
    binary_index = LazyModule("store.binary_index")

BEST_MATCHES = (
    "SELECT rowid, -bm25(words, :text, :parts, :context, :around) AS score FROM words"
    " WHERE words MATCH :asked ORDER BY score DESC LIMIT :looked_at"
)
SEARCH_SESSIONS = (
    "WITH best AS MATERIALIZED ("
    "SELECT rowid AS key, -bm25(session_words, :text, :parts) AS score FROM session_words"
    " WHERE session_words MATCH :asked ORDER BY score DESC LIMIT :looked_at)"
    f" SELECT best.key FROM best JOIN session_passages p ON p.key = best.key {session_passages.OBSERVATION}"
    f" JOIN sessions s ON s.id = o.session_id WHERE {session_passages.VISIBLE_PASSAGE}"
    # The newer of two equal passages comes first.
    " ORDER BY best.score DESC, best.key DESC LIMIT :limit"
)
FEW_PER_HIT, MANY_PER_HIT = 2, 4
"""How many matches are looked at per wanted hit, before all matches are: sorting and returning more takes longer."""
WEIGHTS = {"text": 1.0, "parts": 0.5, "context": 0.6, "around": 0.35}
"""Of the columns of ``words`` in BM25; docs/explanation/recall.md says what each holds."""
BLOCK_VECTORS = 256
COUNTS_SECONDS = 300.0
"""How long counts of common words are kept. They only say which words to leave out, and change slowly."""


class SqliteSearch:
    """The search index of one open file."""

    def __init__(self, db: Database, stem: Any) -> None:
        self._db = db
        self._stem = stem
        self._signs: binary_index.Signs | None = None
        self._generation = -1
        self._common_counts: dict[str, dict[str, int]] = {}
        self._counted_at = monotonic()

    @property
    def size(self) -> int:
        """How many passages of memories are in blocks, and a little for those not yet in one."""
        return (self._signs.memory_count if self._signs else 0) + BLOCK_VECTORS // 8

    def put(self, passages: Sequence[WordsOfPassage]) -> None:
        """Index passages by their words."""
        self._db.many("INSERT INTO words (rowid, text, parts, context, around) VALUES (?, ?, ?, ?, ?)", passages)

    def set_context(self, passage: int, context: str, around: str) -> None:
        """Replace the context of a passage."""
        self._db.execute("UPDATE words SET context = ?, around = ? WHERE rowid = ?", context, around, passage)

    def remove(self, passage: int) -> None:
        """Delete a passage and its vector for good."""
        self._db.execute("DELETE FROM words WHERE rowid = ?", passage)
        self._delete_vector(passage)

    def search(self, query: Query, limit: int) -> list[PassageHit]:
        """Visible passages that match the query and were current at its time, best first."""
        expression = _match_expression(query.text, self._pick_rare_words(expand_question(query.text)))
        if not expression:
            return []
        values = WEIGHTS | {"asked": expression}
        for looked_at in (FEW_PER_HIT * limit, MANY_PER_HIT * limit, -1):
            matches = self._db.execute(BEST_MATCHES, values | {"looked_at": looked_at})
            hits = self._read_visible(query, matches, limit)
            # Ids decide among equal scores, so none of those that were not looked at may be equal to the last hit.
            if len(matches) != looked_at or (len(hits) == limit and hits[-1].score > matches[-1][1]):
                break
        return hits

    def _read_visible(self, query: Query, matches: Sequence[Row], limit: int) -> list[PassageHit]:
        """The best passages that are visible; matches are keys and scores, best first, and ids decide among equals."""
        hits: list[PassageHit] = []
        start, count = 0, limit * 5 // 4
        while start < len(matches) and len(hits) < limit:
            end = start + count
            # Equal scores stay together, so that the same query always gives the same order.
            while end < len(matches) and matches[end][1] == matches[end - 1][1]:
                end += 1
            page = words.find_visible(self._db, query, dict(matches[start:end]))
            hits += sorted(page, key=lambda hit: (-hit.score, hit.memory_id))
            # Mostly the first page is enough. Where many are not visible, few pages should be.
            start, count = end, 2 * count
        return hits[:limit]

    def find_unknown(self, words: Sequence[str]) -> list[str]:
        """Words that no passage has, whoever may see it."""
        counts = self._count_passages(words)
        return [word for word in words if not counts[word]]

    def find_with_words(self, any_of: Sequence[Sequence[str]], repo: str, limit: int) -> list[int]:
        """Keys of the newest memories of a repository or the user whose current text has all words of any group."""
        escaped_groups = ([word.replace('"', '""') for word in group] for group in any_of)
        groups = ["(" + " AND ".join(f'"{word}"' for word in group) + ")" for group in escaped_groups]
        if not groups:
            return []
        rows = self._db.execute(
            "SELECT DISTINCT m.key FROM words JOIN passages p ON p.key = words.rowid"
            " JOIN memories m ON m.key = p.memory WHERE words MATCH :asked AND p.until = ''"
            " AND m.repo IN ('', :repo) ORDER BY words.rowid DESC LIMIT :limit",
            {"asked": f"text : ({' OR '.join(groups)})", "repo": repo, "limit": limit},
        )
        return [row[0] for row in rows]

    def is_word_elsewhere(self, word: str, except_in: Iterable[str]) -> bool:
        """Whether any other memory has a word in one of its texts."""
        row = self._db.one(
            "SELECT 1 FROM words JOIN passages p ON p.key = words.rowid JOIN memories m ON m.key = p.memory"
            " WHERE words MATCH ? AND m.id NOT IN (SELECT value FROM json_each(?)) LIMIT 1",
            'text : "' + word.replace('"', '""') + '"', json.dumps(list(except_in)),
        )  # fmt: skip
        return row is not None

    def store_vectors(self, model: str, vectors: Iterable[Vector]) -> None:
        """Index passages by their vectors; pack a block whenever there are enough."""
        with self._db.transaction():
            for vector in vectors:
                self._delete_vector(vector.passage)
                self._db.execute(
                    "INSERT INTO vectors SELECT ?1, ?2, NULL, ?3, ?4, ?5 WHERE EXISTS ("
                    "SELECT 1 FROM passages WHERE key = ?1) OR EXISTS ("
                    "SELECT 1 FROM session_passages WHERE key = -?1)",
                    vector.passage, model, vector.scale, vector.numbers, checksum(vector.scale, vector.numbers),
                )  # fmt: skip
            while len(unpacked_rows := self._read_unpacked()) == BLOCK_VECTORS:
                self._pack(unpacked_rows)

    def delete_vectors(self) -> None:
        """Delete every vector."""
        self._db.execute("DELETE FROM vectors")
        self._db.execute("DELETE FROM vector_blocks")

    def find_likely(self, model: str, query_vector: "NDArray[np.float32]", sight: Visibility, limit: int) -> list[int]:
        """Passages in sight whose signs differ least from the query's, and all in sight that are in no block yet."""
        unpacked_rows = self._db.execute(
            "SELECT v.passage FROM vectors v JOIN passages p ON p.key = v.passage JOIN memories m ON m.key = p.memory"
            f" WHERE v.block IS NULL AND {VISIBLE}",
            bind_sight(sight),
        )
        return [*self._refresh_signs().find_nearest(query_vector, sight, limit), *(row[0] for row in unpacked_rows)]

    def find_likely_in_sessions(self, query_vector: "NDArray[np.float32]", sight: Visibility, limit: int) -> list[int]:
        """Vector keys of passages of sessions that are probably similar, as ``find_likely`` finds those of memories."""
        unpacked_rows = self._db.execute("SELECT passage FROM vectors WHERE block IS NULL AND passage < 0")
        nearest = self._refresh_signs().find_nearest(query_vector, sight, limit, of_sessions=True)
        return [*nearest, *(row[0] for row in unpacked_rows)]

    def search_sessions(self, query: Query, limit: int) -> list[int]:
        """Keys of visible passages of sessions that match the query by words, best first."""
        expression = _match_expression(
            query.text, self._pick_rare_words(extract_terms(query.text), "session_word_counts")
        )
        if not expression:
            return []
        values = bind_filters(query) | WEIGHTS | {"asked": expression, "limit": limit}
        rows = self._db.execute(SEARCH_SESSIONS, values | {"looked_at": MANY_PER_HIT * limit})
        if len(rows) < limit:
            rows = self._db.execute(SEARCH_SESSIONS, values | {"looked_at": -1})
        return [row[0] for row in rows]

    def count_session_passages(self, words: Sequence[str]) -> dict[str, int]:
        """How many passages of sessions have each word, whoever may see them."""
        return self._count_passages(words, "session_word_counts")

    def _refresh_signs(self) -> "binary_index.Signs":
        """Load the blocks that are new, or all of them after the tables were rebuilt."""
        # Creating tables raises it, so it tells a rebuild by any process.
        generation = self._db.value("PRAGMA schema_version")
        if self._signs is None or generation != self._generation:
            self._signs, self._generation = binary_index.Signs(), generation
        self._signs.add(
            self._db.execute(
                "SELECT key, passages, places, signs FROM vector_blocks WHERE key > ? ORDER BY key",
                self._signs.last_block,
            )
        )
        return self._signs

    def _read_unpacked(self) -> list[Row]:
        """Vectors not yet in a block: passage, scope, repository and numbers."""
        return self._db.execute(
            "SELECT v.passage, coalesce(m.scope, ?), coalesce(m.repo, s.repo, ''), v.numbers FROM vectors v"
            " LEFT JOIN passages p ON p.key = v.passage LEFT JOIN memories m ON m.key = p.memory"
            f" LEFT JOIN events e ON e.position = -v.passage >> {session_passages.ORDINAL_BITS}"
            " LEFT JOIN observations o ON o.id = e.id LEFT JOIN sessions s ON s.id = o.session_id"
            " WHERE v.block IS NULL ORDER BY v.passage LIMIT ?",
            SESSION_SCOPE,
            BLOCK_VECTORS,
        )

    def _pack(self, rows: list[Row]) -> None:
        block = self._db.value(
            "INSERT INTO vector_blocks (passages, places, signs) VALUES (?, ?, ?) RETURNING key",
            array("q", [row[0] for row in rows]).tobytes(),
            array("q", [hash_place(row[1], row[2]) for row in rows]).tobytes(),
            binary_index.pack_signs([row[3] for row in rows]),
        )
        self._db.many("UPDATE vectors SET block = ? WHERE passage = ?", [(block, row[0]) for row in rows])

    def _delete_vector(self, passage: int) -> None:
        """Destroy a passage's vector in its row and in its block."""
        row = self._db.one("DELETE FROM vectors WHERE passage = ? RETURNING block", passage)
        if row is None or row[0] is None:
            return
        block = self._db.one("SELECT passages, signs FROM vector_blocks WHERE key = ?", row[0])
        assert block is not None
        keys, signs = array("q", block[0]), bytearray(block[1])
        slot, width = keys.index(passage), len(signs) // len(keys)
        # Zeroed, not cut out, so that the other vectors of the block keep their slots.
        keys[slot] = 0
        signs[slot * width : (slot + 1) * width] = bytes(width)
        sql = "UPDATE vector_blocks SET passages = ?, signs = ? WHERE key = ?"
        self._db.execute(sql, keys.tobytes(), bytes(signs), row[0])

    def _pick_rare_words(self, words: list[str], counts_table: str = "word_counts") -> list[str]:
        counts = self._count_passages(words, counts_table)
        # FTS5 scores every row by every term, also by those that no passage has, such as most grams of a name. What the
        # tokenizer may split has no count of its own, so it stays.
        words = [word for word in words if counts[word] or not word.isalnum()]
        return pick_rare_words(words, [counts[word] for word in words])

    def _count_passages(self, words: Sequence[str], counts_table: str = "word_counts") -> dict[str, int]:
        """How many passages have each word, whoever may see them; of common words, how many had it minutes ago."""
        stems = self._stem(words)
        common = self._find_common_counts(counts_table)
        uncounted = [stem for stem in stems if stem not in common]
        count_sql = f"SELECT term, doc FROM {counts_table} WHERE term IN (SELECT value FROM json_each(?))"
        counts: dict[str, int] = dict(self._db.execute(count_sql, json.dumps(uncounted))) if uncounted else {}
        common.update((stem, count) for stem, count in counts.items() if count > MAX_MATCHES)
        return {word: counts.get(stem) or common.get(stem, 0) for word, stem in zip(words, stems, strict=True)}

    def _find_common_counts(self, counts_table: str) -> dict[str, int]:
        """Return the counts of common stems that this process knows; counting one visits every passage that has it."""
        if monotonic() - self._counted_at > COUNTS_SECONDS:
            self._common_counts, self._counted_at = {}, monotonic()
        return self._common_counts.setdefault(counts_table, {})


def _match_expression(question: str, words: list[str]) -> str:
    """An FTS5 expression for any of the words and all of the quoted phrases."""
    any_word = " OR ".join(map(_match_term, words))
    quoted_phrases = [f'"{phrase}"' for phrase in extract_phrases(question)]
    return " AND ".join([*quoted_phrases, f"({any_word})"] if any_word else quoted_phrases)


def _match_term(term: str) -> str:
    """An FTS5 expression for one term."""
    # A pair that stands alone is also a word of the text, which would count twice.
    columns = "{parts context around} : " if is_unspaced(term) else ""
    return f'{columns}"{term}"'
