"""Saves the plan of an erasure before it begins, so that after a crash the next opening of the store finishes it.

The plan is a file beside the store. It contains the texts, because once they are gone from the store nothing else could
find copies of them. It is deleted after the last place was searched. The process that works on it locks it.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hivemind.model.codec import from_plain, to_json
from hivemind.model.dataclass import dataclass
from hivemind.model.erasure import ErasedLocation
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Channel
from hivemind.system import lock_file

PLAN_FILES = "erasing-*.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePlan:
    """A requested erasure: what to destroy, which texts to search for, and who asked."""

    batch: str
    at: str
    actor: str
    channel: Channel
    session: str = ""
    reason: str = ""
    memories: tuple[MemoryId, ...] = ()
    entries: tuple[EventId, ...] = ()
    texts: tuple[str, ...] = ()
    places: tuple[ErasedLocation, ...] = ()
    """Places that are already known, such as copies out of our reach."""


@dataclass(frozen=True, slots=True)
class ErasureNote:
    """A plan and the file that keeps it until it is finished; a hub has no files."""

    file: Path | None
    plan: ErasurePlan | None
    """None if the file was damaged."""

    def remove(self) -> None:
        """Delete the file: nothing is left to do."""
        if self.file:
            self.file.unlink(missing_ok=True)


@contextmanager
def save_plan(directory: Path | None, plan: ErasurePlan) -> Iterator[ErasureNote]:
    """Save a plan to disk while the body runs; a hub has no files and does everything in one transaction."""
    if directory is None:
        yield ErasureNote(None, plan)
        return
    file = directory / PLAN_FILES.replace("*", os.urandom(6).hex())
    with _lock(file):
        # For the user alone: the plan holds what is to be erased.
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as content:
            content.write(_encode(plan))
            content.flush()
            # The plan must be on disk before the first text is erased.
            os.fsync(content.fileno())
        yield ErasureNote(file, plan)


def load_notes(directory: Path) -> Iterator[ErasureNote]:
    """Load the plans that are unfinished and that no other process is working on; a damaged note has no plan."""
    for file in sorted(directory.glob(PLAN_FILES)):
        # A locked plan is being finished by another process.
        with suppress(BlockingIOError, FileNotFoundError), _lock(file):
            yield ErasureNote(file, _decode(file.read_bytes()))


def is_any_locked(directory: Path) -> bool:
    """Whether another process is working on an erasure."""
    for file in directory.glob(PLAN_FILES):
        try:
            with _lock(file):
                continue
        except BlockingIOError:
            return True
    return False


def _encode(plan: ErasurePlan) -> bytes:
    content = to_json(plan).encode("utf-8", "surrogatepass")
    # A note that a failing disk changed must not be taken for the plan: it would search for another text.
    return content + b"\n" + hashlib.sha256(content).hexdigest().encode()


def _decode(note: bytes) -> ErasurePlan | None:
    """Decode a note; None if the process was killed while it wrote it, or if it was damaged since."""
    content, separator, checksum = note.partition(b"\n")
    # Notes of earlier versions have no checksum.
    if separator and hashlib.sha256(content).hexdigest().encode() != checksum:
        return None
    try:
        return from_plain(ErasurePlan, json.loads(content.decode("utf-8", "surrogatepass")))
    except ValueError:
        return None


def count_unfinished(directory: Path) -> int:
    """Count the unfinished erasures."""
    return sum(1 for _ in directory.glob(PLAN_FILES))


@contextmanager
def _lock(plan_file: Path) -> Iterator[None]:
    """Hold the lock of a plan; its file is beside the plan, because Windows deletes no file that is open."""
    lock = plan_file.with_suffix(".lock")
    try:
        with lock_file(str(lock), is_waiting=False):
            yield
    finally:
        # While the plan is there, others must find the same lock.
        if not plan_file.exists():
            with suppress(OSError):
                lock.unlink()
