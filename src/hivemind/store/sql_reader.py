"""Read-only SQL: documented views over the memories, on a connection that cannot write.

The file is opened read-only, and an authorizer allows nothing but reading through the views. SQLite enforces both, so
no statement can get around them. To the authorizer a common table expression looks like a view of the same name;
therefore the views that read the tables have random names, which a statement cannot guess.
"""

import math
import re
import secrets
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import apsw

from hivemind.errors import InvalidInput, Refused
from hivemind.model.codec import unpack_content
from hivemind.store.database import Closeable, Row
from hivemind.store.sqlite import Sqlite, raise_store_errors
from hivemind.store.store import FILE
from hivemind.text.clean import check_text, first_line

TRUST = "CASE trust WHEN 3 THEN 'high' WHEN 2 THEN 'medium' ELSE 'low' END"

EMBEDDING = """(
            SELECT unpack_vector(v.scale, v.numbers)
            FROM main.passages p JOIN main.vectors v ON v.passage = p.key
            WHERE p.memory = m.key AND p.until = '' AND p.ordinal = 0)"""

OBSERVED = """
        FROM main.observations o JOIN main.sessions s ON s.id = o.session_id
            JOIN main.events e ON e.id = o.id JOIN main.bodies b ON b.position = e.position"""

SAID = f"""
        SELECT o.id, o.session_id, s.agent, s.repo, unpacked(b.content) ->> 'text' AS text, o.subagent,
            o.at AS timestamp {OBSERVED}"""

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
    "tool_outputs": f"""
        SELECT o.id, o.session_id, s.agent, s.repo, o.tool, unpacked(b.content) ->> 'input' AS input,
            unpacked(b.content) ->> 'output' AS output, o.command, o.exit_code, o.failed, o.file AS file_path,
            o.at AS timestamp
        {OBSERVED} WHERE o.seen = 'tool'""",
    "prompts": f"{SAID} WHERE o.seen = 'prompt'",
    "messages": f"{SAID} WHERE o.seen = 'reply'",
    "receipts": """
        SELECT id, memory_id, actor, session_id, query, rank, score, tokens, why, occasion, at AS timestamp
        FROM main.receipts""",
}
"""The readable views by name; their columns are a public interface."""

TABLES_BEHIND_VIEWS = {"memories", "passages", "vectors", "sessions", "observations", "receipts", "events", "bodies"}
"""The tables that views may read; the log only for the output of tools, which is stored nowhere else."""
READ_ONLY_MESSAGE = f"only reading from {', '.join(VIEWS)} is possible here; change memories with the other commands"
TABLE_FUNCTIONS = {"json_each", "json_tree"}
TOKEN = re.compile(
    r"""'[^']*'                                  # text; a doubled quote ends one piece and begins the next
    | "[^"]*" | `[^`]*` | \[[^\]]*\]             # names in quotes
    | --[^\n]* | /\*.*?(?:\*/|\Z)               # comments
    | %% | %s\b | %\((?P<name>\w+)\)s\b | \w+""",
    re.VERBOSE | re.DOTALL,
)
VECTOR_COLUMN = "embedding"


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlStatement:
    """A statement with SQLite's placeholders."""

    sql: str
    reads_vectors: bool
    """Whether it names the column of vectors; true too often is harmless, so names are not resolved."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The result of a statement."""

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
        """Every row as a dictionary by column names."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class Reader(Closeable):
    """A connection that runs SELECT over the views, and nothing else."""

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

        ``make_vectors`` runs before a statement that reads vectors, because new memories have none yet.
        """
        # Only a view with an unguessable name may read tables, so that no statement can pass for one of ours.
        inner_names = {name: f"{name}_{secrets.token_hex(16)}" for name in VIEWS}
        views = [f"CREATE TEMP VIEW {inner_names[name]} AS {sql}" for name, sql in VIEWS.items()]
        views += [f"CREATE TEMP VIEW {name} AS SELECT * FROM {inner_names[name]}" for name in VIEWS]
        db = Sqlite.open_for_reading(directory / FILE, views)
        sql_functions: Mapping[str, Callable[..., Any]] = {**functions, "unpacked": unpack_content}
        for name, function in sql_functions.items():
            # Deterministic, so that SQLite embeds a constant text once instead of once per row.
            db.connection.create_scalar_function(name, function, deterministic=True)
        db.connection.authorizer = partial(_authorize, frozenset(inner_names.values()))
        return cls(db, make_vectors, on_close)

    def query(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[dict[str, Any]]:
        """Run one SELECT and return its rows as dictionaries."""
        return self.execute(sql, values).dictionaries()

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Rows:
        """Run one SELECT and return its rows.

        Placeholders are ``?``, ``%s``, ``:name`` or ``%(name)s``; a vector may be a list, an array or bytes.
        """
        statement, bindings = parse_statement(sql), bind_values(values)
        # Embedding takes time, and most statements read no vectors.
        if statement.reads_vectors:
            self._make_vectors()
        columns: list[str] = []

        def note_columns(cursor: apsw.Cursor, _sql: str, _values: object) -> bool:
            if cursor.is_explain:  # It would reveal the names of the inner views.
                raise Refused(READ_ONLY_MESSAGE)
            columns[:] = [column[0] for column in cursor.get_description()]
            return True

        with raise_store_errors():
            cursor = self._db.connection.cursor()
        cursor.exec_trace = note_columns
        try:
            rows = tuple(cursor.execute(statement.sql, bindings))
        except (apsw.AuthError, apsw.ReadOnlyError):
            raise Refused(READ_ONLY_MESSAGE) from None
        except (apsw.SQLError, apsw.BindingsError, OverflowError, UnicodeEncodeError) as error:
            # Writing to a view fails before the authorizer is asked.
            if "cannot modify" in str(error):
                raise Refused(READ_ONLY_MESSAGE) from None
            hint = f"; the views are {', '.join(VIEWS)}" if "no such table" in str(error) else ""
            raise InvalidInput(f"SQL: {error}{hint}") from None
        except KeyError as error:
            raise InvalidInput(f"SQL: there is no value for the parameter :{error.args[0]}") from None
        return Rows(tuple(columns), rows)

    def close(self) -> None:
        """Close the file and run ``on_close``."""
        self._db.close()
        self._on_close()


def _authorize(
    inner_names: frozenset[str],
    action: int,
    table: str | None,
    column_or_function: str | None,
    schema: str | None,
    view: str | None,
) -> int:
    match action:
        case apsw.SQLITE_SELECT | apsw.SQLITE_RECURSIVE:
            is_allowed = True
        case apsw.SQLITE_FUNCTION:
            # It would run native code.
            is_allowed = column_or_function != "load_extension"
        case apsw.SQLITE_READ:
            is_view = schema == "temp" and (table in VIEWS or table in inner_names)
            # A count of rows names neither a column nor a view.
            is_allowed = (
                is_view
                or table in TABLE_FUNCTIONS
                or (table in TABLES_BEHIND_VIEWS and (view in inner_names or not column_or_function))
            )
        case _:
            is_allowed = False
    return apsw.SQLITE_OK if is_allowed else apsw.SQLITE_DENY


def parse_statement(sql: str) -> SqlStatement:
    """Read ``%s`` as ``?``, ``%(name)s`` as ``:name`` and ``%%`` as ``%``; text and comments stay as they are."""
    tokens = {token[0].strip('"`[]').lower() for token in TOKEN.finditer(check_text(sql, "the statement"))}
    return SqlStatement(sql=TOKEN.sub(_replace_placeholder, sql), reads_vectors=VECTOR_COLUMN in tokens)


def bind_values(values: Any) -> tuple[Any, ...] | dict[str, Any]:
    """Convert parameters for SQLite: vectors to blobs of 32-bit floats; other values stay as they are."""
    if isinstance(values, Mapping):
        return {name: _bind_value(f":{name}", value) for name, value in values.items()}
    # A string is iterable, but is never meant as one parameter per character.
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InvalidInput(f"parameters must be a list, a tuple or a dictionary, not {values!r}")
    return tuple(_bind_value(f"number {place}", value) for place, value in enumerate(values, start=1))


def _replace_placeholder(token: re.Match[str]) -> str:
    match token[0]:
        case "%s":
            return "?"
        case "%%":
            return "%"
        case _:
            return f":{token['name']}" if token["name"] else token[0]


def _bind_value(which: str, value: Any) -> Any:
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    # Arrays and scalars of NumPy and similar libraries become Python values, without importing the library.
    value = value.tolist() if hasattr(value, "tolist") else value
    match value:
        case None | int() | float() | str() | bytes():
            return value
        case list() | tuple():
            return _pack_vector(which, value)
    raise InvalidInput(
        f"parameter {which} is a {type(value).__name__}; give text, a number, bytes, None, or a vector as a list"
    )


def _pack_vector(which: str, numbers: list[Any] | tuple[Any, ...]) -> bytes:
    """Pack a vector in the format of the column ``embedding``."""
    for number in numbers:
        if not _is_number(number):
            raise InvalidInput(
                f"parameter {which} is not a vector: {first_line(repr(number), 40)} in it is not a finite number"
            )
    return struct.pack(f"<{len(numbers)}f", *numbers)


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(value) and bool(struct.pack("<f", value))
    except (TypeError, OverflowError):
        return False
