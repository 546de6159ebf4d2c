"""The SQL conditions that decide which rows a caller may see, and those of a query's filters."""

import json
from collections.abc import Sequence
from typing import Any

from hivemind.model.codec import to_json
from hivemind.model.recall import Query
from hivemind.model.scope import Visibility

_HERE = "(:everywhere OR {0}.scope = 'user' OR {0}.repo IN (SELECT value FROM json_each(:repos)) OR {0}.repo = '')"
VISIBLE = _HERE.format("m")
"""Part of every query that looks for memories, also by id, so that an id reveals nothing out of sight."""
EVENT_VISIBLE = _HERE.format("e")
"""The same condition for entries of the log."""
SESSION_VISIBLE = "(:everywhere OR s.repo IN (SELECT value FROM json_each(:repos)))"
"""The condition for sessions, which always belong to one repository."""


def bind_sight(sight: Visibility) -> dict[str, Any]:
    """The values for the parameters of ``VISIBLE`` and ``SESSION_VISIBLE``."""
    return {"everywhere": sight.everywhere, "repos": json.dumps(sight.repos)}


MATCHES_FILTERS = (
    "(:scope = '' OR m.scope = :scope)"
    " AND (:kinds = '[]' OR m.kind IN (SELECT value FROM json_each(:kinds)))"
    " AND (:tags = '[]' OR EXISTS ("
    "SELECT 1 FROM json_each(m.tags) WHERE value IN (SELECT value FROM json_each(:tags))))"
    " AND (:statuses = '[]' OR :as_of <> '' OR m.status IN (SELECT value FROM json_each(:statuses)))"
    " AND (m.expires_at = '' OR :as_of <> '' OR :true_at <> '' OR m.expires_at > :now)"
    " AND (:true_at = '' OR ((m.valid_from = '' OR m.valid_from <= :true_at)"
    " AND (m.valid_to = '' OR m.valid_to > :true_at)))"
    " AND (:agent = '' OR m.agent = :agent) AND (:since = '' OR m.recorded_at >= :since)"
    " AND (:until = '' OR m.recorded_at < :until)"
    # Metadata has the wanted values if setting them changes nothing. This compares types too, in both engines.
    " AND (:where = '{}' OR json_patch(m.metadata, :where) = json_patch(m.metadata, '{}'))"
)
"""Matches the query's filters. A query about the past does not filter by today's status or expiry."""

PASSAGE_IS_CURRENT = (
    "CASE WHEN :as_of = '' THEN p.until = '' ELSE p.since <= :as_of AND (p.until = '' OR p.until > :as_of) END"
)
"""Matches passages that are current, or were at the query's ``as_of``."""

MAX_MATCHES, MIN_WORDS = 3_000, 2
"""If the words of a query match more passages than this together, the commonest are left out, but two always stay."""


def bind_filters(query: Query) -> dict[str, Any]:
    """The values for the parameters of ``VISIBLE`` and ``MATCHES_FILTERS``."""
    return {
        **bind_sight(query.sight),
        "scope": query.scope or "",
        "kinds": json.dumps(query.kinds),
        "tags": json.dumps(query.tags),
        "statuses": json.dumps(query.statuses),
        "now": query.now,
        "as_of": query.as_of,
        "true_at": query.true_at,
        "agent": query.agent,
        "since": query.since,
        "until": query.until,
        "where": to_json(query.where),
    }


def pick_rare_words(words: Sequence[str], counts: Sequence[int], max_matches: int = MAX_MATCHES) -> list[str]:
    """The rarest words, as many as keep the search fast; common words cost most and change the ranking least."""
    matches = 0
    rare_words: list[str] = []
    for word, count in sorted(zip(words, counts, strict=True), key=lambda pair: pair[1]):
        matches += count
        if matches > max_matches and len(rare_words) >= MIN_WORDS:
            break
        rare_words.append(word)
    return rare_words
