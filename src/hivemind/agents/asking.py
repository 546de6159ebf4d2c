"""Out of any agent's payload: which session asks, where, and what the person said."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivemind.agents.base import Told, member
from hivemind.model.session import Observation, Seen

SESSION = ("session_id", "sessionId", "sessionID", "taskId")
DIRECTORY = ("cwd", "directory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What an answer depends on."""

    session: str
    directory: Path | None
    prompt: str


def asked(told: Told, payload: Mapping[str, Any]) -> Asked:
    """As the payload decodes; an event that is nothing to record still names its session."""
    seen = [one for one in told if isinstance(one, Observation)]
    prompt = next((one.text for one in seen if one.seen is Seen.PROMPT), "")
    if seen:
        return Asked(session=seen[0].session_id, directory=_directory(seen[0].directory), prompt=prompt)
    roots = payload.get("workspaceRoots")
    named = [str(payload.get(name) or "") for name in DIRECTORY] + [str(one) for one in roots or ()][:1]
    session = str(member(payload, "sessionContext").get("rootSessionId") or "")
    return Asked(
        session=session or next(filter(None, (str(payload.get(name) or "") for name in SESSION)), ""),
        directory=_directory(next(filter(None, named), "")),
        prompt="",
    )


def _directory(path: str) -> Path | None:
    return Path(path) if path and os.path.isdir(path) else None
