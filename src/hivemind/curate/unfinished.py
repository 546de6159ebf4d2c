"""Notes what an erasure has to do before it begins, so that a crash anywhere is finished on the next open.

The note is a file beside the store and holds the texts, because once they are gone from the store nothing else could
tell where copies of them lie. It goes when the last place was looked at. Whoever works on it holds a lock on it.
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hivemind.model.erasure import Place
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel
from hivemind.model.plain import as_json, revived

FILES = "erasing-*.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An erasure that was asked for: what to destroy, which texts to look for, and who asked."""

    batch: str
    at: str
    actor: str
    channel: Channel
    session: str
    reason: str
    memories: tuple[MemoryId, ...]
    entries: tuple[EventId, ...]
    texts: tuple[str, ...]
    places: tuple[Place, ...]
    """What is known to be out of our reach."""


class Note:
    """The file that keeps a plan until it is carried out."""

    def __init__(self, file: Path | None, plan: Plan) -> None:
        self._file = file
        self.plan = plan

    def remove(self) -> None:
        """Forget the plan: nothing is left to do."""
        if self._file:
            self._file.unlink(missing_ok=True)


@contextmanager
def noted(directory: Path | None, plan: Plan) -> Iterator[Note]:
    """Keep a plan on disk before anything is done; a hub has no files and does everything in one transaction."""
    if directory is None:
        yield Note(None, plan)
        return
    file = directory / FILES.replace("*", secrets.token_hex(6))
    with _locked(file, os.O_CREAT | os.O_EXCL | os.O_RDWR) as descriptor:
        os.write(descriptor, as_json(plan).encode("utf-8", "surrogatepass"))
        os.fsync(descriptor)
        yield Note(file, plan)


def notes(directory: Path) -> Iterator[Note]:
    """Plans that nobody has carried out and nobody is working on."""
    for file in sorted(directory.glob(FILES)):
        with suppress(BlockingIOError, FileNotFoundError), _locked(file, os.O_RDWR):
            try:
                plan = revived(Plan, json.loads(file.read_bytes().decode("utf-8", "surrogatepass")))
            except ValueError:
                # It was killed while writing the note: nothing had been done yet.
                file.unlink()
                continue
            yield Note(file, plan)


def count(directory: Path) -> int:
    """How many erasures are not finished."""
    return sum(1 for _ in directory.glob(FILES))


@contextmanager
def _locked(file: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(file, flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield descriptor
    finally:
        os.close(descriptor)
