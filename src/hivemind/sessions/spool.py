"""The spool: a file to which hooks append one line per event; the next process that opens the store reads it.

Standard library only, to keep the hook fast. A line is ``agent, event, time, payload`` with tabs between; the payload
is what the agent sent, already redacted, and may be anything.
"""

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from hivemind.paths import spool_lock
from hivemind.system import lock_file

SPOOL_FILE = "spool"
TAKEN_SUFFIX = ".taken"
# Without the flag, which exists on Windows alone, a line break would become two bytes there.
OPEN_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
BUSY_ERRORS = (PermissionError,) if sys.platform == "win32" else ()
"""Windows does not delete a file that another process reads; whoever takes it next does."""
LONGEST_LINE = 8 << 20
"""Bytes; hooks write far shorter lines."""
LOCK_SECONDS = 0.3
"""How long to wait for another process that appends or takes, which needs a few milliseconds unless it is stopped."""


def append(directory: str, agent: str, event: str, at: str, payload: str) -> None:
    """Append one line; if the spool cannot be used in time, write the line to a file of its own, which is taken too."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    payload_line = payload.replace("\r", " ").replace("\n", " ")
    line = ("\t".join((agent, event, at, payload_line)) + "\n").encode("utf-8", "replace")
    try:
        # Under a lock, as other hooks may append at the same time.
        with lock_file(spool_lock(directory), timeout_seconds=LOCK_SECONDS):
            spool = _open(directory)
            try:
                _append_line(spool, line)
            finally:
                os.close(spool)
    except OSError:
        _write_apart(directory, line)


def _open(directory: str) -> int:
    spool = os.open(os.path.join(directory, SPOOL_FILE), OPEN_FLAGS, 0o600)
    # To write to a pipe could wait for ever.
    if not stat.S_ISREG(os.fstat(spool).st_mode):
        os.close(spool)
        raise OSError("the spool is not a file")
    return spool


def _write_apart(directory: str, line: bytes) -> None:
    taken_path = _name_taken_file(directory)
    # Renamed into place, so that nobody takes half a line.
    new_path = taken_path.removesuffix(TAKEN_SUFFIX)
    new_file = os.open(new_path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        is_complete = os.write(new_file, line) == len(line)
    finally:
        os.close(new_file)
    if not is_complete:
        os.remove(new_path)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), new_path)
    os.replace(new_path, taken_path)


def _name_taken_file(directory: str) -> str:
    return os.path.join(directory, f"{SPOOL_FILE}.{os.getpid()}.{os.urandom(4).hex()}{TAKEN_SUFFIX}")


def _append_line(spool: int, line: bytes) -> None:
    end = os.lseek(spool, 0, os.SEEK_END)
    # A hook that was killed while writing left half a line; start a new one.
    if end:
        os.lseek(spool, end - 1, os.SEEK_SET)
        line = line if os.read(spool, 1) == b"\n" else b"\n" + line
    if os.write(spool, line) < len(line):
        # Half a line must not stay as input that cannot be read.
        os.ftruncate(spool, end)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), SPOOL_FILE)


def check(directory: str) -> None:
    """Raise an error if a hook could not append here."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    with lock_file(spool_lock(directory), timeout_seconds=LOCK_SECONDS):
        os.close(_open(directory))


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
            lock_file(spool_lock(directory), timeout_seconds=LOCK_SECONDS),
        ):
            os.replace(spool, _name_taken_file(directory))
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
    from hivemind.text.untrusted import read_lines  # not at the top: it would slow the hook, which only appends

    try:
        with open(path, "rb") as spool:
            for line in read_lines(spool, LONGEST_LINE):
                agent, event, at, payload = (line.content.decode("utf-8", "replace").split("\t", 3) + [""] * 3)[:4]
                yield agent, event, at, payload
    except FileNotFoundError:
        # Another process read and removed the same file; recording twice would have changed nothing anyway.
        return
