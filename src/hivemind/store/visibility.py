"""The scope predicate: what of the store a caller may see, as a condition of SQL."""

import json
from typing import Any

from hivemind.model.scope import Sight


def visible(alias: str) -> str:
    """The scope predicate for a table with a scope and a repository."""
    here = f"{alias}.repo IN (SELECT value FROM json_each(:repos))"
    return f"(:everywhere OR {alias}.scope = 'user' OR {here} OR {alias}.repo = '')"


VISIBLE = visible("m")
"""It stands in every query that looks for memories, by their ids too."""
SESSION_VISIBLE = "(:everywhere OR s.repo IN (SELECT value FROM json_each(:repos)))"
"""The same for sessions, which are always of one repository."""


def seen_from(sight: Sight) -> dict[str, Any]:
    """The values that ``VISIBLE`` names."""
    return {"everywhere": sight.everywhere, "repos": json.dumps(sight.repos)}
