"""The work of a hub that no request waits for: vectors, graphs, rebuilds after an upgrade, old receipts and tokens.

Any number of workers share one database; ``hivemind hub serve`` runs one in a process of its own.
"""

import math
import multiprocessing
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from hivemind import system
from hivemind.context import Clock, utc_now
from hivemind.embedding.lazy_embedder import LazyEmbedder
from hivemind.errors import HivemindError
from hivemind.hub import access, derived_data
from hivemind.hub.postgres import migrate
from hivemind.hub.store import HubDatabase, HubOptions, HubStore, TeamProgress
from hivemind.model.events import Event, ObservationsDropped
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.model.timestamps import format_timestamp
from hivemind.settings import Settings
from hivemind.store import log
from hivemind.store.store import Store

BATCH_PASSAGES = 32
IDLE_SECONDS = 1.0
"""Between two looks at an empty queue."""
MAINTENANCE_SECONDS = 60.0
REBUILD_AGAIN_SECONDS = 3600.0
"""While programs of the version before still write, a team's tables become outdated again and again."""
RESTART_SECONDS = 5.0
RECEIPTS_PAGE = 1_000
FIND_OLD_RECEIPTS = "SELECT DISTINCT id FROM receipts WHERE at < ? LIMIT ?"
Report = Callable[[str], None]


class HubWorker:
    """Embeds passages and maintains the derived data of teams."""

    def __init__(
        self,
        hub: HubDatabase,
        settings: Settings,
        *,
        receipt_days: int = 0,
        report: Report = print,
        clock: Clock = utc_now,
    ) -> None:
        self._hub = hub
        self._embedder = LazyEmbedder(settings.model)
        self._receipt_days = receipt_days
        self._report = report
        self._clock = clock
        self._rebuilt_at: dict[str, float] = {}

    def run(self, is_stopped: Callable[[float], bool]) -> None:
        """Work until told to stop; ``is_stopped`` waits that many seconds for it."""
        next_maintenance = 0.0
        while not is_stopped(0):
            try:
                if time.monotonic() >= next_maintenance:
                    self.maintain()
                    next_maintenance = time.monotonic() + MAINTENANCE_SECONDS
                is_idle = self.embed_batch() == 0
            except HivemindError as error:
                # The database may be restarting; what was claimed is claimed again later.
                self._report(str(error))
                is_idle = True
            if is_idle and is_stopped(IDLE_SECONDS):
                return

    def embed_batch(self) -> int:
        """Embed some passages of one team and return how many."""
        meaning = self._embedder.meaning
        if meaning is None:
            return 0
        model = meaning.embedder.name
        with self._hub.connect_without_team() as db:
            team = derived_data.find_waiting_team(db, model)
        if team is None:
            return 0
        with self._hub.open_team(team) as store:
            passages = derived_data.claim_passages(store.db, model, BATCH_PASSAGES)
        if not passages:
            return 0
        try:
            # No connection is held while the model works, which takes a second or two.
            rows = meaning.embed_passages(passages)
            with self._hub.open_team(team) as store:
                meaning.store_vectors(store.db, passages, rows)
        except BaseException:
            # Also where the process is told to end, so that no passage waits until its claim ends.
            with self._hub.open_team(team) as store:
                derived_data.release_passages(store.db, [key for key, _ in passages])
            raise
        return len(passages)

    def maintain(self) -> None:
        """Rebuild outdated teams, build missing graphs, delete old receipts and tokens, and vacuum after erasures."""
        teams = self._hub.list_teams()
        for team in teams:
            rebuilt_at = self._rebuilt_at.get(team.team, -math.inf)
            if team.is_outdated and time.monotonic() - rebuilt_at > REBUILD_AGAIN_SECONDS:
                self.rebuild(team)
            if self._embedder.meaning:
                # Also where there is one: it may be of another model, or left half built.
                embedder = self._embedder.meaning.embedder
                if self._hub.build_graph(team, embedder.name, embedder.dimension):
                    self._report(f"built the graph of team {team.name}")
            with self._hub.open_team(team.team) as store:
                self._delete_old(store)
        self._vacuum([team.team for team in teams])

    def _vacuum(self, teams: Sequence[str]) -> None:
        """Vacuum once for the erasures of all teams since the last time; try again if some rows are still seen."""
        ends: dict[str, int] = {}
        has_erasures = False
        for team in teams:
            with self._hub.open_team(team) as store:
                end = log.read_last_position(store.db)
                if end > store.vacuumed_until:
                    ends[team] = end
                    has_erasures |= log.find_last_deletion(store.db, after=store.vacuumed_until) > 0
        if has_erasures and not self._hub.vacuum():
            return
        for team, end in ends.items():
            with self._hub.open_team(team) as store:
                store.note_vacuum(end)

    def _delete_old(self, store: HubStore) -> None:
        now = self._clock()
        if self._receipt_days:
            before = format_timestamp(now - timedelta(days=self._receipt_days))
            _drop_old_receipts(store, before, format_timestamp(now))
        lease = timedelta(days=store.history.state.lease_days)
        access.delete_expired_tokens(store.db, format_timestamp(now - lease))

    def rebuild(self, team: TeamProgress) -> None:
        """Rebuild the tables of a team while the old ones answer."""
        self._rebuilt_at[team.team] = time.monotonic()
        self._hub.rebuild_team(team.team)
        self._report(f"rebuilt the tables of team {team.name}")

    def change_model(self, team: TeamProgress) -> int:
        """Queue a team's passages for this program's model, if their vectors are of another; return how many."""
        meaning = self._embedder.meaning
        if meaning is None or team.model in ("", meaning.embedder.name):
            return 0
        with self._hub.open_team(team.team) as store:
            return derived_data.change_model(store.db, meaning.embedder.name)


@contextmanager
def keep_workers(count: int, database: str, receipt_days: int) -> Iterator[None]:
    """Run workers in processes of their own, which are started again when they end."""
    is_closed = threading.Event()
    arguments = (is_closed, database, receipt_days)
    threads = [threading.Thread(target=_keep_worker, args=arguments, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        is_closed.set()
        for thread in threads:
            thread.join()


def _keep_worker(is_closed: threading.Event, database: str, receipt_days: int) -> None:
    # Not forked: a fork would share the sockets of the database connections.
    context = multiprocessing.get_context("spawn")
    while not is_closed.is_set():
        process = context.Process(target=run_worker, args=(database, receipt_days), daemon=True)
        process.start()
        while process.is_alive() and not is_closed.wait(0.2):
            pass
        process.terminate()
        process.join()
        is_closed.wait(0 if is_closed.is_set() else RESTART_SECONDS)


def run_worker(database: str, receipt_days: int, report: Report = print) -> None:
    """Work until the process is told to end, or the process that started it has ended."""
    # Recalls come first where both share a machine.
    system.lower_priority(system.LOW_PRIORITY)
    # As an exception, so that claims are given back.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    parent = multiprocessing.parent_process()
    if parent:
        # Ctrl-C reaches all processes of a terminal; the one that started this one ends it.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    # One connection is enough for a worker, and two let it look at the queue while a batch is stored.
    with HubDatabase.open(database, HubOptions(connections=2)) as hub:
        worker = HubWorker(hub, Settings.load(), receipt_days=receipt_days, report=report)

        def is_stopped(seconds: float) -> bool:
            time.sleep(seconds)
            return parent is not None and not parent.is_alive()

        worker.run(is_stopped)


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What was done to bring a hub's database up to date."""

    migrations: tuple[str, ...]
    rebuilt: tuple[str, ...]
    """The teams whose tables were rebuilt."""
    queued: int
    """Passages that wait for a vector of another model."""


def migrate_hub(database: str, report: Report = print) -> Migration:
    """Apply migrations, rebuild outdated teams and queue passages for this program's model."""
    migrations = migrate(database)
    with HubDatabase(database, HubOptions(connections=2)) as hub:
        worker = HubWorker(hub, Settings.load(), report=report)
        outdated = [team for team in hub.list_teams() if team.is_outdated]
        for team in outdated:
            worker.rebuild(team)
        queued = sum(worker.change_model(team) for team in hub.list_teams())
    return Migration(migrations=tuple(migrations), rebuilt=tuple(team.name for team in outdated), queued=queued)


def list_teams(database: str) -> list[TeamProgress]:
    """Return every team of a hub and how far its derived data is."""
    with HubDatabase(database, HubOptions(connections=2)) as hub:
        return hub.list_teams()


def _drop_old_receipts(store: Store, before: str, now: str) -> int:
    """Delete the content of receipts from before a time, and return how many; their headers stay in the chain."""
    count = 0
    while ids := [row[0] for row in store.db.execute(FIND_OLD_RECEIPTS, before, RECEIPTS_PAGE)]:
        event = Event(
            id=EventId(derive_id("dropped", *ids)), at=now, actor="hub", channel=Channel.DERIVED, scope=Scope.USER,
            repo="", fact=ObservationsDropped(bodies=tuple(ids), reason="older than the hub keeps receipts"),
        )  # fmt: skip
        store.record([event])
        count += len(ids)
    return count
