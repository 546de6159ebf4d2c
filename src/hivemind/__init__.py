"""Persistent memory for AI coding agents that a team can trust.

``open`` gives the one object with a method for everything; ``connect`` gives SQL for reading, and
``embed`` the vector of a text.
"""

# Only for type checkers, which know the name; importing typing would cost the hook more than its work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hivemind.app import Hivemind, connect, embed
    from hivemind.errors import HivemindError
    from hivemind.model.memory import Kind, Memory
    from hivemind.model.recall import Hit, Recall
    from hivemind.model.scope import Scope

    open = Hivemind.open

__version__ = "0.2.0"
__all__ = ["Hit", "Hivemind", "HivemindError", "Kind", "Memory", "Recall", "Scope", "connect", "embed", "open"]

HOMES = {
    "Hit": "hivemind.model.recall",
    "Hivemind": "hivemind.app",
    "HivemindError": "hivemind.errors",
    "Kind": "hivemind.model.memory",
    "Memory": "hivemind.model.memory",
    "Recall": "hivemind.model.recall",
    "Scope": "hivemind.model.scope",
    "connect": "hivemind.app",
    "embed": "hivemind.app",
}


def __getattr__(name: str) -> object:
    """Import on first use: the hook and ``--version`` pass here and must not pay for the rest."""
    import importlib

    if name == "open":
        return importlib.import_module("hivemind.app").Hivemind.open
    if name in HOMES:
        return getattr(importlib.import_module(HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
