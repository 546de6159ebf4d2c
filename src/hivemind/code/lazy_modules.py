"""The modules of this package that load the parsers, each imported when something of it is first used.

They take a quarter of the application's import time, and most commands are not about code.
"""

from typing import TYPE_CHECKING

from hivemind.lazy import LazyModule

if TYPE_CHECKING:
    from hivemind.code import code_changes, index, links, related_files, versions, watcher
else:
    code_changes = LazyModule("code.code_changes")
    index = LazyModule("code.index")
    links = LazyModule("code.links")
    related_files = LazyModule("code.related_files")
    versions = LazyModule("code.versions")
    watcher = LazyModule("code.watcher")

__all__ = ["code_changes", "index", "links", "related_files", "versions", "watcher"]
