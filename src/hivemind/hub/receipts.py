"""Receipts of recalls that were answered and are not in the log yet.

A recall writes nothing: a thread records the receipts of a team together, within a second. So a recall waits for no
writer and also works on a replica. A process that is killed loses the receipts of its last second.
"""

import threading
from collections.abc import Callable

from hivemind.errors import HivemindError, Unavailable
from hivemind.model.events import Event, ObservationsDropped
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.store.store import Store

INTERVAL_SECONDS = 1.0
"""Receipts that are written together cost half as much each."""
PAGE = 1_000
FIND_OLD = "SELECT DISTINCT id FROM receipts WHERE at < ? LIMIT ?"
MOST_WAITING = 10_000
"""What reached somebody leaves a receipt; so with this many that could not be written, nothing more is answered."""


class ReceiptQueue:
    """Collects receipts and writes them in batches."""

    def __init__(self, write: Callable[[str, list[Event]], None]) -> None:
        self._write = write
        self._waiting: dict[str, list[Event]] = {}
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._is_closed = threading.Event()
        self._thread: threading.Thread | None = None

    def put(self, team: str, event: Event) -> None:
        """Add a receipt; refuse it if too many could not be written."""
        with self._lock:
            if sum(map(len, self._waiting.values())) >= MOST_WAITING:
                raise Unavailable("the hub cannot record what it answers; check that its primary database is writable")
            self._waiting.setdefault(team, []).append(event)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="receipts", daemon=True)
                self._thread.start()

    def flush(self, team: str) -> None:
        """Write the waiting receipts of a team now, so that the caller can read them."""
        # Under the lock, so that a batch which the thread is writing is in the log too.
        with self._writing:
            with self._lock:
                events = self._waiting.pop(team, [])
            if not events:
                return
            try:
                self._write(team, events)
            except BaseException:
                with self._lock:
                    self._waiting[team] = events + self._waiting.get(team, [])
                raise

    def close(self) -> None:
        """Write what is left."""
        self._is_closed.set()
        if self._thread:
            self._thread.join()
        self._flush_all()

    def _run(self) -> None:
        while not self._is_closed.wait(INTERVAL_SECONDS):
            self._flush_all()

    def _flush_all(self) -> None:
        for team in list(self._waiting):
            try:
                self.flush(team)
            except HivemindError:
                # They stay in the queue for the next round; put() refuses when they become too many.
                continue


def drop_old_receipts(store: Store, before: str, now: str) -> int:
    """Delete the content of receipts from before a time, and return how many; their headers stay in the chain."""
    count = 0
    while ids := [row[0] for row in store.db.execute(FIND_OLD, before, PAGE)]:
        event = Event(
            id=EventId(derive_id("dropped", *ids)), at=now, actor="hub", channel=Channel.DERIVED, scope=Scope.USER,
            repo="", fact=ObservationsDropped(bodies=tuple(ids), reason="older than the hub keeps receipts"),
        )  # fmt: skip
        store.record([event])
        count += len(ids)
    return count
