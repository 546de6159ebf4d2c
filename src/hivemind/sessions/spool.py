"""The spool: a file to which hooks append one line per event; the next process that opens the store reads it.

Standard library only, to keep the hook fast. A line is ``agent, event, time, payload`` with tabs between; the payload
is what the agent sent, already redacted, and may be anything.
"""

import errno
import os
import stat

from hivemind.paths import spool_lock
from hivemind.system import FileLock

SPOOL_FILE = "spool"
TAKEN_SUFFIX = ".taken"
# Without the flag, which exists on Windows alone, a line break would become two bytes there.
OPEN_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
LOCK_SECONDS = 0.3
"""How long to wait for another process that appends or takes, which needs a few milliseconds unless it is stopped."""


def append(directory: str, agent: str, event: str, at: str, payload: str) -> None:
    """Append one line; if the spool cannot be used in time, write the line to a file of its own, which is taken too."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    payload_line = payload.replace("\r", " ").replace("\n", " ")
    line = ("\t".join((agent, event, at, payload_line)) + "\n").encode("utf-8", "replace")
    try:
        # Under a lock, as other hooks may append at the same time.
        with FileLock(spool_lock(directory), timeout_seconds=LOCK_SECONDS):
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
    taken_path = name_taken_file(directory)
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


def name_taken_file(directory: str) -> str:
    """Return a new name for a file of lines that is complete; whoever opens the store next takes it."""
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
    with FileLock(spool_lock(directory), timeout_seconds=LOCK_SECONDS):
        os.close(_open(directory))
