"""SQL for reading: documented views over the memories, on a connection that cannot write.

The file is opened read-only, and an authorizer admits nothing but reading through the views; both are the
engine's own doing, so no cleverness in the statement gets around them. To the authorizer a common table
expression looks like a view of the same name; so what reads the tables has a name that nobody can know.
"""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from hivemind.errors import InvalidInput, Refused
from hivemind.store import FILE, parameters
from hivemind.store.database import Held, Row
from hivemind.store.log import unpacked
from hivemind.store.sqlite import Sqlite

TRUST = "CASE trust WHEN 3 THEN 'high' WHEN 2 THEN 'medium' ELSE 'low' END"

EMBEDDING = """(
            SELECT unpack_vector(v.scale, v.numbers)
            FROM main.passages p JOIN main.vectors v ON v.passage = p.key
            WHERE p.memory = m.key AND p.until = '' AND p.ordinal = 0)"""

VIEWS: dict[str, str] = {
    "agent_memory": f"""
        SELECT id, text AS content, {EMBEDDING} AS embedding,
            coalesce(metadata ->> 'memory_type', bucket) AS memory_type, kind, scope, repo, tags, subject, file_path,
            session_id, agent, owner, channel, status, {TRUST} AS trust, confidence,
            recorded_at AS timestamp, revised_at, valid_from, valid_to, expires_at, verify_by, version, metadata
        FROM main.memories m""",
    "traces": """
        SELECT id, agent, action, reasoning, result, tags, scope, repo, session_id, status,
            recorded_at AS timestamp
        FROM main.memories WHERE kind = 'trace'""",
    "sessions": """
        SELECT id, agent, repo, directory, started_at, last_seen_at,
            (SELECT count(*) FROM main.observations o WHERE o.session_id = s.id) AS observations
        FROM main.sessions s""",
    "tool_outputs": """
        SELECT o.id, o.session_id, s.agent, s.repo, o.tool, unpacked(b.content) ->> 'input' AS input,
            unpacked(b.content) ->> 'output' AS output, o.command, o.exit_code, o.failed, o.file AS file_path,
            o.at AS timestamp
        FROM main.observations o JOIN main.sessions s ON s.id = o.session_id
            JOIN main.events e ON e.id = o.id JOIN main.bodies b ON b.position = e.position
        WHERE o.seen = 'tool'""",
    "receipts": """
        SELECT id, memory_id, actor, session_id, query, rank, score, tokens, why, at AS timestamp
        FROM main.receipts""",
}
"""What may be read, by name; the columns are a promise."""

BEHIND = {"memories", "passages", "vectors", "sessions", "observations", "receipts", "events", "bodies"}
"""The tables that views may read; of the log only what tools printed, which is kept nowhere else."""
ONLY_READING = f"only reading from {', '.join(VIEWS)} is possible here; change memories with the other commands"
TABLE_FUNCTIONS = {"json_each", "json_tree"}


@dataclass(frozen=True, slots=True)
class Rows:
    """What a statement returned."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def fetchall(self) -> list[Row]:
        """Every row."""
        return list(self.rows)

    def fetchone(self) -> Row | None:
        """The first row, if there is one."""
        return self.rows[0] if self.rows else None

    def dictionaries(self) -> list[dict[str, Any]]:
        """Every row by the names of its columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Reader(Held):
    """A connection that answers SELECT over the views, and nothing else."""

    def __init__(self, db: Sqlite, make_vectors: Callable[[], object], on_close: Callable[[], None]) -> None:
        self._db = db
        self._make_vectors = make_vectors
        self._on_close = on_close

    @classmethod
    def open(
        cls,
        directory: Path,
        functions: Mapping[str, Callable[..., Any]],
        make_vectors: Callable[[], object] = lambda: None,
        on_close: Callable[[], None] = lambda: None,
    ) -> "Reader":
        """Open the store in a directory for reading; the functions become SQL functions.

        ``make_vectors`` is called before a statement that reads vectors, because new memories have none yet.
        """
        inner = {name: f"{name}_{secrets.token_hex(16)}" for name in VIEWS}
        views = [f"CREATE TEMP VIEW {inner[name]} AS {sql}" for name, sql in VIEWS.items()]
        views += [f"CREATE TEMP VIEW {name} AS SELECT * FROM {inner[name]}" for name in VIEWS]
        db = Sqlite.open_for_reading(directory / FILE, views)
        known: Mapping[str, Callable[..., Any]] = {**functions, "unpacked": unpacked}
        for name, function in known.items():
            # Deterministic, so that the vector of a constant text is made once and not for each row.
            db.connection.create_scalar_function(name, function, deterministic=True)
        db.connection.authorizer = partial(_only_reading, frozenset(inner.values()))
        return cls(db, make_vectors, on_close)

    def query(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        """Run one SELECT and return its rows as dictionaries."""
        return self.execute(sql, values).dictionaries()

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Rows:
        """Run one SELECT and return its rows.

        Placeholders are ``?``, ``%s``, ``:name`` or ``%(name)s``; a vector may be a list, an array or bytes.
        """
        statement, bound = parameters.parse(sql), parameters.bind(values)
        if statement.reads_vectors:
            self._make_vectors()
        columns: list[str] = []

        def note_columns(cursor: apsw.Cursor, _sql: str, _values: object) -> bool:
            if cursor.is_explain:  # It would tell the names of the inner views.
                raise Refused(ONLY_READING)
            columns[:] = [column[0] for column in cursor.get_description()]
            return True

        cursor = self._db.connection.cursor()
        cursor.exec_trace = note_columns
        try:
            rows = tuple(cursor.execute(statement.sql, bound))
        except (apsw.AuthError, apsw.ReadOnlyError):
            raise Refused(ONLY_READING) from None
        except (apsw.SQLError, apsw.BindingsError) as error:
            # Writing to a view fails before the authorizer is asked.
            raise (Refused(ONLY_READING) if "cannot modify" in str(error) else InvalidInput(f"SQL: {error}")) from None
        except KeyError as error:
            raise InvalidInput(f"SQL: there is no value for the parameter :{error.args[0]}") from None
        return Rows(tuple(columns), rows)

    def close(self) -> None:
        """Give the file back."""
        self._db.close()
        self._on_close()


def _only_reading(
    inner: frozenset[str], action: int, first: str | None, second: str | None, schema: str | None, view: str | None
) -> int:
    match action:
        case apsw.SQLITE_SELECT | apsw.SQLITE_RECURSIVE:
            allowed = True
        case apsw.SQLITE_FUNCTION:
            allowed = second != "load_extension"
        case apsw.SQLITE_READ:
            a_view = schema == "temp" and (first in VIEWS or first in inner)
            # Where only rows are counted, no column is named, and no view either.
            allowed = a_view or first in TABLE_FUNCTIONS or (first in BEHIND and (view in inner or not second))
        case _:
            allowed = False
    return apsw.SQLITE_OK if allowed else apsw.SQLITE_DENY
