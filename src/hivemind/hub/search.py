"""Search in Postgres: words with a GIN index over stems; vectors one by one, in a large team with its HNSW graph.

Below row-level security Postgres does not use a GIN index, because its operator is not leakproof. So three functions
(in ``migrations/0001_schema.sql``) run as a role that sees only stems and vectors and filter by team themselves.
The statements here then apply visibility and row-level security to the keys they return.
"""

import json
import math
import re
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from hivemind.model.recall import Query
from hivemind.model.scope import Scope, Visibility
from hivemind.store.conditions import MATCHES_FILTERS, PASSAGE_IS_CURRENT, VISIBLE, bind_filters, pick_rare_words
from hivemind.store.database import Database, PassageHit, Row, Vector, WordsOfPassage
from hivemind.store.projections.vectors import hash_place
from hivemind.text.search_terms import GRAM_MARK, extract_phrases
from hivemind.text.thesaurus import expand_question

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CONTEXT_STEMS = (
    "setweight(to_tsvector('hivemind.words', ?), 'C') || setweight(to_tsvector('hivemind.words', ?), 'D')"
    " || array_to_tsvector(ARRAY[team()::text])"
)
"""The team is a lexeme of every passage, so that the GIN index finds only passages of the team."""
PUT = (
    "INSERT INTO words (rowid, text, context, around, stems) VALUES (?, ?, ?, ?,"
    " setweight(to_tsvector('hivemind.words', ?), 'A') || setweight(to_tsvector('hivemind.words', ?), 'B')"
    f" || {CONTEXT_STEMS})"
)
COUNT_STEMS = (
    "INSERT INTO word_counts (team_id, term, doc) SELECT team_id, lexeme, count(*) FROM words, unnest(stems)"
    " WHERE rowid = ANY(?::bigint[]) GROUP BY team_id, lexeme"
    " ON CONFLICT (team_id, term) DO UPDATE SET doc = word_counts.doc + excluded.doc"
)
UNCOUNT_STEMS = (
    "UPDATE word_counts SET doc = doc - 1 WHERE term IN (SELECT lexeme FROM words, unnest(stems) WHERE rowid = ?)"
)
BEST = "SELECT key, score FROM best_matching(?::tsquery, ?::tsquery[], ?::real[], ?)"
SEARCH = (
    # With every column that is needed of a memory, so that only the texts of the results are read afterwards.
    "WITH seen AS MATERIALIZED ("
    "SELECT best.score, p.key, p.memory, m.id, m.session_id, m.kind, m.trust, m.repo, m.revised_at"
    " FROM unnest(:keys::bigint[], :scores::real[]) AS best (key, score)"
    " JOIN passages p ON p.key = best.key JOIN memories m ON m.key = p.memory"
    f" WHERE {VISIBLE} AND {MATCHES_FILTERS} AND {PASSAGE_IS_CURRENT} ORDER BY best.score DESC, m.id LIMIT :limit)"
    " SELECT seen.key, seen.memory, seen.id, seen.session_id, seen.kind, seen.trust, seen.repo, seen.revised_at,"
    " w.text, w.context, seen.score"
    " FROM seen JOIN words w ON w.rowid = seen.key ORDER BY seen.score DESC, seen.id"
)
STEM_COUNTS = (
    "SELECT s.stem, coalesce(c.doc, 0), coalesce(t.doc, 0) FROM ("
    "SELECT DISTINCT (ts_lexize('hivemind.stem', word))[1] AS stem FROM unnest(?::text[]) AS w (word)) s"
    " LEFT JOIN word_counts c ON c.term = s.stem LEFT JOIN word_counts t ON t.term = team()::text ORDER BY s.stem"
)
CANDIDATES_PER_RESULT = 4
"""Best matches to read per result, as some are not visible; if too few are, the search runs again without a limit."""
WEIGHT_STEPS = 4
"""Weights of terms are between 0.7 and 15, and rounded to quarters."""
MIN_SEARCHED, SEARCHED_SHARE = 1_000, 0.01
"""The rarest words of a question select the passages that all of its words then rank: as many words as match this many
passages together, or this share of a large team."""
BREADTH = 1.8
"""Times the square root of a team's passages, this is how many candidates a search of its graph keeps (``ef_search``).
It then finds at least .97 of the 100 nearest, whatever the size."""
MOST_COMPARED = 10_000
"""Vectors that are compared one by one, in 4 ms of the server's CPU; for more, a graph takes half of that."""
WORD = re.compile(r"[^\W_]{1,500}")
"""At most 500 characters, because Postgres indexes no word of more than 2,046 bytes."""


class PostgresIndex:
    """The search index of one team."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._size = 0

    @property
    def size(self) -> int:
        """Number of passages the team had at the last search, plus one."""
        return self._size + 1

    def put(self, passages: Sequence[WordsOfPassage]) -> None:
        """Index passages by their words."""
        # The texts are stored beside their stems, because results quote them.
        rows = [
            (
                passage.key, passage.text, passage.context, passage.around,
                *map(_extract_words, (passage.text, passage.parts, passage.context, passage.around)),
            )
            for passage in passages
        ]  # fmt: skip
        self._db.many(PUT, rows)
        self._db.execute(COUNT_STEMS, [passage.key for passage in passages])

    def set_context(self, passage: int, context: str, around: str) -> None:
        """Replace the indexed context of a passage."""
        # Counts are per stem, so the old stems are subtracted before the new ones are added.
        self._uncount(passage)
        self._db.execute(
            "UPDATE words SET context = ?, around = ?, stems = ts_filter(stems, '{a,b}') ||"
            f" {CONTEXT_STEMS} WHERE rowid = ?",
            context, around, _extract_words(context), _extract_words(around), passage,
        )  # fmt: skip
        self._db.execute(COUNT_STEMS, [passage])

    def remove(self, passage: int) -> None:
        """Remove a passage and its vector."""
        self._uncount(passage)
        self._db.execute("DELETE FROM words WHERE rowid = ?", passage)
        self._db.execute("DELETE FROM vectors WHERE passage = ?", passage)

    def search(self, query: Query, limit: int) -> list[PassageHit]:
        """Return visible passages that were valid at the query's time, best match first."""
        counts = self._count_terms(expand_question(query.text))
        quoted_phrases = [
            _format_phrase(self._stem_words(WORD.findall(_fold_text(phrase)))) for phrase in extract_phrases(query.text)
        ]
        if not counts and not quoted_phrases:
            return []
        selective_terms = _pick_selective_terms(counts, max(MIN_SEARCHED, round(self._size * SEARCHED_SHARE)))
        any_word = " | ".join(selective_terms)
        tsquery = " & ".join([*quoted_phrases, f"({any_word})"] if any_word else quoted_phrases)
        # ts_rank alone treats rare and common words alike.
        weights = {term: math.log(1 + self._size / (1 + count)) for term, count in counts.items()}
        term_weights = _group_terms(weights) or dict.fromkeys(quoted_phrases, 1.0)
        asked = (tsquery, list(term_weights), list(term_weights.values()))
        candidates = CANDIDATES_PER_RESULT * limit
        hits = self._read_visible(query, self._db.execute(BEST, *asked, candidates), limit)
        # Without a word, only phrases select, and how many passages have one is not known.
        most_matches = sum(counts[term] for term in selective_terms) or self._size
        if len(hits) < limit and most_matches > candidates:
            hits = self._read_visible(query, self._db.execute(BEST, *asked, None), limit)
        return hits

    def _read_visible(self, query: Query, matches: Sequence[Row], limit: int) -> list[PassageHit]:
        """Return those of the matching passages that are visible; keys and scores are given, best first."""
        if not matches:
            return []
        keys, scores = map(list, zip(*matches, strict=True))
        values = bind_filters(query) | {"keys": keys, "scores": scores, "limit": limit}
        return [PassageHit(*row) for row in self._db.execute(SEARCH, values)]

    def find_unknown(self, words: Sequence[str]) -> list[str]:
        """Return the words that no passage of the team has."""
        rows = self._db.execute(
            # A value and not EXISTS, for which Postgres would read all words of the team.
            "SELECT place FROM unnest(?::text[]) WITH ORDINALITY AS w (word, place) WHERE ("
            "SELECT doc FROM word_counts WHERE term = (ts_lexize('hivemind.stem', word))[1]) IS NULL ORDER BY place",
            [_fold_text(word) for word in words],
        )
        return [words[row[0] - 1] for row in rows]

    def find_with_words(self, any_of: Sequence[Sequence[str]], repo: str, limit: int) -> list[int]:
        """Return keys of the newest memories of a repository or the user whose text now has all words of a group."""
        words = list(dict.fromkeys(word for group in any_of for word in group))
        parts_by_word = {word: WORD.findall(_fold_text(word)) for word in words}
        stems = iter(self._stem_words([part for parts in parts_by_word.values() for part in parts]))
        phrases = {word: _format_phrase([next(stems) for _ in parts], "A") for word, parts in parts_by_word.items()}
        groups = [" & ".join(filter(None, (phrases[word] for word in group))) for group in any_of]
        tsquery = " | ".join(f"({group})" for group in groups if group)
        if not tsquery:
            return []
        keys = [row[0] for row in self._db.execute("SELECT saying(?::tsquery, NULL)", tsquery)]
        rows = self._db.execute(
            "SELECT m.key FROM passages p JOIN memories m ON m.key = p.memory"
            " WHERE p.key = ANY(:keys::bigint[]) AND p.until = '' AND m.repo IN ('', :repo)"
            " GROUP BY m.key ORDER BY max(p.key) DESC LIMIT :limit",
            {"keys": keys, "repo": repo, "limit": limit},
        )
        return [row[0] for row in rows]

    def is_word_elsewhere(self, word: str, except_in: Iterable[str]) -> bool:
        """Return whether any memory except these has a word in one of its texts."""
        tsquery = _format_phrase(self._stem_words(WORD.findall(_fold_text(word))), "A")
        own_keys = {
            row[0]
            for row in self._db.execute(
                "SELECT p.key FROM passages p JOIN memories m ON m.key = p.memory"
                " WHERE m.id IN (SELECT value FROM json_each(?))",
                json.dumps(list(except_in)),
            )
        }
        # One more than its own passages is enough: if that many match, at least one belongs to another memory.
        rows = self._db.execute("SELECT saying(?::tsquery, ?)", tsquery, len(own_keys) + 1) if tsquery else []
        return any(row[0] not in own_keys for row in rows)

    def store_vectors(self, model: str, vectors: Iterable[Vector]) -> None:
        """Store the vectors of passages that still exist."""
        by_passage = {vector.passage: vector for vector in vectors}
        with self._db.transaction():
            rows = self._db.execute(
                "SELECT p.key, m.scope, m.repo FROM passages p JOIN memories m ON m.key = p.memory"
                " WHERE p.key = ANY(?::bigint[])",
                list(by_passage),
            )
            self._db.many(
                "INSERT INTO vectors (passage, model, scale, numbers, place, embedding)"
                " VALUES (?, ?, ?, ?, ?, ?::halfvec) ON CONFLICT (team_id, passage) DO UPDATE SET"
                " (model, scale, numbers, place, embedding) ="
                " (excluded.model, excluded.scale, excluded.numbers, excluded.place, excluded.embedding)",
                [
                    (key, model, vector.scale, vector.numbers, hash_place(scope, repo), _format_vector(vector))
                    for key, scope, repo in rows
                    for vector in (by_passage[key],)
                ],
            )

    def delete_vectors(self) -> None:
        """Delete every vector of the team."""
        self._db.execute("DELETE FROM vectors")

    def keep_vectors(self, passages: list[int]) -> None:
        """Delete the vectors of all other passages."""
        self._db.execute("DELETE FROM vectors WHERE passage <> ALL(?::bigint[])", passages)

    def find_likely(self, model: str, query_vector: "NDArray[np.float32]", sight: Visibility, limit: int) -> list[int]:
        """Return the visible passages nearest to the query vector; most of them, if there are many."""
        places = [hash_place(scope, repo) for scope in Scope for repo in (*sight.repos, "")]
        rows = self._db.execute(
            "SELECT nearest_passages("
            ":query::halfvec, :model, :places::bigint[], :everywhere, :limit, :most_compared, :breadth)",
            {
                "query": str(query_vector.tolist()), "model": model, "places": places,
                "everywhere": sight.everywhere, "limit": limit, "most_compared": MOST_COMPARED, "breadth": BREADTH,
            },
        )  # fmt: skip
        return [row[0] for row in rows]

    def find_likely_in_sessions(self, query_vector: "NDArray[np.float32]", sight: Visibility, limit: int) -> list[int]:
        """Return nothing: a hub has no sessions."""
        return []

    def search_sessions(self, query: Query, limit: int) -> list[int]:
        """Return nothing: a hub has no sessions."""
        return []

    def count_session_passages(self, words: Sequence[str]) -> dict[str, int]:
        """Count none: a hub has no sessions."""
        return dict.fromkeys(words, 0)

    def _uncount(self, passage: int) -> None:
        self._db.execute(UNCOUNT_STEMS, passage)
        self._db.execute("DELETE FROM word_counts WHERE doc = 0")

    def _stem_words(self, words: Sequence[str]) -> list[str]:
        """Return the stems of words, in the same order."""
        statement = (
            "SELECT (ts_lexize('hivemind.stem', word))[1]"
            " FROM unnest(?::text[]) WITH ORDINALITY AS w (word, place) ORDER BY place"
        )
        return [row[0] for row in self._db.execute(statement, list(words))] if words else []

    def _count_terms(self, words: list[str]) -> dict[str, int]:
        """Return the rarest words as lexemes, rarest first, with the number of passages that have each."""
        parts = [part for word in words for part in WORD.findall(_fold_text(word))]
        rows = self._db.execute(STEM_COUNTS, parts) if parts else []
        # The count of the team's own lexeme is the number of its passages.
        self._size = max((row[2] for row in rows), default=0)
        counts = {row[0]: row[1] for row in rows}
        stems = pick_rare_words(list(counts), list(counts.values()))
        # What no passage has would be looked for in each of them.
        return {_format_lexeme(stem): counts[stem] for stem in stems if counts[stem]}


def _pick_selective_terms(counts: dict[str, int], max_matches: int) -> list[str]:
    """Return the terms of which a passage must have one."""
    # Grams apart: a gram that few passages are indexed by would displace the word it is part of.
    grams = {term: count for term, count in counts.items() if term.startswith(f"'{GRAM_MARK}")}
    words = {term: count for term, count in counts.items() if term not in grams}
    return [
        term for group in (words, grams) for term in pick_rare_words(list(group), list(group.values()), max_matches)
    ]


def _group_terms(weights: dict[str, float]) -> dict[str, float]:
    """Return the terms of nearly the same weight as one term each, which ranks them together in less time.

    ts_rank of some words joined by OR is the average of the ts_rank of each.
    """
    groups: dict[float, list[str]] = {}
    for term, weight in weights.items():
        groups.setdefault(round(weight * WEIGHT_STEPS) / WEIGHT_STEPS, []).append(term)
    return {" | ".join(terms): weight * len(terms) for weight, terms in groups.items()}


def _fold_text(text: str) -> str:
    """Return the text in lower case and without accents, as SQLite's tokenizer folds it."""
    if text.isascii():
        return text.lower()
    letters = unicodedata.normalize("NFKD", text).lower()
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def _extract_words(text: str) -> str:
    """Return the words separated by spaces, without punctuation that Postgres would parse as URLs, hosts or numbers."""
    return " ".join(WORD.findall(_fold_text(text)))


def _format_lexeme(stem: str, weight: str = "") -> str:
    return f"'{stem}'" + (f":{weight}" if weight else "")


def _format_phrase(stems: Sequence[str], weight: str = "") -> str:
    """Return a tsquery for words that follow each other."""
    return " <-> ".join(_format_lexeme(stem, weight) for stem in stems)


def _format_vector(vector: Vector) -> str:
    return "[" + ",".join(f"{number * vector.scale:.5g}" for number in array("b", vector.numbers)) + "]"
