"""Out of any agent's payload: which session asks, where, and what the person said."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivemind.agents.base import Told, listed, member, named
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
    if seen:
        session, directory = seen[0].session_id, seen[0].directory
    else:
        session = named(member(payload, "sessionContext"), "rootSessionId") or named(payload, *SESSION)
        directory = named(payload, *DIRECTORY) or str(next(iter(listed(payload, "workspaceRoots")), ""))
    return Asked(
        session=session,
        directory=Path(directory) if directory and os.path.isdir(directory) else None,
        prompt=next((one.text for one in seen if one.seen is Seen.PROMPT), ""),
    )
