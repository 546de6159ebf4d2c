"""A little room kept back, so that erasing still works on a full disk."""

import os
from pathlib import Path

FILE = "ballast"
BYTES = 2 * 1024 * 1024
"""An erasure writes each page it touches once more before it shrinks anything; this is room for five hundred."""
TO_OPEN = 128 * 1024
"""What it takes to open a store for reading."""


def lay(directory: Path) -> None:
    """Keep the room, unless it is kept already or there is none."""
    file = directory / FILE
    if (file.exists() and file.stat().st_size == BYTES) or _free(directory) < 4 * BYTES:
        return
    with file.open("wb") as room:
        # Written, not only reserved: a sparse file would give nothing back.
        room.write(os.urandom(1024) * (BYTES // 1024))


def is_needed(directory: Path) -> bool:
    """Whether the disk is so full that the next write may fail."""
    return _free(directory) < BYTES


def release(directory: Path, room: int = BYTES) -> bool:
    """Give all of the room back, or some; false if there was none."""
    file = directory / FILE
    left = file.stat().st_size - room if file.exists() else -room
    if left > 0:
        os.truncate(file, left)
    else:
        file.unlink(missing_ok=True)
    return left > -room


def _free(directory: Path) -> int:
    disk = os.statvfs(directory)
    return disk.f_bavail * disk.f_frsize
