"""Search in Postgres: words by a GIN index over stems, meaning by an HNSW graph over half-precision vectors.

What matches is asked of three functions that see only the stems and vectors (see ``migrations/0003_search.sql``) and
name the team; who may see what they found is asked here, below row-level security, in the same statement that reads it.
"""

import json
import math
import re
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hivemind.model.recall import Query
from hivemind.model.scope import Scope, Sight
from hivemind.model.words import phrases, terms
from hivemind.store.database import Database, Found, Vector
from hivemind.store.projections.filters import BELIEVED, FITTING, bound, telling
from hivemind.store.projections.vectors import place
from hivemind.store.projections.words import FOUND
from hivemind.store.visibility import VISIBLE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEMS = (
    "setweight(to_tsvector('hivemind.words', :text), 'A') || setweight(to_tsvector('hivemind.words', :parts), 'B')"
    " || setweight(to_tsvector('hivemind.words', :context), 'C')"
    " || setweight(to_tsvector('hivemind.words', :around), 'D') || array_to_tsvector(ARRAY[team()::text])"
)
COUNTED = (
    "INSERT INTO word_counts (term, doc)"
    " SELECT lexeme, 1 FROM words, unnest(stems) WHERE rowid = ? ORDER BY lexeme"
    " ON CONFLICT (team_id, term) DO UPDATE SET doc = word_counts.doc + 1"
)
UNCOUNTED = (
    "UPDATE word_counts SET doc = doc - 1 WHERE term IN (SELECT lexeme FROM words, unnest(stems) WHERE rowid = ?)"
)
SEARCH = (
    "WITH best AS MATERIALIZED ("
    "SELECT key, score FROM matching(:asked::tsquery, :terms::tsquery[], :weights::real[], :looked_at)),"
    " seen AS MATERIALIZED ("
    "SELECT best.key, best.score, m.id FROM best JOIN passages p ON p.key = best.key"
    f" JOIN memories m ON m.key = p.memory WHERE {VISIBLE} AND {FITTING} AND {BELIEVED}"
    " ORDER BY best.score DESC, m.id LIMIT :limit)"
    f" SELECT {FOUND}, seen.score FROM seen JOIN passages p ON p.key = seen.key"
    " JOIN memories m ON m.key = p.memory JOIN words w ON w.rowid = p.key ORDER BY seen.score DESC, m.id"
)
COUNTS = (
    "SELECT s.stem, coalesce(c.doc, 0), coalesce(t.doc, 0) FROM ("
    "SELECT DISTINCT (ts_lexize('hivemind.stem', word))[1] AS stem FROM unnest(?::text[]) AS w (word)) s"
    " LEFT JOIN word_counts c ON c.term = s.stem LEFT JOIN word_counts t ON t.term = team()::text ORDER BY s.stem"
)
LOOKED_AT = 4
WORD = re.compile(r"[^\W_]{1,500}")
"""Postgres indexes no word of more than 2,046 bytes."""


class Search:
    """The index of one team."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._size = 0

    @property
    def size(self) -> int:
        """How many passages the team had when it was last searched."""
        return self._size + 1

    def put(self, passage: int, *, text: str, parts: str, context: str, around: str) -> None:
        """Let a passage be found by its words."""
        cut = {"text": _cut(text), "parts": _cut(parts), "context": _cut(context), "around": _cut(around)}
        self._db.execute(
            "INSERT INTO words (rowid, text, context, around, stems)"
            f" VALUES (:passage, :said, :known, :beside, {STEMS})",
            cut | {"passage": passage, "said": text, "known": context, "beside": around},
        )
        self._db.execute(COUNTED, passage)

    def surround(self, passage: int, context: str, around: str) -> None:
        """Change what is known around a passage."""
        self._uncount(passage)
        self._db.execute(
            "UPDATE words SET context = :known, around = :beside, stems = ts_filter(stems, '{a,b}')"
            " || setweight(to_tsvector('hivemind.words', :context), 'C')"
            " || setweight(to_tsvector('hivemind.words', :around), 'D') || array_to_tsvector(ARRAY[team()::text])"
            " WHERE rowid = :passage",
            {"context": _cut(context), "around": _cut(around), "passage": passage, "known": context, "beside": around},
        )
        self._db.execute(COUNTED, passage)

    def remove(self, passage: int) -> None:
        """Take a passage out for good, its vector with it."""
        self._uncount(passage)
        self._db.execute("DELETE FROM words WHERE rowid = ?", passage)
        self._db.execute("DELETE FROM vectors WHERE passage = ?", passage)

    def search(self, query: Query, limit: int) -> list[Found]:
        """Passages in sight that were believed at the query's moment, the best fitting first."""
        weights = self._telling(terms(query.text))
        together = [_phrase(self._stems(WORD.findall(_plain(phrase)))) for phrase in phrases(query.text)]
        if not weights and not together:
            return []
        any_word = " | ".join(weights)
        asked = " & ".join([*together, f"({any_word})"] if any_word else together)
        scored = weights or dict.fromkeys(together, 1.0)
        values = bound(query) | {
            "asked": asked,
            "terms": list(scored),
            "weights": list(scored.values()),
            "limit": limit,
        }
        rows = self._db.execute(SEARCH, values | {"looked_at": LOOKED_AT * limit})
        if len(rows) < limit:
            rows = self._db.execute(SEARCH, values | {"looked_at": None})
        return [Found(*row) for row in rows]

    def sharing(self, any_of: Sequence[Sequence[str]], repo: str, limit: int) -> list[int]:
        """Keys of the newest memories of a repository, or of the user, whose text today has all words of a group."""
        words = list(dict.fromkeys(word for group in any_of for word in group))
        cut = {word: WORD.findall(_plain(word)) for word in words}
        stems = iter(self._stems([part for parts in cut.values() for part in parts]))
        phrases = {word: _phrase([next(stems) for _ in parts], "A") for word, parts in cut.items()}
        groups = [" & ".join(filter(None, (phrases[word] for word in group))) for group in any_of]
        asked = " | ".join(f"({group})" for group in groups if group)
        if not asked:
            return []
        rows = self._db.execute(
            "SELECT m.key FROM saying(:asked::tsquery, NULL) AS found (key) JOIN passages p USING (key)"
            " JOIN memories m ON m.key = p.memory WHERE p.until = '' AND m.repo IN ('', :repo)"
            " GROUP BY m.key ORDER BY max(p.key) DESC LIMIT :limit",
            {"asked": asked, "repo": repo, "limit": limit},
        )
        return [row[0] for row in rows]

    def is_said_elsewhere(self, word: str, except_in: Iterable[str]) -> bool:
        """Whether any memory but these has a word in one of its texts."""
        asked = _phrase(self._stems(WORD.findall(_plain(word))), "A")
        own = {
            row[0]
            for row in self._db.execute(
                "SELECT p.key FROM passages p JOIN memories m ON m.key = p.memory"
                " WHERE m.id IN (SELECT value FROM json_each(?))",
                json.dumps(list(except_in)),
            )
        }
        # Of one more than there are of its own, one at least is another's.
        found = self._db.execute("SELECT saying(?::tsquery, ?)", asked, len(own) + 1) if asked else []
        return any(row[0] not in own for row in found)

    def keep(self, model: str, vectors: Iterable[Vector]) -> None:
        """Let passages that still exist be found by their meaning."""
        with self._db.transaction():
            for vector in vectors:
                self._db.execute("DELETE FROM vectors WHERE passage = ?", vector.passage)
                held = self._db.one(
                    "SELECT m.scope, m.repo FROM passages p JOIN memories m ON m.key = p.memory WHERE p.key = ?",
                    vector.passage,
                )
                if held:
                    self._db.execute(
                        "INSERT INTO vectors VALUES (?, ?, ?, ?, ?, ?::halfvec)",
                        vector.passage, model, vector.scale, vector.numbers, place(*held), _written(vector),
                    )  # fmt: skip

    def forget_vectors(self) -> None:
        """Let go of every vector."""
        self._db.execute("DELETE FROM vectors")

    def likely(self, asked: "NDArray[np.float32]", sight: Sight, limit: int) -> list[int]:
        """The passages in sight nearest to the question, most of them at least."""
        places = [place(scope, repo) for scope in Scope for repo in (*sight.repos, "")]
        rows = self._db.execute(
            "SELECT near(:asked::halfvec, :places::bigint[], :everywhere, :limit)",
            {"asked": str(asked.tolist()), "places": places, "everywhere": sight.everywhere, "limit": limit},
        )
        return [row[0] for row in rows]

    def _uncount(self, passage: int) -> None:
        self._db.execute(UNCOUNTED, passage)
        self._db.execute("DELETE FROM word_counts WHERE doc = 0")

    def _stems(self, words: Sequence[str]) -> list[str]:
        """Words as the index keeps them."""
        cut = (
            "SELECT (ts_lexize('hivemind.stem', word))[1]"
            " FROM unnest(?::text[]) WITH ORDINALITY AS w (word, place) ORDER BY place"
        )
        return [row[0] for row in self._db.execute(cut, list(words))] if words else []

    def _telling(self, asked: list[str]) -> dict[str, float]:
        """The rarest of the words, each with how much it tells."""
        cut = [word for one in asked for word in WORD.findall(_plain(one))]
        rows = self._db.execute(COUNTS, cut) if cut else []
        self._size = max((row[2] for row in rows), default=0)
        counts = {row[0]: row[1] for row in rows}
        kept = telling(list(counts), list(counts.values()))
        return {_lexeme(stem): math.log(1 + self._size / (1 + counts[stem])) for stem in kept}


def _plain(text: str) -> str:
    """Without case and accents."""
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text).lower()
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _cut(text: str) -> str:
    """Words and nothing between them that Postgres could read something into."""
    return " ".join(WORD.findall(_plain(text)))


def _lexeme(stem: str, weight: str = "") -> str:
    return f"'{stem}'" + (f":{weight}" if weight else "")


def _phrase(stems: Sequence[str], weight: str = "") -> str:
    """Words that stand one after the other."""
    return " <-> ".join(_lexeme(stem, weight) for stem in stems)


def _written(vector: Vector) -> str:
    return "[" + ",".join(f"{number * vector.scale:.5g}" for number in array("b", vector.numbers)) + "]"
