"""WHO we listen to: what differs from one coding agent to the next, a module each.

The modules are imported when they are asked for: hook and command line pass here at every start, and importing
typing would cost the hook more than its work.
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
    """The agent of this name."""
    if name not in NAMES:
        meant = did_you_mean(name, NAMES) or f" These are: {', '.join(NAMES)}."
        raise InvalidInput(f"{name!r} is not an agent we know.{meant}")
    # One of them has the name of a statement.
    agent: Agent = _module("continue_" if name == "continue" else name.replace("-", "_"))
    return agent


def asked(name: str, event: str, payload: Mapping[str, Any]) -> Asked:
    """Which session asks, where, and what the person said."""
    found: Asked = _module("asking").asked(of(name).decode(event, payload, ""), payload)
    return found


def _module(name: str) -> Any:
    import importlib

    return importlib.import_module(f"hivemind.agents.{name}")
