"""The SQL conditions that decide which rows a caller may see."""

import json
from typing import Any

from hivemind.model.scope import Visibility


def visibility_condition(alias: str) -> str:
    """The condition for a table with the columns scope and repo."""
    here = f"{alias}.repo IN (SELECT value FROM json_each(:repos))"
    return f"(:everywhere OR {alias}.scope = 'user' OR {here} OR {alias}.repo = '')"


VISIBLE = visibility_condition("m")
"""Part of every query that looks for memories, also by id, so that an id reveals nothing out of sight."""
SESSION_VISIBLE = "(:everywhere OR s.repo IN (SELECT value FROM json_each(:repos)))"
"""The condition for sessions, which always belong to one repository."""


def bind_sight(sight: Visibility) -> dict[str, Any]:
    """The values for the parameters of ``VISIBLE`` and ``SESSION_VISIBLE``."""
    return {"everywhere": sight.everywhere, "repos": json.dumps(sight.repos)}
