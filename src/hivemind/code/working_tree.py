"""List, stat and read the files of a working tree, with limits and never outside of its root.

The caller resolves the root once, because these functions run thousands of times.
"""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from hivemind.code import git
from hivemind.text.untrusted import Unreadable, open_resolved

MAX_FILES = 400_000
"""Files beyond this number are not indexed; anchors in them still work."""

MAX_READ_BYTES = 8_000_000
"""Of larger files only the beginning, the end and the size are read."""

_END_BYTES = 64_000
_SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".tox", "target", "dist", "build"}
)


class Stamp(NamedTuple):
    """Size, time and inode of a file; as long as they stay the same, so does the content."""

    size: int
    mtime_ns: int
    inode: int


def list_files(root: Path) -> list[str]:
    """The files to index: those that git lists, or without git all but hidden and generated folders."""
    git_paths = git.list_files(root)
    return sorted(path for path in (_walk(root) if git_paths is None else git_paths) if is_text(path))


def is_in_worktree(root: Path, path: str) -> bool:
    """Whether a file belongs to another worktree that lies inside of this one; its code is a copy of ours."""
    for folder in (root / path).parents:
        mark = folder / ".git"
        if folder == root or not folder.is_relative_to(root):
            return False
        # The file of a submodule names a folder of `modules` instead.
        if mark.is_file() and "/worktrees/" in mark.read_text("utf-8", "replace"):
            return True
    return False


def is_text(path: str) -> bool:
    """Whether a path is valid Unicode; the few others are ignored, because the database cannot store them."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def stamp(root: Path, path: str) -> Stamp | None:
    """The stamp of a regular file, without opening it; None for anything else."""
    try:
        status = os.lstat(f"{root}{os.sep}{path}")
    except (OSError, ValueError):
        return None
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def read(root: Path, path: str) -> tuple[Stamp, bytes] | None:
    """The stamp and content of a regular file inside the root; of a huge file only its ends and size."""
    target = _resolve_inside(root, path)
    if target is None:
        return None
    try:
        file = open_resolved(target)
    except (OSError, Unreadable):
        return None
    with file:
        # Of the open file, not of the path, which may have been replaced in between.
        status = os.fstat(file.fileno())
        file_stamp = Stamp(status.st_size, status.st_mtime_ns, status.st_ino)
        if status.st_size <= MAX_READ_BYTES:
            return file_stamp, file.read(MAX_READ_BYTES)
        start = file.read(_END_BYTES)
        file.seek(-_END_BYTES, os.SEEK_END)
        return file_stamp, b"\0%d\0" % status.st_size + start + file.read(_END_BYTES)


def _resolve_inside(root: Path, path: str) -> str | None:
    """The real path of a relative path; None if it is outside of the (resolved) root, also by symbolic links."""
    base = str(root)
    try:
        target = os.path.realpath(f"{base}{os.sep}{path}")
    except (OSError, ValueError):
        return None
    return target if target.startswith(base.rstrip(os.sep) + os.sep) else None


def _walk(root: Path) -> list[str]:
    paths: list[str] = []
    for folder, folders, names in os.walk(root, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and not name.startswith("."))
        relative = os.path.relpath(folder, root).replace(os.sep, "/")
        prefix = "" if relative == "." else relative + "/"
        paths.extend(prefix + name for name in names)
        if len(paths) > MAX_FILES:
            break
    return paths
