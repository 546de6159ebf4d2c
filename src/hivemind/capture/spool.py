"""The spool: where a hook leaves what it saw, one line each, for whoever opens the store next.

Standard library only. A line is ``agent, event, moment, payload`` with tabs between; the payload is what
the agent sent, already redacted, and may be anything.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

FILE = "spool"
TAKEN = ".taken"
LONGEST_LINE = 8 << 20
"""Bytes; a hook leaves far shorter ones."""


def append(directory: str, agent: str, event: str, at: str, payload: str) -> None:
    """Leave one line; other hooks may be doing the same."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    one_line = payload.replace("\r", " ").replace("\n", " ")
    line = "\t".join((agent, event, at, one_line)) + "\n"
    spool = _opened(os.path.join(directory, FILE))
    try:
        end = os.fstat(spool).st_size
        # Who was killed while writing left half a line; ours begins on its own.
        torn = b"\n" if end and os.pread(spool, 1, end - 1) != b"\n" else b""
        written = torn + line.encode("utf-8", "replace")
        if os.write(spool, written) < len(written):
            os.ftruncate(spool, end)
            raise OSError("the disk is full")
    finally:
        os.close(spool)


@contextmanager
def taken(directory: str) -> Iterator[Iterator[tuple[str, str, str, str]]]:
    """The lines left so far, removed once the caller has dealt with them; they need not fit in memory.

    What was taken by a process that then died is found again by the next one.
    """
    spool = os.path.join(directory, FILE)
    if os.path.exists(spool):
        held = _opened(spool)
        try:
            os.replace(spool, f"{spool}.{os.getpid()}.{os.urandom(4).hex()}{TAKEN}")
        finally:
            os.close(held)
    files = [os.path.join(directory, name) for name in left_behind(directory)]
    yield (line for file in files for line in _lines(file))
    for file in files:
        with suppress(FileNotFoundError):
            os.remove(file)


def left_behind(directory: str) -> list[str]:
    """The files that were taken and not dealt with; normally none."""
    names = os.listdir(directory) if os.path.isdir(directory) else []  # noqa: PTH208 - pathlib costs the hook
    return sorted(name for name in names if name.endswith(TAKEN))


def _opened(path: str) -> int:
    """The spool, locked. It may have been taken while we waited, so look again which file has the name."""
    while True:
        spool = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        fcntl.flock(spool, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.stat(path).st_ino == os.fstat(spool).st_ino:
                return spool
        os.close(spool)


def _lines(path: str) -> Iterator[tuple[str, str, str, str]]:
    from hivemind.model.untrusted import bounded_lines  # only who takes the spool in pays for it

    try:
        with open(path, "rb") as spool:
            for line in bounded_lines(spool, LONGEST_LINE):
                agent, event, at, payload = (line.content.decode("utf-8", "replace").split("\t", 3) + [""] * 3)[:4]
                yield agent, event, at, payload
    except FileNotFoundError:
        # Another process finished the same file; recording twice would have changed nothing anyway.
        return
