"""The spool: a file to which hooks append one line per event; the next process that opens the store reads it.

Standard library only, to keep the hook fast. A line is ``agent, event, time, payload`` with tabs between; the payload
is what the agent sent, already redacted, and may be anything.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

SPOOL_FILE = "spool"
TAKEN_SUFFIX = ".taken"
LONGEST_LINE = 8 << 20
"""Bytes; hooks write far shorter lines."""


def append(directory: str, agent: str, event: str, at: str, payload: str) -> None:
    """Append one line under a lock, as other hooks may append at the same time."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    payload_line = payload.replace("\r", " ").replace("\n", " ")
    line = "\t".join((agent, event, at, payload_line)) + "\n"
    spool = _open_locked(os.path.join(directory, SPOOL_FILE))
    try:
        end = os.fstat(spool).st_size
        # A hook that was killed while writing left half a line; start a new one.
        line_break = b"\n" if end and os.pread(spool, 1, end - 1) != b"\n" else b""
        data = line_break + line.encode("utf-8", "replace")
        if os.write(spool, data) < len(data):
            # The caller reports the failure; half a line must not stay as input that cannot be read.
            os.ftruncate(spool, end)
            raise OSError("the disk is full")
    finally:
        os.close(spool)


def check(directory: str) -> None:
    """Raise an error if a hook could not append here."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    os.close(_open_locked(os.path.join(directory, SPOOL_FILE)))


@contextmanager
def take_lines(directory: str) -> Iterator[Iterator[tuple[str, str, str, str]]]:
    """Yield the lines so far, and remove them if the body ends without an error; they need not fit in memory.

    Lines that a process took before it died are yielded again to the next one.
    """
    spool = os.path.join(directory, SPOOL_FILE)
    if os.path.exists(spool):
        # Wait for a hook that is appending, so that the renamed file is complete.
        lock = _open_locked(spool)
        try:
            os.replace(spool, f"{spool}.{os.getpid()}.{os.urandom(4).hex()}{TAKEN_SUFFIX}")
        finally:
            os.close(lock)
    files = [os.path.join(directory, name) for name in list_taken_files(directory)]
    yield (line for file in files for line in _read_lines(file))
    for file in files:
        with suppress(FileNotFoundError):
            os.remove(file)


def list_taken_files(directory: str) -> list[str]:
    """List the files that were taken and not yet removed; normally none."""
    names = os.listdir(directory) if os.path.isdir(directory) else []  # noqa: PTH208 - pathlib costs the hook
    return sorted(name for name in names if name.endswith(TAKEN_SUFFIX))


def _open_locked(path: str) -> int:
    """Open and lock the spool; retry if it was renamed while waiting for the lock."""
    while True:
        spool = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        fcntl.flock(spool, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.stat(path).st_ino == os.fstat(spool).st_ino:
                return spool
        os.close(spool)


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
