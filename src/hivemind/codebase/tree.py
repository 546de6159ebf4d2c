"""The files of a working tree, read with bounds and never from outside its root.

The root is given resolved, since it is asked for thousands of times.
"""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from hivemind.codebase import git

MAX_FILES = 100_000
"""Files beyond this are not indexed; their anchors still work."""

MAX_READ = 8_000_000
"""Larger files are known by their ends and their size."""

_END = 64_000
_SKIPPED = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", "target", "dist", "build"}
)


class Stamp(NamedTuple):
    """What the file system says about a file; while it stays, so does the content."""

    size: int
    mtime_ns: int
    inode: int


def files(root: Path) -> list[str]:
    """The files worth indexing: what git lists, or without git all but hidden and derived folders."""
    listed = git.listed(root)
    found = sorted(path for path in (_walk(root) if listed is None else listed) if is_text(path))
    return found[:MAX_FILES]


def is_text(path: str) -> bool:
    """Whether a path can be written down; the few that are no Unicode are left alone."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def stamp(root: Path, path: str) -> Stamp | None:
    """The stamp of a regular file, which is not opened; none for anything else."""
    try:
        seen = os.lstat(f"{root}{os.sep}{path}")
    except (OSError, ValueError):
        return None
    return Stamp(seen.st_size, seen.st_mtime_ns, seen.st_ino) if stat.S_ISREG(seen.st_mode) else None


def read(root: Path, path: str) -> tuple[Stamp, bytes] | None:
    """A regular file inside the root with its content, or with what stands for that if it is huge."""
    place = _inside(root, path)
    if place is None:
        return None
    try:
        # Without O_NONBLOCK a named pipe would keep us waiting for ever.
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    seen = os.fstat(handle)
    if not stat.S_ISREG(seen.st_mode):
        os.close(handle)
        return None
    found = Stamp(seen.st_size, seen.st_mtime_ns, seen.st_ino)
    with os.fdopen(handle, "rb") as file:
        if seen.st_size <= MAX_READ:
            return found, file.read(MAX_READ)
        start = file.read(_END)
        file.seek(-_END, os.SEEK_END)
        return found, b"\0%d\0" % seen.st_size + start + file.read(_END)


def _inside(root: Path, path: str) -> str | None:
    """Where a relative path leads, if that is inside the (resolved) root after all links are followed."""
    base = str(root)
    try:
        place = os.path.realpath(f"{base}{os.sep}{path}")
    except (OSError, ValueError):
        return None
    return place if place.startswith(base.rstrip(os.sep) + os.sep) else None


def _walk(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        relative = os.path.relpath(folder, root).replace(os.sep, "/")
        prefix = "" if relative == "." else relative + "/"
        found.extend(prefix + name for name in names)
        if len(found) > MAX_FILES:
            break
    return found
