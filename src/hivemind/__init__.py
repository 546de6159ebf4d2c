"""Persistent memory for AI coding agents that a team can trust.

    import hivemind

    with hivemind.open() as mind:
        mind.remember("Deploys run from main only", tags=["deploy"])
        for hit in mind.recall("how do we deploy?"):
            print(hit.memory.text)

``open`` returns a ``Hivemind``, which has a method for everything. ``connect`` opens SQL for reading, and ``embed``
returns the vector of a text. All errors are ``HivemindError``; ``hivemind.errors`` lists them.
"""

# Only for type checkers, which know the name; importing typing would cost the hook more than its work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hivemind.errors import HivemindError
    from hivemind.hivemind import Hivemind
    from hivemind.model.memory import Kind, Memory
    from hivemind.model.recall import Hit, Recall
    from hivemind.model.scope import Scope
    from hivemind.sql import connect, embed

    open = Hivemind.open

__version__ = "0.2.0"
__all__ = ["Hit", "Hivemind", "HivemindError", "Kind", "Memory", "Recall", "Scope", "connect", "embed", "open"]

HOMES = {
    "Hit": "hivemind.model.recall",
    "Hivemind": "hivemind.hivemind",
    "HivemindError": "hivemind.errors",
    "Kind": "hivemind.model.memory",
    "Memory": "hivemind.model.memory",
    "Recall": "hivemind.model.recall",
    "Scope": "hivemind.model.scope",
    "connect": "hivemind.sql",
    "embed": "hivemind.sql",
}


def __getattr__(name: str) -> object:
    """Import on first use: the hook and ``--version`` pass here and must not pay for the rest."""
    import importlib

    if name == "open":
        return importlib.import_module("hivemind.hivemind").Hivemind.open
    if name in HOMES:
        return getattr(importlib.import_module(HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the names that are imported on first use too, for ``dir``, ``help`` and completion."""
    return sorted({*globals(), *__all__})
