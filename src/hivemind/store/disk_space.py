"""Reserves a little disk space, so that erasing still works on a full disk."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from hivemind.system import open_private

FILE = "ballast"
BYTES = 2 * 1024 * 1024
"""An erasure writes every page it changes to the write-ahead log before it frees any; this is enough for 500 pages."""
BYTES_TO_OPEN = 128 * 1024
"""Enough to open a store for reading."""


def reserve(directory: Path) -> None:
    """Reserve the space, unless it is reserved already or the disk is nearly full."""
    file = directory / FILE
    # Without it everything works as long as the disk is not full.
    with suppress(OSError):
        # Whoever writes to a pipe waits for a reader.
        is_something_else = file.exists() and not file.is_file()
        if is_something_else or (file.exists() and file.stat().st_size == BYTES):
            return
        if _free_bytes(directory) < 4 * BYTES:
            return
        with open(file, "wb", opener=open_private) as ballast:
            # Written in full, because truncating a sparse file frees nothing.
            ballast.write(os.urandom(1024) * (BYTES // 1024))


def is_disk_full(directory: Path) -> bool:
    """Whether the disk is so full that the next write may fail."""
    return _free_bytes(directory) < BYTES


def release(directory: Path, released_bytes: int = BYTES) -> bool:
    """Free all or part of the reserved space; false if none was reserved."""
    file = directory / FILE
    remaining_bytes = file.stat().st_size - released_bytes if file.exists() else -released_bytes
    if remaining_bytes > 0:
        os.truncate(file, remaining_bytes)
    else:
        file.unlink(missing_ok=True)
    return remaining_bytes > -released_bytes


def _free_bytes(directory: Path) -> int:
    return shutil.disk_usage(directory).free
