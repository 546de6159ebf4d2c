"""Which memories a question may be answered from; these conditions stand in every query over memories."""

import json
from collections.abc import Sequence
from typing import Any

from hivemind.model.plain import as_json
from hivemind.model.recall import Query
from hivemind.store.visibility import seen_from

FITTING = (
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
    # Metadata has the wanted values if setting them changes nothing; both engines compare types too.
    " AND (:where = '{}' OR json_patch(m.metadata, :where) = json_patch(m.metadata, '{}'))"
)
"""What the caller asked for. Looking back, status and expiry are judged as they were then."""

BELIEVED = "CASE WHEN :as_of = '' THEN p.until = '' ELSE p.since <= :as_of AND (p.until = '' OR p.until > :as_of) END"
"""Passages that are said today, or were at the time that is asked about."""


AT_MOST, AT_LEAST = 4_000, 2
"""How many passages the words of a question may match together before the commonest are left out."""


def bound(query: Query) -> dict[str, Any]:
    """The values that ``VISIBLE`` and ``FITTING`` name."""
    return {
        **seen_from(query.sight),
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
        "where": as_json(query.where),
    }


def telling(words: Sequence[str], counts: Sequence[int]) -> list[str]:
    """The rarest of the words, as many as keep the search short; common ones move few places and cost most."""
    matches = 0
    kept: list[str] = []
    for word, count in sorted(zip(words, counts, strict=True), key=lambda pair: pair[1]):
        matches += count
        if matches > AT_MOST and len(kept) >= AT_LEAST:
            break
        kept.append(word)
    return kept
