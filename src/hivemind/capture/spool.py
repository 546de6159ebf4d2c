"""The spool: a file to which hooks append one line per event; the next process that opens the store reads it.

Standard library only, to keep the hook fast. A line is ``agent, event, time, payload`` with tabs between; the payload
is what the agent sent, already redacted, and may be anything.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hivemind.paths import spool_lock
from hivemind.system import lock_file

SPOOL_FILE = "spool"
TAKEN_SUFFIX = ".taken"
# Without the flag, which exists on Windows alone, a line break would become two bytes there.
OPEN_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
BUSY_ERRORS = (PermissionError,) if sys.platform == "win32" else ()
"""Windows does not delete a file that another process reads; whoever takes it next does."""
LONGEST_LINE = 8 << 20
"""Bytes; hooks write far shorter lines."""


def append(directory: str, agent: str, event: str, at: str, payload: str) -> None:
    """Append one line under a lock, as other hooks may append at the same time."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    payload_line = payload.replace("\r", " ").replace("\n", " ")
    line = "\t".join((agent, event, at, payload_line)) + "\n"
    with lock_file(spool_lock(directory)):
        spool = os.open(os.path.join(directory, SPOOL_FILE), OPEN_FLAGS, 0o600)
        try:
            _append_line(spool, line.encode("utf-8", "replace"))
        finally:
            os.close(spool)


def _append_line(spool: int, line: bytes) -> None:
    end = os.lseek(spool, 0, os.SEEK_END)
    # A hook that was killed while writing left half a line; start a new one.
    if end:
        os.lseek(spool, end - 1, os.SEEK_SET)
        line = line if os.read(spool, 1) == b"\n" else b"\n" + line
    if os.write(spool, line) < len(line):
        # The caller reports the failure; half a line must not stay as input that cannot be read.
        os.ftruncate(spool, end)
        raise OSError("the disk is full")


def check(directory: str) -> None:
    """Raise an error if a hook could not append here."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    with lock_file(spool_lock(directory)):
        os.close(os.open(os.path.join(directory, SPOOL_FILE), OPEN_FLAGS, 0o600))


@contextmanager
def take_lines(directory: str) -> Iterator[Iterator[tuple[str, str, str, str]]]:
    """Yield the lines so far, and remove them if the body ends without an error; they need not fit in memory.

    Lines that a process took before it died are yielded again to the next one.
    """
    spool = os.path.join(directory, SPOOL_FILE)
    if os.path.exists(spool):
        # Wait for a hook that is appending, so that the renamed file is complete; another process may take it first.
        with lock_file(spool_lock(directory)), suppress(FileNotFoundError):
            os.replace(spool, f"{spool}.{os.getpid()}.{os.urandom(4).hex()}{TAKEN_SUFFIX}")
    files = [os.path.join(directory, name) for name in list_taken_files(directory)]
    yield (line for file in files for line in _read_lines(file))
    for file in files:
        with suppress(FileNotFoundError, *BUSY_ERRORS):
            os.remove(file)


def list_taken_files(directory: str) -> list[str]:
    """List the files that were taken and not yet removed; normally none."""
    names = os.listdir(directory) if os.path.isdir(directory) else []  # noqa: PTH208 - pathlib costs the hook
    return sorted(name for name in names if name.endswith(TAKEN_SUFFIX))


def _read_lines(path: str) -> Iterator[tuple[str, str, str, str]]:
    from hivemind.formats.untrusted import read_lines  # not at the top: it would slow the hook, which only appends

    try:
        with open(path, "rb") as spool:
            for line in read_lines(spool, LONGEST_LINE):
                agent, event, at, payload = (line.content.decode("utf-8", "replace").split("\t", 3) + [""] * 3)[:4]
                yield agent, event, at, payload
    except FileNotFoundError:
        # Another process read and removed the same file; recording twice would have changed nothing anyway.
        return
