"""Placeholders and parameters of SQL that a user wrote, converted to SQLite's own."""

import math
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hivemind.errors import InvalidInput
from hivemind.text.clean import first_line

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


def parse(sql: str) -> SqlStatement:
    """Read ``%s`` as ``?``, ``%(name)s`` as ``:name`` and ``%%`` as ``%``; text and comments stay as they are."""
    tokens = {token[0].strip('"`[]').lower() for token in TOKEN.finditer(sql)}
    return SqlStatement(sql=TOKEN.sub(_replace_placeholder, sql), reads_vectors=VECTOR_COLUMN in tokens)


def bind(values: Any) -> tuple[Any, ...] | dict[str, Any]:
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
    """Whether a value is a finite number that fits in 32 bits."""
    try:
        return math.isfinite(value) and bool(struct.pack("<f", value))
    except (TypeError, OverflowError):
        return False
