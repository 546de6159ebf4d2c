"""The hub's database, and the store of one team in it, which is used like a store on a laptop."""

import secrets
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial

import psycopg

from hivemind.errors import HivemindError, NotFound, Refused, Unavailable
from hivemind.hub import access, derived_data, exchange
from hivemind.hub.epochs import LogHistory
from hivemind.hub.pool import ConnectionPool
from hivemind.hub.postgres import (
    LOCK_SECONDS,
    SCHEMA,
    STATEMENT_SECONDS,
    Connection,
    Postgres,
    connect,
    has_citus,
    migrate,
)
from hivemind.model import timestamps
from hivemind.model.erasure import HUB, ErasedLocation, describe_devices
from hivemind.model.events import Event, TeamAdministered
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.model.team import AdminAction, TeamMember
from hivemind.store import log, projector, sync_state
from hivemind.store.database import Closeable
from hivemind.store.store import Store

CONTENT_TABLES = ("bodies", "memories", "words", "vectors", "word_counts", "receipts", "observations")
"""Tables that hold content of memories; they are vacuumed after an erasure."""
VACUUMED_DETAIL = (
    "its rows are deleted and their tables vacuumed; Postgres overwrites the freed space as it reuses it,"
    " and 'hivemind hub compact' rewrites the tables without it"
)
NOT_VACUUMED_DETAIL = (
    "its rows are deleted, and a worker vacuums their tables within a minute; 'hivemind hub compact' rewrites them now"
)
VACUUM_READER, VACUUM_VERSION = "vacuum", 1
"""The bookmark of erasures after which the tables were vacuumed."""
ENTER_TEAM_AS_OWNER = "SET LOCAL hivemind.team = '{team}'; SET LOCAL search_path = hivemind"
BACKUP_DAYS = 30
"""How long the operator keeps write-ahead log and backups by default; receipts of erasures state this."""
RECEIPT_SECONDS = 1.0
"""Receipts that are written together cost half as much each."""
MOST_WAITING_RECEIPTS = 10_000
"""What reached somebody leaves a receipt; so with this many that could not be written, nothing more is answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubOptions:
    """How a process uses the hub's database."""

    backup_days: int = BACKUP_DAYS
    replica: str = ""
    """The address of a read replica that answers recalls; empty if there is none."""
    connections: int = 8
    """At most, to each of the databases."""
    pool_seconds: int = 10
    """How long a request waits for one of them."""
    lock_seconds: int = LOCK_SECONDS
    statement_seconds: int = STATEMENT_SECONDS


DEFAULT_OPTIONS = HubOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamProgress:
    """How far the derived data of a team is."""

    team: str
    name: str
    model: str
    """The model of its vectors; empty before the first one."""
    passages: int
    waiting: int
    """Passages without a vector."""
    has_graph: bool
    """Whether its vectors are searched with a graph; otherwise they are compared one by one."""
    is_outdated: bool
    """Whether its tables were made by the projections of an earlier version."""


class ReceiptQueue:
    """Collects receipts of recalls that were answered, and writes them in batches.

    A recall writes nothing: a thread records the receipts of a team together, within a second. So a recall waits for no
    writer and also works on a replica. A process that is killed loses the receipts of its last second.
    """

    def __init__(self, write: Callable[[str, list[Event]], None]) -> None:
        self._write = write
        self._waiting: dict[str, list[Event]] = {}
        self._lock = threading.Lock()
        # One for each team: whoever writes may wait long for others of its team.
        self._writing: dict[str, threading.Lock] = {}
        self._is_closed = threading.Event()
        self._thread: threading.Thread | None = None

    def put(self, team: str, event: Event) -> None:
        """Add a receipt; refuse it if too many could not be written."""
        with self._lock:
            if sum(map(len, self._waiting.values())) >= MOST_WAITING_RECEIPTS:
                raise Unavailable("the hub cannot record what it answers; check that its primary database is writable")
            self._waiting.setdefault(team, []).append(event)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="receipts", daemon=True)
                self._thread.start()

    def flush(self, team: str) -> None:
        """Write the waiting receipts of a team now, so that the caller can read them."""
        # Under the lock, so that a batch which the thread is writing is in the log too.
        with self._lock:
            if team not in self._waiting and team not in self._writing:
                return
            writing = self._writing.setdefault(team, threading.Lock())
        with writing:
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
        while not self._is_closed.wait(RECEIPT_SECONDS):
            self._flush_all()

    def _flush_all(self) -> None:
        for team in list(self._waiting):
            try:
                self.flush(team)
            except HivemindError:
                # They stay in the queue for the next round; put() refuses when they become too many.
                continue


class HubDatabase(Closeable):
    """A database with the memories of teams."""

    def __init__(self, address: str, options: HubOptions = DEFAULT_OPTIONS) -> None:
        self.address = address
        self.options = options
        self.pool = ConnectionPool(address, options.connections, options.pool_seconds)
        self.replica = (
            ConnectionPool(options.replica, options.connections, options.pool_seconds) if options.replica else None
        )
        self.receipts = ReceiptQueue(self._write_receipts)

    @classmethod
    def open(cls, address: str, options: HubOptions = DEFAULT_OPTIONS) -> "HubDatabase":
        """Migrate the database and open it."""
        migrate(address)
        return cls(address, options)

    @cached_property
    def is_distributed(self) -> bool:
        """Whether Citus keeps teams on several servers."""
        with self.pool.connection() as connection:
            return has_citus(connection)

    def create_team(self, name: str) -> str:
        """Create a team and return its id."""
        team = str(uuid.uuid4())
        with self.pool.connection() as connection:
            db = Postgres(connection, team)
            with db.transaction():
                row = (name, secrets.token_hex(16), secrets.token_bytes(32))
                db.execute("INSERT INTO teams (name, device, secret) VALUES (?, ?, ?)", *row)
                projector.create_tables(db)
        return team

    def delete_team(self, team: str) -> None:
        """Delete every row of a team."""
        with self.pool.connection() as connection, connection.transaction():
            # As the owner, because the role that answers requests may not delete entries of the log.
            connection.execute(ENTER_TEAM_AS_OWNER.format(team=uuid.UUID(team)))
            tables = _list_team_tables(connection)
            while tables:
                tables = [table for table in tables if not _delete_rows(connection, table, team)]

    def vacuum(self) -> bool:
        """Vacuum the tables that had erased content; return False if another transaction still sees it."""
        with connect(self.address) as owner:
            return Postgres(owner, "").vacuum(*CONTENT_TABLES)

    def compact(self) -> None:
        """Rewrite the tables that had erased content, without the space it was in; each is locked meanwhile."""
        with self.pool.connection() as connection:
            for table in CONTENT_TABLES:
                connection.execute(f"VACUUM (FULL) {SCHEMA}.{table}")

    def open_team(self, team: str, member: TeamMember | None = None, *, read_only: bool = False) -> "HubStore":
        """Open the store of a team; if a member is given, their role limits what can be recorded.

        With ``read_only``, a replica may answer, and receipts of the last moment may be missing.
        """
        if not read_only:
            self.receipts.flush(team)
            return HubStore(self, team, member)
        if self.replica:
            # A team that was created just now is not there yet.
            with suppress(NotFound):
                return HubStore(self, team, member, self.replica, read_only=True)
        return HubStore(self, team, member, read_only=True)

    def list_teams(self) -> list[TeamProgress]:
        """Return every team and how far its derived data is."""
        with self.connect_without_team() as db:
            teams = access.list_teams(db)
        return [self._read_progress(team, name) for team, name in teams]

    def _read_progress(self, team: str, name: str) -> TeamProgress:
        with self.pool.connection() as connection:
            db = Postgres(connection, team)
            with db.reading():
                model, has_graph = db.one(
                    "SELECT model, to_regclass(?) IS NOT NULL FROM teams", derived_data.name_graph(team)
                ) or ("", False)
                return TeamProgress(
                    # The count of the team's own name is the number of its passages.
                    team=team, name=name, model=model, has_graph=has_graph,
                    passages=db.value("SELECT doc FROM word_counts WHERE term = ?", team) or 0,
                    waiting=db.value("SELECT count(*) FROM vectors_wanted"),
                    is_outdated=projector.read_version(db) < projector.VERSION,
                )  # fmt: skip

    def rebuild_team(self, team: str) -> None:
        """Rebuild the derived tables of a team while the old ones answer."""
        with connect(self.address) as connection:
            # Nobody waits for it.
            derived_data.rebuild_tables(Postgres(connection, team, statement_seconds=0))

    def build_graph(self, team: TeamProgress, model: str, dimension: int) -> bool:
        """Build the graph that a large team's vectors are searched with; return whether it was missing."""
        if team.passages < derived_data.MIN_GRAPH_PASSAGES or team.model != model or self.is_distributed:
            # On Citus every shard would get an index for every team.
            return False
        with connect(self.address) as owner:
            return derived_data.ensure_graph(owner, team.team, model, dimension)

    def _write_receipts(self, team: str, events: list[Event]) -> None:
        with HubStore(self, team) as store:
            store.record(events)

    @contextmanager
    def connect_without_team(self) -> Iterator[Postgres]:
        """Lend a connection without a team, for requests before authentication; it sees no team's rows."""
        with self.pool.connection() as connection:
            yield Postgres(connection, "")

    def close(self) -> None:
        """Write the receipts that are left and close every connection."""
        self.receipts.close()
        for pool in filter(None, (self.pool, self.replica)):
            pool.close()


def _list_team_tables(connection: Connection) -> list[str]:
    """Return every table with rows of teams; its partitions are part of it."""
    rows = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'team_id'"
        " WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1",
        [SCHEMA],
    )
    return [row[0] for row in rows]


def _delete_rows(connection: Connection, table: str, team: str) -> bool:
    """Delete a team's rows from a table; return False if rows of another table still refer to them."""
    try:
        with connection.transaction():
            connection.execute(f"DELETE FROM {table} WHERE team_id = $1", [team])
    except psycopg.errors.ForeignKeyViolation:
        return False
    return True


def _add_days(at: str, days: int) -> str:
    return timestamps.format_timestamp(timestamps.parse_timestamp(at) + timedelta(days=days))


class HubStore(Store):
    """The store of one team."""

    db: Postgres

    def __init__(
        self,
        hub: HubDatabase,
        team: str,
        member: TeamMember | None = None,
        pool: ConnectionPool | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        self._hub = hub
        self.member = member
        # A stack, because the connection must also go back to the pool when opening fails halfway.
        with ExitStack() as resources:
            connection = resources.enter_context((pool or hub.pool).connection())
            db = Postgres(connection, str(uuid.UUID(team)), hub.options.lock_seconds, hub.options.statement_seconds)
            if read_only:
                # One transaction for all of it: entering the team costs as much as a small statement.
                resources.enter_context(db.reading())
            self.history = LogHistory.enter(db, timestamps.format_timestamp(datetime.now(UTC)))
            super().__init__(db, None, self.history.state.device, self.history.state.secret)
            self._resources = resources.pop_all()

    def record(self, events: Iterable[Event]) -> list[Event]:
        """Append new events; refuse all of them if the member may not record one."""
        events = list(events)
        if self.member:
            for event in events:
                if reason := exchange.find_missing_right(self, self.member, event):
                    raise Refused(reason)
        exchange.check_quota(self, self.history, events)
        recorded_events = super().record(events)
        if self.member:
            exchange.hold_edits(self, self.history, self.member, recorded_events, self.history.now)
        return recorded_events

    def make_recorder(self, actor: str, at: str) -> access.Recorder:
        """Return a function that records acts of one administrator."""
        return partial(self._record_act, actor, at)

    def _record_act(self, actor: str, at: str, action: AdminAction, subject: str, detail: str = "") -> None:
        # In the hub's own chain: it cannot be changed without notice, and every device has a copy of it.
        event = Event(
            id=EventId(derive_id(action.value, subject, detail, at)), at=at, actor=actor, channel=Channel.PERSON,
            scope=Scope.TEAM, repo="", fact=TeamAdministered(action=action.value, subject=subject, detail=detail),
        )  # fmt: skip
        # Not by this store's own method, which checks what a member's role allows them to say about memories.
        super().record([event])

    def record_receipt(self, event: Event) -> None:
        """Queue what was shown to somebody; it is in the log within a second."""
        self._hub.receipts.put(self.db.team, event)

    def rebuild(self, progress: Callable[[int, int], None] = lambda position, last: None) -> None:
        """Rebuild every derived table from the log, while the old ones answer others."""
        self._hub.rebuild_team(self.db.team)

    @property
    def membership(self) -> None:
        """None, as the hub is not a member of a team."""
        return

    def list_keys_for(self, scope: Scope) -> tuple[bytes, ...]:
        """The team's key; the keys of a person's machines never come here."""
        return (self.secret,)

    def checkpoint(self) -> bool:
        """Leave it to a worker, which vacuums once for all erasures of a minute; false, because it has not yet."""
        return False

    def clear_residue(self, at: str) -> list[ErasedLocation]:
        """Return where copies may remain after an erasure: hub, backups and devices."""
        gone_by = timestamps.format_date(_add_days(at, self._hub.options.backup_days))
        places = [
            ErasedLocation(name=HUB, state="pending", detail=NOT_VACUUMED_DETAIL),
            ErasedLocation(name="write-ahead log and backups of the hub", state="outside", detail=f"gone by {gone_by}"),
        ]
        removed_at = access.list_removed_devices(self.db)
        devices = [device for device in sync_state.list_devices(self.db) if device.erasures]
        places.append(
            describe_devices([(each.person, each.last_seen_at) for each in devices if each.id not in removed_at])
        )
        for device in devices:
            lease_end = _add_days(device.last_seen_at, self.history.state.lease_days)
            if device.id in removed_at and lease_end > at:
                detail = f"its copy ends with its lease, {timestamps.format_date(lease_end)}"
                places.append(ErasedLocation(name=f"removed device of {device.person}", state="outside", detail=detail))
        return places

    def check_locations(self, batch: str) -> list[ErasedLocation]:
        """Return what became of the copies on the hub and on devices since an erasure."""
        removed_at = access.list_removed_devices(self.db)
        devices = [each for each in sync_state.list_devices(self.db, batch) if each.id not in removed_at]
        places = [describe_devices([(each.person, each.last_seen_at) for each in devices if each.erasures])]
        if self.vacuumed_until >= log.find_last_deletion(self.db, batch):
            places.append(ErasedLocation(name=HUB, state="done", detail=VACUUMED_DETAIL))
        return places

    @property
    def vacuumed_until(self) -> int:
        """The position up to which the tables were vacuumed after erasures."""
        return projector.read_bookmark(self.db, VACUUM_READER, VACUUM_VERSION)

    def note_vacuum(self, position: int) -> None:
        """Record up to which position the tables were vacuumed after erasures."""
        with self.db.transaction():
            projector.set_bookmark(self.db, VACUUM_READER, position, VACUUM_VERSION)

    @property
    def bytes(self) -> int:
        """Size of the content in the team's log."""
        return int(self.db.value("SELECT coalesce(sum(octet_length(content)), 0) FROM bodies"))

    def close(self) -> None:
        """Return the connection to the pool."""
        self._resources.close()

    def _recheck(self) -> None:
        """Notice before each write that the database was restored, or that a newer program has rebuilt the tables."""
        self.history = LogHistory.enter(self.db, self.history.now)
        self.device = self.history.state.device
        # Both programs serve during an upgrade, and what this one derives may lack what the newer one would add: it
        # is then to rebuild the tables again.
        self.db.execute(
            "UPDATE bookmarks SET version = ? WHERE reader = ? AND version > ?",
            projector.VERSION, projector.READER, projector.VERSION,
        )  # fmt: skip
