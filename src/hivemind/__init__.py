"""Persistent memory for AI coding agents that a team can trust.

    import hivemind

    with hivemind.open() as mind:
        mind.remember("Deploys run from main only", tags=["deploy"])
        for hit in mind.recall("how do we deploy?"):
            print(hit.memory.text)

``open`` returns a ``Hivemind``, which has a method for everything; ``AsyncHivemind`` has the same verbs for asyncio.
``connect`` opens SQL for reading, and ``embed`` returns the vector of a text. All errors are ``HivemindError``;
``hivemind.errors`` lists them.
"""

# Only for type checkers, which know the name; importing typing would cost the hook more than its work.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hivemind.async_hivemind import AsyncHivemind
    from hivemind.errors import HivemindError
    from hivemind.hivemind import Hivemind
    from hivemind.model.memory import Kind, Memory
    from hivemind.model.recall import Hit, Recall
    from hivemind.model.scope import Scope
    from hivemind.sql import connect, embed

    open = Hivemind.open

__version__ = "0.3.0"
__all__ = [
    "AsyncHivemind",
    "Hit",
    "Hivemind",
    "HivemindError",
    "Kind",
    "Memory",
    "Recall",
    "Scope",
    "connect",
    "embed",
    "open",
]

HOMES = {
    "AsyncHivemind": "hivemind.async_hivemind",
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
    # Python also asks for each module of ours that is imported from here, so ``importlib`` comes later.
    if name != "open" and name not in HOMES:
        # What other memory and vector stores are opened with.
        hint = "; use hivemind.open()" if name.endswith("Client") else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    import importlib

    if name == "open":
        return importlib.import_module("hivemind.hivemind").Hivemind.open
    return getattr(importlib.import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    """List the names that are imported on first use too, for ``dir``, ``help`` and completion."""
    return sorted({*globals(), *__all__})
