"""The supported coding agents, one module each.

Modules are imported on first use: hook and command line import this package at every start, and importing ``typing``
alone would take the hook longer than its work.
"""

from __future__ import annotations

from hivemind.agents.callers import NAMES, detect_agent, identify_client, identify_hook_agent
from hivemind.errors import InvalidInput, did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hivemind.agents.agent import Agent

__all__ = ["NAMES", "detect_agent", "get_agent", "identify_client", "identify_hook_agent"]


def get_agent(name: str) -> Agent:
    """Return the agent of this name."""
    if name not in NAMES:
        suggestion = did_you_mean(name, NAMES) or f" Supported are: {', '.join(NAMES)}."
        raise InvalidInput(f"unknown agent {name!r}.{suggestion}")
    # Here, because a hook imports this package at every start and mostly needs no agent's module.
    import importlib

    # ``continue`` is a keyword of Python and cannot name a module.
    module = "continue_" if name == "continue" else name.replace("-", "_")
    agent: Agent = importlib.import_module(f"hivemind.agents.{module}").AGENT
    return agent
