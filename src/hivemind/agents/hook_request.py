"""Read session, directory and prompt from any agent's hook payload."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hivemind.agents.base import Observations, get_list, get_object, get_text
from hivemind.model.session import Observation, ObservationKind

SESSION_FIELDS = ("session_id", "sessionId", "sessionID", "taskId")
DIRECTORY_FIELDS = ("cwd", "directory")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRequest:
    """The part of a hook payload that its answer depends on."""

    session: str
    directory: Path | None
    prompt: str


def parse_request(decode_results: Observations, payload: Mapping[str, Any]) -> HookRequest:
    """Return session, directory and prompt of a payload, also of an event that is not recorded."""
    observations = [observation for observation in decode_results if isinstance(observation, Observation)]
    if observations:
        session, directory = observations[0].session_id, observations[0].directory
    else:
        session = get_text(get_object(payload, "sessionContext"), "rootSessionId") or get_text(payload, *SESSION_FIELDS)
        directory = get_text(payload, *DIRECTORY_FIELDS) or str(next(iter(get_list(payload, "workspaceRoots")), ""))
    return HookRequest(
        session=session,
        directory=Path(directory) if directory and os.path.isdir(directory) else None,
        prompt=next(
            (observation.text for observation in observations if observation.seen is ObservationKind.PROMPT), ""
        ),
    )
