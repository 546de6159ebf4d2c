"""The modules of this package that few commands need, each imported when something of it is first used.

Those that load the parsers take a quarter of the application's import time, and most commands are not about code.
"""

from typing import TYPE_CHECKING

from hivemind.lazy import LazyModule

__all__ = [
    "code_changes",
    "commit_index",
    "edited_symbols",
    "index",
    "links",
    "related_files",
    "versions",
]

if TYPE_CHECKING:
    from hivemind.code import code_changes, commit_index, edited_symbols, index, links, related_files, versions
else:
    globals().update((name, LazyModule(f"code.{name}")) for name in __all__)
