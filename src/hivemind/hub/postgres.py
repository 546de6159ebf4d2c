"""A connection to the hub's Postgres on which one team's rows are all there is.

Every statement runs in a transaction that first becomes the role that owns nothing and names the team; row-level
security does the rest. Both hold until the end of the transaction and no longer, so that a connection can serve
another team next, also behind a pooler. A writer is alone in its team: positions are committed in order, and whoever
reads the log by a cursor skips nothing.
"""

import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from itertools import count
from typing import Any

import psycopg
from psycopg import errors

from hivemind.errors import InvalidInput, Refused, StoreBusy, StoreError, StoreTooNew, Unavailable
from hivemind.hub.search import Search
from hivemind.store.database import Database, Row

SCHEMA, ROLE = "hivemind", "hivemind_hub"
PATIENCE_SECONDS = 60
"""How long a writer waits for its turn."""
TURN = 0x68697665
"""The lock that lets two hubs start at once."""
PAGE = 1_000
"""Rows that are fetched at once when streaming."""

ENTER = (
    "SELECT set_config('search_path', 'hivemind, public', true), set_config('hivemind.team', $1, true),"
    " set_config('role', 'hivemind_hub', true)"
)
ALONE = (
    f"SELECT set_config('lock_timeout', '{PATIENCE_SECONDS}s', true),"
    " pg_advisory_xact_lock(hashtextextended('hivemind', 0) # hashtextextended($1, 0))"
)
PLACEHOLDER = re.compile(r"'[^']*'|\?|(?<!:):([a-z_]+)")

Connection = psycopg.Connection[Row]


class Postgres(Database):
    """A connection, held for one team."""

    LIKE = "ILIKE"

    def __init__(self, connection: Connection, team: str) -> None:
        self.connection = connection
        self.team = team
        self.index = Search(self)
        self._is_inside = False
        self._is_alone = False

    def execute(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement and return its rows."""
        with _translated():
            if self._is_inside:
                return _rows(self._run(sql, values))
            # Sent together, so that a lone statement waits for one answer instead of four.
            with self.connection.pipeline(), self.connection.transaction():
                self.connection.execute(ENTER, [self.team])
                done = self._run(sql, values)
            return _rows(done)

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """Rows one by one; the server keeps what was not fetched yet, and no transaction stays open for it."""
        text, bound = translated(sql, values)
        with (
            _translated(),
            psycopg.RawServerCursor(self.connection, f"rows_{secrets.token_hex(8)}", withhold=True) as rows,
        ):
            with self._entered():
                rows.execute(text, bound)
            rows.itersize = PAGE
            yield from rows

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values."""
        listed = [[_clean(value) for value in row] for row in rows]
        if not listed:
            return
        with _translated(), self._entered(), self.connection.cursor() as cursor:
            cursor.executemany(_numbered(sql)[0], listed)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, and alone among the writers of the team; inside another one it is part of that."""
        if self._is_alone:
            yield
            return
        with _translated(), self._entered():
            self.connection.execute(ALONE, [self.team])
            self._is_alone = True
            try:
                yield
            finally:
                self._is_alone = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Several questions in one transaction, which costs less than one each; nothing is written meanwhile."""
        with _translated(), self._entered():
            yield

    def empty(self, tables: Sequence[str], schema: str) -> None:
        """Have these tables with nothing of the team in them; their shape is the migrations' matter."""
        here = self.execute("SELECT tablename FROM pg_tables WHERE schemaname = ?", SCHEMA)
        for table in tables:
            if (table,) in here:
                self.execute(f"DELETE FROM {table}")

    def vacuum(self, *tables: str) -> bool:
        """Clear what was deleted out of tables, as their owner; false if an older transaction still sees it."""
        with _translated():
            before = self.connection.execute("SELECT pg_current_xact_id()::xid::text").fetchone()
            for table in tables:
                self.connection.execute(f"VACUUM {SCHEMA}.{table}")
            older = self.connection.execute(
                "SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                " AND age(backend_xmin) > age($1::text::xid)",
                before,
            ).fetchone()
        return older is None

    @contextmanager
    def _entered(self) -> Iterator[None]:
        if self._is_inside:
            yield
            return
        with self.connection.transaction():
            self.connection.execute(ENTER, [self.team])
            self._is_inside = True
            try:
                yield
            finally:
                self._is_inside = False

    def _run(self, sql: str, values: tuple[Any, ...]) -> psycopg.Cursor[Row]:
        text, bound = translated(sql, values)
        return self.connection.execute(text, bound)


def connected(address: str) -> Connection:
    """A connection as we need it: statements as they stand, each its own transaction unless one is begun."""
    with _translated():
        return psycopg.connect(address, autocommit=True, cursor_factory=psycopg.RawCursor)


def migrate(address: str) -> None:
    """Apply what is missing, each migration whole or not at all."""
    steps = {one.name: one.read_text() for one in (files("hivemind.hub") / "migrations").iterdir()}
    with connected(address) as owner:
        owner.execute("SELECT pg_advisory_lock($1)", [TURN])
        owner.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        owner.execute(f"SET search_path = {SCHEMA}, public")
        owner.execute("CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY)")
        done = {row[0] for row in owner.execute("SELECT name FROM migrations")}
        if unknown := done - set(steps):
            raise StoreTooNew(f"a newer hivemind migrated this database ({max(unknown)}); upgrade this hub")
        for name in sorted(set(steps) - done):
            _apply(owner, name, steps[name])


def _apply(owner: Connection, name: str, sql: str) -> None:
    try:
        with owner.transaction():
            owner.execute(sql)  # type: ignore[arg-type, unused-ignore]
            owner.execute("INSERT INTO migrations VALUES ($1)", [name])
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{name}: {error.diag.message_primary}; let somebody who may run 'CREATE EXTENSION vector' in this database"
            " and give its owner CREATEROLE"
        ) from error
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise StoreError(f"{name}: {error.diag.message_primary}; install pgvector on the server") from error


def translated(sql: str, values: tuple[Any, ...]) -> tuple[str, list[Any]]:
    """A statement with ``?`` or ``:name`` as Postgres numbers them, and its values in that order."""
    text, names = _numbered(sql)
    if len(values) == 1 and isinstance(values[0], dict):
        return text, [_clean(values[0][name]) for name in names]
    return text, [_clean(value) for value in values]


@lru_cache(1024)
def _numbered(sql: str) -> tuple[str, tuple[str, ...]]:
    names: dict[str, int] = {}
    number = count(1)

    def mark(found: re.Match[str]) -> str:
        if found[0].startswith("'"):
            return found[0]
        if found[0] == "?":
            return f"${next(number)}"
        return f"${names.setdefault(found[1], len(names) + 1)}"

    return PLACEHOLDER.sub(mark, sql), tuple(names)


def _clean(value: Any) -> Any:
    """Enumerations by their values; Postgres keeps no zero character."""
    return str(value).replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


def _rows(done: psycopg.Cursor[Row]) -> list[Row]:
    return done.fetchall() if done.description else []


@contextmanager
def _translated() -> Iterator[None]:
    """Postgres's errors as ours, each with a remedy."""
    try:
        yield
    except (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure) as error:
        raise StoreBusy(f"other writers of the team kept it busy for {PATIENCE_SECONDS} s; try again") from error
    except errors.UniqueViolation as error:
        raise InvalidInput(f"there is one already: {error.diag.message_detail}") from error
    except errors.CheckViolation as error:
        raise Refused(f"the hub keeps only what is the team's: {error.diag.message_primary}") from error
    except (errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedColumn) as error:
        raise StoreTooNew(f"the database lacks something ({error}); start the hub again to migrate it") from error
    except (errors.InsufficientPrivilege, errors.InvalidAuthorizationSpecification) as error:
        raise StoreError(f"the database role may not do this ({error}); see docs/how-to/hub.md") from error
    except (errors.DiskFull, errors.ReadOnlySqlTransaction) as error:
        raise StoreError(f"the database cannot be written to ({error}); check its disk and whether it leads") from error
    except psycopg.OperationalError as error:
        raise Unavailable(f"the hub's database does not answer ({error}); check its address") from error
