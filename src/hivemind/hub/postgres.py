"""A connection to the hub's Postgres that sees the rows of one team only.

Every transaction first sets the team and a role that owns nothing; row-level security does the rest. Both settings end
with the transaction, and nothing else is kept in a session, so that a pooler in transaction mode may stand in between.
A team has one writer at a time: positions are committed in order, so that a reader with a cursor misses nothing.
"""

import re
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.resources import files
from itertools import count
from typing import Any

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from hivemind.errors import InvalidInput, Refused, StoreBusy, StoreError, StoreTooNew, Unavailable
from hivemind.hub.search import PostgresIndex
from hivemind.hub.team_sql import DISTRIBUTED_TABLES, TEAM, bind_team
from hivemind.store.database import Database, Row

SCHEMA = "hivemind"
ROLES = ("hivemind_hub", "hivemind_index", "hivemind_door")
WORKER_FUNCTIONS = ("team()", "json_each(text,text)", "json_extract(text,text)", "json_patch(text,text)")
"""What statements call on the server of a team."""
BREAKING = "-- Breaking"
"""How a migration begins that programs before it cannot work with; all others only add."""
FIRST_MIGRATION_OF_0_2 = "0001_roles.sql"
MOVE_SCHEMA_OF_0_2 = """
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_extension WHERE extname = 'vector' AND extnamespace = 'hivemind'::regnamespace) THEN
        ALTER EXTENSION vector SET SCHEMA public; -- the schema of 0.2 will be dropped
    END IF;
    ALTER SCHEMA hivemind RENAME TO hivemind_0_2;
END $$
"""
"""The migrations of 0.2 became one; ``0002_rows_of_0_2.sql`` moves the rows into the new tables."""
MIGRATION_ATTEMPTS, MIGRATION_LOCK_SECONDS = 30, 2
"""A change of a table waits this long for its readers, because new readers wait behind it; then it tries again."""
MIGRATION_LOCK = 0x68697665
"""The advisory lock for migrations, so that two hubs can start at once; the number is "hive" in ASCII."""
LOCK_SECONDS, STATEMENT_SECONDS = 30, 60
"""How long a request waits for another writer of the team, and for one statement (0: no limit)."""
STREAM_BATCH_ROWS = 1_000
"""Rows per round trip when streaming."""

ENTER_TEAM = (
    "SET LOCAL search_path = hivemind, public",
    "SET LOCAL hivemind.team = '{team}'",
    "SET LOCAL statement_timeout = '{seconds}s'",
    "SELECT set_config('role', 'hivemind_hub', true)",
)
"""Each ends with the transaction. Citus passes on to its servers what SET LOCAL sets, and not what set_config does: it
connects to them as the role of the statement, which in a function of another owner is that owner."""
LOCK_TEAM = (
    "SELECT set_config('lock_timeout', $2, true),"
    " pg_advisory_xact_lock(hashtextextended('hivemind', 0) # hashtextextended($1, 0))"
)
PLACEHOLDER = re.compile(r"'[^']*'|\?|(?<!:):([a-z_]+)")
"""Also matches string literals, so that a ? or : inside one stays; ``::`` is a cast."""

IN_LIST = re.compile(
    r"(NOT )?IN (\(SELECT (?:DISTINCT )?(?:value|CAST\(value AS BIGINT\)) FROM json_each\((?:\?|:[a-z_]+)\)\))"
)
ONE_ROW = re.compile(r"VALUES (\((?:(?! ON CONFLICT ).)+\))((?: ON CONFLICT DO NOTHING)?)$")
"""The end of a statement that inserts one row of values; an update on conflict may touch a row only once."""
MOST_PARAMETERS = 8_000
"""In one statement; the protocol allows 65,535."""

Connection = psycopg.Connection[Row]


class Postgres(Database):
    """A connection for one team."""

    # Sessions never leave a person's machine.
    HAS_SESSIONS = False
    # Ignores case, as LIKE does in SQLite.
    LIKE = "ILIKE"

    # A worker embeds what was written; see hub/worker.py.
    HAS_WORKER = True
    index: PostgresIndex

    def __init__(
        self,
        connection: Connection,
        team: str,
        lock_seconds: int = LOCK_SECONDS,
        statement_seconds: int = STATEMENT_SECONDS,
    ) -> None:
        self.connection = connection
        self.team = team
        self.index = PostgresIndex(self)
        self._lock_seconds = lock_seconds
        self._statement_seconds = statement_seconds
        self._is_in_team = False
        self._is_streaming = False
        self._has_lock = False

    def execute(self, sql: str, *values: Any) -> list[Row]:
        """Run one statement and return its rows."""
        with _translate_errors():
            if self._is_in_team:
                return _fetch_rows(self._run(sql, values))
            # Pipelined, so that a single statement takes one round trip instead of four.
            with self.connection.pipeline(), self.connection.transaction():
                self._set_team()
                cursor = self._run(sql, values)
            return _fetch_rows(cursor)

    def stream(self, sql: str, *values: Any) -> Iterator[Row]:
        """Yield rows one by one from a cursor on the server; outside a transaction, nothing is written meanwhile."""
        statement, parameters = translate_sql(sql, values, self.team)
        # Not WITH HOLD, which outlives the transaction: a pooler would send the next page's request elsewhere.
        with (
            _translate_errors(),
            self._stop_writes(),
            self._enter_team(),
            psycopg.RawServerCursor(self.connection, f"rows_{secrets.token_hex(8)}") as rows,
        ):
            rows.itersize = STREAM_BATCH_ROWS
            rows.execute(statement, parameters)
            yield from rows

    @contextmanager
    def _stop_writes(self) -> Iterator[None]:
        """Refuse transactions in the block, unless it is part of one: a stream that is left early would undo them."""
        before, self._is_streaming = self._is_streaming, not self._has_lock
        try:
            yield
        finally:
            self._is_streaming = before

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for each row of values."""
        parameters = [[_clean(value) for value in row] for row in rows]
        if not parameters:
            return
        with _translate_errors(), self._enter_team(), self.connection.cursor() as cursor:
            if self.team:
                sql = bind_team(sql).replace(TEAM, f"'{self.team}'::uuid")
            if match := ONE_ROW.search(sql):
                # Several rows in one statement take a fifth of the time of as many statements.
                size = max(1, MOST_PARAMETERS // len(parameters[0]))
                for start in range(0, len(parameters), size):
                    page = parameters[start : start + size]
                    statement = f"{sql[: match.start()]}VALUES {', '.join([match[1]] * len(page))}{match[2]}"
                    cursor.execute(_number_placeholders(statement)[0], [value for row in page for value in row])
            else:
                cursor.executemany(_number_placeholders(sql)[0], parameters)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run a transaction as the only writer of the team; a nested one joins the outer one."""
        if self._has_lock:
            yield
            return
        assert not self._is_streaming, "read a stream to its end before writing"
        with _translate_errors(), self._enter_team():
            self.connection.execute(LOCK_TEAM, [self.team, f"{self._lock_seconds}s"])
            self._has_lock = True
            try:
                yield
            finally:
                self._has_lock = False

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Run several queries in one transaction, which is cheaper than one for each."""
        with _translate_errors(), self._enter_team():
            yield

    def empty(self, tables: Sequence[str], schema: str) -> None:
        """Delete the team's rows from these tables; their schema comes from the migrations."""
        existing = self.execute("SELECT tablename FROM pg_tables WHERE schemaname = ?", SCHEMA)
        for table in tables:
            if (table,) in existing:
                self.execute(f"DELETE FROM {table}")

    def vacuum(self, *tables: str) -> bool:
        """Vacuum tables as their owner; return False if an older transaction still sees the deleted rows."""
        with _translate_errors():
            # VACUUM keeps every row that a transaction older than this one may still read.
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
    def _enter_team(self) -> Iterator[None]:
        if self._is_in_team:
            yield
            return
        with self.connection.transaction():
            with self.connection.pipeline():
                self._set_team()
            self._is_in_team = True
            try:
                yield
            finally:
                self._is_in_team = False

    def _set_team(self) -> None:
        for setting in ENTER_TEAM:
            # A team is a UUID, which was parsed, or nothing.
            self.connection.execute(setting.format(team=self.team, seconds=self._statement_seconds))

    def _run(self, sql: str, values: tuple[Any, ...]) -> psycopg.Cursor[Row]:
        statement, parameters = translate_sql(sql, values, self.team)
        return self.connection.execute(statement, parameters)


def parse_address(address: str) -> Mapping[str, Any]:
    """Return the parts of the address of a Postgres."""
    try:
        return conninfo_to_dict(address)
    except psycopg.ProgrammingError:
        # Without the reason, which quotes the password.
        raise InvalidInput(
            "this is not the address of a Postgres; write it like postgresql://hub@localhost/hub, and an @ in the"
            " password as %40"
        ) from None


def connect(address: str) -> Connection:
    """Open a connection with autocommit and ``$1`` placeholders."""
    parse_address(address)
    with _translate_errors():
        # A prepared statement belongs to a session, and a pooler in transaction mode changes sessions.
        return psycopg.connect(address, autocommit=True, cursor_factory=psycopg.RawCursor, prepare_threshold=None)


def migrate(address: str) -> list[str]:
    """Apply missing migrations, all of them or none, and return their names."""
    for attempt in range(MIGRATION_ATTEMPTS):
        try:
            with connect(address) as owner:
                with owner.transaction():
                    names = _apply_missing(owner)
                _distribute(owner)
                return names
        except errors.LockNotAvailable:
            time.sleep(attempt)
    raise StoreBusy("the hub's tables were in use the whole time; run 'hivemind hub migrate' again")


def has_citus(connection: Connection) -> bool:
    """Whether the database has the extension that distributes tables over several servers."""
    return connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone() is not None


def _distribute(owner: Connection) -> None:
    """Distribute the tables of teams by team, unless that was done before or the database does not distribute."""
    if not has_citus(owner):
        return
    with owner.transaction():
        owner.execute("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK])
        rows = owner.execute("SELECT logicalrelid::oid FROM pg_dist_partition").fetchall()
        tables = [
            table
            for table in DISTRIBUTED_TABLES
            if owner.execute("SELECT $1::regclass::oid", [f"{SCHEMA}.{table}"]).fetchone() not in rows
        ]
        if not tables:
            return
        _check_roles(owner)
        database = psycopg.sql.Identifier(owner.info.dbname).as_string(owner)
        # Otherwise the other servers would not learn which team is asked for, and show none of its rows.
        owner.execute(f"ALTER DATABASE {database} SET citus.propagate_set_commands = 'local'".encode())
        for function in WORKER_FUNCTIONS:
            owner.execute("SELECT create_distributed_function($1)", [f"{SCHEMA}.{function}"])
        for table in tables:
            beside = "default" if table == DISTRIBUTED_TABLES[0] else f"{SCHEMA}.{DISTRIBUTED_TABLES[0]}"
            owner.execute(
                "SELECT create_distributed_table($1::regclass, 'team_id', colocate_with => $2)",
                [f"{SCHEMA}.{table}", beside],
            )


def _check_roles(owner: Connection) -> None:
    """Refuse to go on if Citus could not connect to its servers as the roles of our statements."""
    rows = owner.execute("SELECT rolname FROM pg_roles WHERE NOT rolcanlogin AND rolname = ANY($1)", [list(ROLES)])
    if roles := [row[0] for row in rows]:
        raise StoreError(f"on Citus {', '.join(roles)} must be allowed to log in; see docs/how-to/large-hub.md")


def _apply_missing(owner: Connection) -> list[str]:
    migrations = {file.name: file.read_text("utf-8") for file in (files("hivemind.hub") / "migrations").iterdir()}
    owner.execute("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK])
    owner.execute(f"SET LOCAL lock_timeout = '{MIGRATION_LOCK_SECONDS}s'")
    applied_migrations = _read_applied(owner)
    if FIRST_MIGRATION_OF_0_2 in applied_migrations:
        owner.execute(MOVE_SCHEMA_OF_0_2)
        applied_migrations = _read_applied(owner)
    # A newer program has only added to the database, unless it says otherwise: both may serve during an upgrade.
    if breaking := [name for name, is_breaking in applied_migrations.items() if is_breaking and name not in migrations]:
        raise StoreTooNew(f"a newer hivemind migrated this database ({max(breaking)}); upgrade this hub")
    missing = sorted(set(migrations) - set(applied_migrations))
    for name in missing:
        _apply(owner, name, migrations[name])
    return missing


def _read_applied(owner: Connection) -> dict[str, bool]:
    """Create the schema if it is missing, and return the migrations that were applied and whether each is breaking."""
    owner.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
    owner.execute(f"SET LOCAL search_path = {SCHEMA}, public")
    owner.execute(
        "CREATE TABLE IF NOT EXISTS migrations (name text PRIMARY KEY, is_breaking boolean NOT NULL DEFAULT false)"
    )
    return dict(owner.execute("SELECT name, is_breaking FROM migrations").fetchall())


def _apply(owner: Connection, name: str, sql: str) -> None:
    try:
        owner.execute(sql)  # type: ignore[arg-type, unused-ignore]
        owner.execute("INSERT INTO migrations VALUES ($1, $2)", [name, sql.startswith(BREAKING)])
    except errors.InsufficientPrivilege as error:
        raise StoreError(
            f"{name}: {error.diag.message_primary}; ask a superuser to run 'CREATE EXTENSION vector' in this database"
            " and to give its owner CREATEROLE"
        ) from error
    except (errors.UndefinedFile, errors.FeatureNotSupported) as error:
        raise StoreError(f"{name}: {error.diag.message_primary}; install pgvector on the server") from error


def translate_sql(sql: str, values: tuple[Any, ...], team: str = "") -> tuple[str, list[Any]]:
    """Return a statement for a team with ``$1`` instead of ``?`` or ``:name``, and its values in that order."""
    text, names = _number_placeholders(bind_team(sql) if team else sql)
    text = text.replace(TEAM, f"'{team}'::uuid")
    if len(values) == 1 and isinstance(values[0], dict):
        return text, [_clean(values[0][name]) for name in names]
    return text, [_clean(value) for value in values]


@lru_cache(1024)
def _number_placeholders(sql: str) -> tuple[str, tuple[str, ...]]:
    names: dict[str, int] = {}
    number = count(1)

    def replace(match: re.Match[str]) -> str:
        if match[0].startswith("'"):
            return match[0]
        if match[0] == "?":
            return f"${next(number)}"
        return f"${names.setdefault(match[1], len(names) + 1)}"

    # An array is compared with an index; for a subquery, Postgres would read every row of a team that is new to it.
    sql = IN_LIST.sub(lambda match: f"{'<> ALL' if match[1] else '= ANY'} (ARRAY{match[2]})", sql)
    return PLACEHOLDER.sub(replace, sql), tuple(names)


def _clean(value: Any) -> Any:
    """Return the plain text of strings and enumerations, without NUL, which Postgres cannot store."""
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return str(value).replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(value, str) else value


def _fetch_rows(cursor: psycopg.Cursor[Row]) -> list[Row]:
    return cursor.fetchall() if cursor.description else []


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise errors of Postgres as ours, each with what to do."""
    try:
        yield
    except (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure) as error:
        raise StoreBusy("other writers of the team were busy the whole time; try again") from error
    except errors.QueryCanceled as error:
        raise StoreBusy("the database took too long; try again, or give it more time: --statement-timeout") from error
    except errors.UniqueViolation as error:
        # Row-level security hides the details.
        detail = error.diag.message_detail or error.diag.message_primary
        raise InvalidInput(f"it exists already: {detail}; choose another name") from error
    except (errors.CheckViolation, errors.ForeignKeyViolation) as error:
        raise Refused(f"the hub stores only entries of scope team: {error.diag.message_primary}") from error
    except (errors.UndefinedTable, errors.UndefinedFunction, errors.UndefinedColumn) as error:
        raise StoreTooNew(f"the database schema is outdated ({error}); restart the hub to migrate it") from error
    except (errors.InsufficientPrivilege, errors.InvalidAuthorizationSpecification) as error:
        raise StoreError(f"the database role may not do this ({error}); see docs/how-to/team.md") from error
    except (errors.DiskFull, errors.ReadOnlySqlTransaction) as error:
        raise StoreError(
            f"the database is full or read-only ({error}); check its disk, and that it is the primary"
        ) from error
    except psycopg.OperationalError as error:
        raise Unavailable(f"the hub's database does not answer ({error}); check its address") from error
