"""The supported coding agents, one module each.

Modules are imported on first use: hook and command line import this package at every start, and importing ``typing``
alone would take the hook longer than its work.
"""

from __future__ import annotations

from hivemind.agents.callers import (
    BEFORE_CALL_EVENTS,
    BRIEFED_LATE,
    CONTEXT_EVENTS,
    HEAR_BEFORE_CALLS,
    NAMES,
    detect_agent,
    identify_client,
    identify_hook_agent,
)
from hivemind.errors import InvalidInput, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hivemind.agents.agent import Agent
    from hivemind.agents.decoder import HookRequest

__all__ = [
    "BEFORE_CALL_EVENTS",
    "BRIEFED_LATE",
    "CONTEXT_EVENTS",
    "HEAR_BEFORE_CALLS",
    "NAMES",
    "detect_agent",
    "get_agent",
    "identify_client",
    "identify_hook_agent",
    "parse_request",
]


def get_agent(name: str) -> Agent:
    """Return the agent of this name."""
    if name not in NAMES:
        suggestion = did_you_mean(name, NAMES) or f" Supported are: {', '.join(NAMES)}."
        raise InvalidInput(f"unknown agent {name!r}.{suggestion}")
    # ``continue`` is a keyword of Python and cannot name a module.
    agent: Agent = _import_module("continue_" if name == "continue" else name.replace("-", "_")).AGENT
    return agent


def parse_request(name: str, event: str, payload: Mapping[str, Any]) -> HookRequest:
    """Return session, directory, prompt and call of a hook payload."""
    # A call that is about to be made is read like one that was made and gave no result.
    later_event = BEFORE_CALL_EVENTS.get(event)
    fields = {**payload, "hook_event_name": later_event} if later_event else payload
    observations = get_agent(name).decode(later_event or event, fields, "")
    request: HookRequest = _import_module("decoder").parse_request(observations, payload)
    return request


def _import_module(name: str) -> Any:
    # Here, because a hook imports this package at every start and mostly needs no agent's module.
    import importlib

    return importlib.import_module(f"hivemind.agents.{name}")
