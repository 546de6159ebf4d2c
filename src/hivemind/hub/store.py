"""One team's memory, open on the hub; what runs on a store runs on this."""

import secrets
import uuid
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from hivemind.errors import NotFound, Refused, StoreTooNew, Unavailable
from hivemind.hub import exchange
from hivemind.hub.postgres import Connection, Postgres, migrate
from hivemind.model import moments
from hivemind.model.erasure import Place
from hivemind.model.events import Event
from hivemind.model.team import Member
from hivemind.store import Store, projector, shared
from hivemind.store.database import Held

CLEARED = ("bodies", "memories", "words", "vectors", "word_counts", "receipts", "observations")
"""Tables that hold what was said, or something of it."""
NOT_VACUUMED = "its rows are deleted, but another transaction still sees them; Postgres clears their pages after it"
PATIENCE_SECONDS = 30
BACKUP_DAYS = 30
"""How long write-ahead log and backups are kept, unless the operator says otherwise."""


class Hub(Held):
    """A database that keeps the memories of teams."""

    def __init__(self, pool: "ConnectionPool[Connection]", backup_days: int) -> None:
        self.pool = pool
        self.backup_days = backup_days

    @classmethod
    def open(cls, address: str, *, connections: int = 8, backup_days: int = BACKUP_DAYS) -> "Hub":
        """Bring the database up to date and open it."""
        migrate(address)
        pool: ConnectionPool[Connection] = ConnectionPool(
            address,
            connection_class=psycopg.Connection,
            kwargs={"autocommit": True, "cursor_factory": psycopg.RawCursor},
            min_size=1,
            max_size=connections,
            timeout=PATIENCE_SECONDS,
            open=True,
        )
        return cls(pool, backup_days)

    def found(self, name: str) -> str:
        """Begin a team; return its id."""
        team = str(uuid.uuid4())
        with self.pool.connection() as connection:
            db = Postgres(connection, team)
            with db.transaction():
                who = (name, secrets.token_hex(16), secrets.token_bytes(32))
                db.execute("INSERT INTO teams VALUES (?, ?, ?)", *who)
                projector.create_tables(db)
        return team

    def team(self, team: str, member: Member | None = None) -> "HubStore":
        """Open the memory of a team, until it is closed; for a member, as far as they may change it."""
        return HubStore(self, team, member)

    @contextmanager
    def door(self) -> Iterator[Postgres]:
        """A connection for what is asked before there is a team; it sees the rows of none."""
        with self.lent() as connection:
            yield Postgres(connection, "")

    @contextmanager
    def lent(self) -> Iterator[Connection]:
        """A connection, for a while."""
        try:
            connection = self.pool.getconn()
        except PoolTimeout as error:
            raise Unavailable("the hub's database has no connection to spare; try again") from error
        try:
            yield connection
        finally:
            self.pool.putconn(connection)

    def close(self) -> None:
        """Give every connection back."""
        self.pool.close()


class HubStore(Store):
    """The store of one team."""

    db: Postgres

    def __init__(self, hub: Hub, team: str, member: Member | None = None) -> None:
        self._hub = hub
        self.member = member
        self._held = ExitStack()
        try:
            db = Postgres(self._held.enter_context(hub.lent()), str(uuid.UUID(team)))
            super().__init__(db, None, *_identity(db))
            self._derive_again_if_older()
        except BaseException:
            self.close()
            raise

    def record(self, events: Iterable[Event]) -> list[Event]:
        """Append what is new, as far as the member may."""
        events = list(events)
        if self.member:
            for event in events:
                if reason := exchange.beyond_rights(self, self.member, event):
                    raise Refused(reason)
        return super().record(events)

    @property
    def membership(self) -> None:
        """None: this is the team."""
        return

    def fold_in_log(self) -> bool:
        """Vacuum what held content that is gone; false if another transaction still sees it."""
        return self.db.vacuum(*CLEARED)

    def sweep(self, at: str) -> list[Place]:
        """Vacuum what held the content, and say who may hold it still: log and backups until when, which devices."""
        is_cleared = self.fold_in_log()
        gone_by = moments.day(moments.written(moments.read(at) + timedelta(days=self._hub.backup_days)))
        return [
            Place(name="hub", state="done", detail="its rows are deleted and their tables vacuumed")
            if is_cleared
            else Place(name="hub", state="pending", detail=NOT_VACUUMED),
            Place(name="write-ahead log and backups of the hub", state="outside", detail=f"gone by {gone_by}"),
            *(
                Place(name=f"device of {one.person}", state="pending", detail=f"last heard of {one.last_seen_at}")
                for one in shared.devices(self.db)
                if one.erasures
            ),
        ]

    @property
    def bytes(self) -> int:
        """How much text the team's log holds."""
        return int(self.db.value("SELECT coalesce(sum(octet_length(content)), 0) FROM bodies"))

    def close(self) -> None:
        """Give the connection back."""
        self._held.close()

    def _derive_again_if_older(self) -> None:
        derived_by = projector.version(self.db)
        if derived_by > projector.VERSION:
            raise StoreTooNew("a newer hivemind derived this team's tables; upgrade this hub")
        if derived_by < projector.VERSION:
            with self.db.transaction():
                if projector.version(self.db) < projector.VERSION:
                    self.rebuild()


def _identity(db: Postgres) -> tuple[str, bytes]:
    row = db.one("SELECT device, secret FROM teams")
    if row is None:
        raise NotFound(f"there is no team {db.team}")
    return row[0], row[1]
