"""The supported coding agents, one module each.

Modules are imported on first use: hook and command line import this package at every start, and importing ``typing``
alone would take the hook longer than its work.
"""

from __future__ import annotations

from hivemind.agents.callers import ANSWERED, ANSWERED_ONCE, calling, connected, who_calls
from hivemind.errors import InvalidInput, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from hivemind.agents.asking import Asked
    from hivemind.agents.base import Agent

__all__ = ["ANSWERED", "ANSWERED_ONCE", "NAMES", "asked", "calling", "connected", "of", "who_calls"]

NAMES = (
    *("claude-code", "codex", "cursor", "windsurf", "gemini", "copilot"),
    *("opencode", "qwen", "cline", "continue", "zed"),
)


def of(name: str) -> Agent:
    """Return the agent of this name."""
    if name not in NAMES:
        suggestion = did_you_mean(name, NAMES) or f" Supported are: {', '.join(NAMES)}."
        raise InvalidInput(f"unknown agent {name!r}.{suggestion}")
    # ``continue`` is a keyword of Python and cannot name a module.
    agent: Agent = _import_module("continue_" if name == "continue" else name.replace("-", "_"))
    return agent


def asked(name: str, event: str, payload: Mapping[str, Any]) -> Asked:
    """Return session, directory and prompt of a hook payload."""
    request: Asked = _import_module("asking").asked(of(name).decode(event, payload, ""), payload)
    return request


def _import_module(name: str) -> Any:
    import importlib

    return importlib.import_module(f"hivemind.agents.{name}")
