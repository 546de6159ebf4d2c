"""The hub's database, and the store of one team in it, which is used like a store on a laptop."""

import secrets
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from hivemind.errors import Refused, StoreTooNew, Unavailable
from hivemind.formats import timestamps
from hivemind.hub import administration, exchange
from hivemind.hub.epochs import LogHistory
from hivemind.hub.postgres import SCHEMA, Connection, Postgres, migrate
from hivemind.model.erasure import ErasedLocation
from hivemind.model.events import Event
from hivemind.model.team import Device, TeamMember
from hivemind.store import Store, projector, sync_state
from hivemind.store.database import Closeable

CONTENT_TABLES = ("bodies", "memories", "words", "vectors", "word_counts", "receipts", "observations")
"""Tables that hold content of memories; they are vacuumed after an erasure."""
VACUUMED_DETAIL = (
    "its rows are deleted and their tables vacuumed; Postgres overwrites the freed space as it reuses it,"
    " and 'hivemind hub compact' rewrites the tables without it"
)
NOT_VACUUMED_DETAIL = (
    "its rows are deleted, but another transaction still sees them; Postgres removes them after it ends"
)
ENTER_TEAM_AS_OWNER = "SELECT set_config('hivemind.team', $1, true), set_config('search_path', 'hivemind', true)"
POOL_TIMEOUT_SECONDS = 30
BACKUP_DAYS = 30
"""How long the operator keeps write-ahead log and backups by default; receipts of erasures state this."""


class Hub(Closeable):
    """A database with the memories of teams."""

    def __init__(self, pool: "ConnectionPool[Connection]", backup_days: int) -> None:
        self.pool = pool
        self.backup_days = backup_days

    @classmethod
    def open(cls, address: str, *, connections: int = 8, backup_days: int = BACKUP_DAYS) -> "Hub":
        """Migrate the database and open it."""
        migrate(address)
        pool: ConnectionPool[Connection] = ConnectionPool(
            address,
            connection_class=psycopg.Connection,
            kwargs={"autocommit": True, "cursor_factory": psycopg.RawCursor},
            min_size=1,
            max_size=connections,
            timeout=POOL_TIMEOUT_SECONDS,
            open=True,
        )
        return cls(pool, backup_days)

    def create_team(self, name: str) -> str:
        """Create a team and return its id."""
        team = str(uuid.uuid4())
        with self.pool.connection() as connection:
            db = Postgres(connection, team)
            with db.transaction():
                row = (name, secrets.token_hex(16), secrets.token_bytes(32))
                db.execute("INSERT INTO teams VALUES (?, ?, ?)", *row)
                projector.create_tables(db)
        return team

    def delete_team(self, team: str) -> None:
        """Delete every row of a team."""
        with self.pool.connection() as connection, connection.transaction():
            # As the owner, because the role that answers requests may not delete entries of the log.
            connection.execute(ENTER_TEAM_AS_OWNER, [team])
            tables = _list_team_tables(connection)
            while tables:
                tables = [table for table in tables if not _delete_rows(connection, table, team)]

    def count_connections(self) -> dict[str, float]:
        """Return the size of the pool, its free connections, and how many callers wait for one."""
        stats = self.pool.get_stats()
        names = {"pool_size": "pool_connections", "pool_available": "pool_free", "requests_waiting": "pool_waiting"}
        return {name: float(stats.get(key, 0)) for key, name in names.items()}

    def compact(self) -> None:
        """Rewrite the tables that had erased content, without the space it was in; each is locked meanwhile."""
        with self.pool.connection() as connection:
            for table in CONTENT_TABLES:
                connection.execute(f"VACUUM (FULL) {SCHEMA}.{table}")

    def open_team(self, team: str, member: TeamMember | None = None) -> "HubStore":
        """Open the store of a team; if a member is given, their role limits what can be recorded."""
        return HubStore(self, team, member)

    @contextmanager
    def connect_without_team(self) -> Iterator[Postgres]:
        """Lend a connection without a team, for requests before authentication; it sees no team's rows."""
        with self.borrow_connection() as connection:
            yield Postgres(connection, "")

    @contextmanager
    def borrow_connection(self) -> Iterator[Connection]:
        """Lend a connection from the pool."""
        try:
            connection = self.pool.getconn()
        except PoolTimeout as error:
            raise Unavailable("all connections to the hub's database are in use; try again") from error
        try:
            yield connection
        finally:
            self.pool.putconn(connection)

    def close(self) -> None:
        """Close every connection."""
        self.pool.close()


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


class HubStore(Store):
    """The store of one team."""

    db: Postgres

    def __init__(self, hub: Hub, team: str, member: TeamMember | None = None) -> None:
        self._hub = hub
        self.member = member
        # A stack, because the connection must also go back to the pool when opening fails halfway.
        self._resources = ExitStack()
        try:
            db = Postgres(self._resources.enter_context(hub.borrow_connection()), str(uuid.UUID(team)))
            self.history = LogHistory.enter(db, timestamps.format_timestamp(datetime.now(UTC)))
            super().__init__(db, None, self.history.state.device, self.history.state.secret)
            self._rebuild_if_outdated()
        except BaseException:
            # Nobody else would return the connection to the pool.
            self.close()
            raise

    def record(self, events: Iterable[Event]) -> list[Event]:
        """Append new events; refuse all of them if the member may not record one."""
        events = list(events)
        if self.member:
            for event in events:
                if reason := exchange.check_rights(self, self.member, event):
                    raise Refused(reason)
        exchange.check_quota(self, self.history, events)
        return super().record(events)

    def _recheck(self) -> None:
        """Notice before each write that the database was restored or failed over since the team was opened."""
        self.history = LogHistory.enter(self.db, self.history.now)
        self.device = self.history.state.device

    @property
    def membership(self) -> None:
        """None, as the hub is not a member of a team."""
        return

    def checkpoint(self) -> bool:
        """Vacuum tables after an erasure; return False if another transaction still sees deleted rows."""
        return self.db.vacuum(*CONTENT_TABLES)

    def clear_residue(self, at: str) -> list[ErasedLocation]:
        """Vacuum after an erasure and return where copies may remain: hub, backups and devices."""
        is_cleared = self.checkpoint()
        gone_by = timestamps.format_date(
            timestamps.format_timestamp(timestamps.parse_timestamp(at) + timedelta(days=self._hub.backup_days))
        )
        removed_at = administration.list_removed(self.db)
        return [
            ErasedLocation(name="hub", state="done", detail=VACUUMED_DETAIL)
            if is_cleared
            else ErasedLocation(name="hub", state="pending", detail=NOT_VACUUMED_DETAIL),
            ErasedLocation(name="write-ahead log and backups of the hub", state="outside", detail=f"gone by {gone_by}"),
            *(
                ErasedLocation(
                    name=f"device of {device.person}", state="pending", detail=f"last sync {device.last_seen_at}"
                )
                for device in sync_state.list_devices(self.db)
                if device.erasures and device.id not in removed_at
            ),
            *(
                ErasedLocation(
                    name=f"removed device of {device.person}",
                    state="outside",
                    detail=f"its copy ends with its lease, {timestamps.format_date(self._find_lease_end(device))}",
                )
                for device in sync_state.list_devices(self.db)
                if device.erasures and device.id in removed_at and self._find_lease_end(device) > at
            ),
        ]

    def _find_lease_end(self, device: Device) -> str:
        seen = timestamps.parse_timestamp(device.last_seen_at)
        return timestamps.format_timestamp(seen + timedelta(days=self.history.state.lease_days))

    @property
    def bytes(self) -> int:
        """Size of the content in the team's log."""
        return int(self.db.value("SELECT coalesce(sum(octet_length(content)), 0) FROM bodies"))

    def close(self) -> None:
        """Return the connection to the pool."""
        self._resources.close()

    def _rebuild_if_outdated(self) -> None:
        version = projector.read_version(self.db)
        if version > projector.VERSION:
            raise StoreTooNew("a newer hivemind wrote this team's tables; upgrade this hub")
        # Checked again inside the transaction: another hub may have rebuilt the tables while this one waited.
        if version < projector.VERSION:
            with self.db.transaction():
                if projector.read_version(self.db) < projector.VERSION:
                    self.rebuild()
