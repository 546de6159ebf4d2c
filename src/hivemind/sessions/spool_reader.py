"""Reads what hooks wrote into the spool; apart from what writes it, because a hook pays for each import."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hivemind.paths import spool_lock
from hivemind.sessions.spool import LOCK_SECONDS, SPOOL_FILE, TAKEN_SUFFIX, name_taken_file
from hivemind.system import FileLock
from hivemind.text.untrusted import read_lines

BUSY_ERRORS = (PermissionError,) if sys.platform == "win32" else ()
"""Windows does not delete a file that another process reads; whoever takes it next does."""
LONGEST_LINE = 8 << 20
"""Bytes; hooks write far shorter lines."""


@contextmanager
def take_lines(directory: str) -> Iterator[Iterator[tuple[str, str, str, str]]]:
    """Yield the lines so far, and remove them if the body ends without an error; they need not fit in memory.

    Lines that a process took before it died are yielded again to the next one.
    """
    spool = os.path.join(directory, SPOOL_FILE)
    if os.path.isfile(spool):
        # Wait for a hook that is appending, so that the renamed file is complete; another process may take it first.
        with (
            suppress(FileNotFoundError, BlockingIOError),
            FileLock(spool_lock(directory), timeout_seconds=LOCK_SECONDS),
        ):
            os.replace(spool, name_taken_file(directory))
    files = [os.path.join(directory, name) for name in list_taken_files(directory)]
    yield (line for file in files for line in _read_lines(file))
    for file in files:
        with suppress(FileNotFoundError, *BUSY_ERRORS):
            os.remove(file)


def read_waiting_lines(directory: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield the lines that nobody has recorded yet, and leave them there."""
    for name in (*list_taken_files(directory), SPOOL_FILE):
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            yield from _read_lines(path)


def count_waiting_bytes(directory: str) -> int:
    """Count the bytes of the lines that nobody has recorded yet; zero if there are none."""
    paths = [os.path.join(directory, name) for name in (*list_taken_files(directory), SPOOL_FILE)]
    return sum(os.stat(path).st_size for path in paths if os.path.isfile(path))


def list_taken_files(directory: str) -> list[str]:
    """List the files that were taken and not yet removed; normally none."""
    names = os.listdir(directory) if os.path.isdir(directory) else []  # noqa: PTH208 - pathlib costs the hook
    taken_names = sorted(name for name in names if name.endswith(TAKEN_SUFFIX))
    return [name for name in taken_names if os.path.isfile(os.path.join(directory, name))]


def _read_lines(path: str) -> Iterator[tuple[str, str, str, str]]:
    try:
        with open(path, "rb") as spool:
            for line in read_lines(spool, LONGEST_LINE):
                agent, event, at, payload = (line.content.decode("utf-8", "replace").split("\t", 3) + [""] * 3)[:4]
                yield agent, event, at, payload
    except FileNotFoundError:
        # Another process read and removed the same file; recording twice would have changed nothing anyway.
        return
