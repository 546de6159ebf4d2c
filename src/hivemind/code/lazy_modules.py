"""The modules of this package that few commands need, each imported when something of it is first used.

Those that load the parsers take a quarter of the application's import time, and most commands are not about code.
"""

from typing import TYPE_CHECKING

from hivemind.lazy import LazyModule

if TYPE_CHECKING:
    from hivemind.code import blame, code_changes, commit_index, index, links, related_files, versions, watcher
else:
    blame = LazyModule("code.blame")
    code_changes = LazyModule("code.code_changes")
    commit_index = LazyModule("code.commit_index")
    index = LazyModule("code.index")
    links = LazyModule("code.links")
    related_files = LazyModule("code.related_files")
    versions = LazyModule("code.versions")
    watcher = LazyModule("code.watcher")

__all__ = ["blame", "code_changes", "commit_index", "index", "links", "related_files", "versions", "watcher"]
