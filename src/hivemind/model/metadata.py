"""Metadata: short names with strings, numbers or booleans that a writer gives a memory."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping

from hivemind.errors import InvalidInput
from hivemind.model.text import checked

Value = str | int | float | bool

MOST_KEYS, LONGEST_BYTES = 32, 4096
LARGEST_INTEGER = 1 << 53
"""Every reader of JSON keeps whole numbers up to here exact."""
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")


class Metadata(Mapping[str, Value]):
    """A dictionary that cannot change, so that facts and memories with metadata stay frozen and hashable."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Value] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> Value:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Metadata({self._values!r})"

    @property
    def in_words(self) -> str:
        """The values as one line: ``language="Python", lines=120``."""
        return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.items())

    def with_changes(self, values: Mapping[str, Value], without: tuple[str, ...] = ()) -> "Metadata":
        """The same with some values set and some names left out."""
        return Metadata({name: value for name, value in self.items() if name not in without} | dict(values))

    def with_text_changed(self, change: Callable[[str], str]) -> "Metadata":
        """The same with each string changed; the change sees the name too, which tells a password from a word."""
        return Metadata({name: _with_text_changed(name, value, change) for name, value in self.items()})


NO_METADATA = Metadata()


def checked_metadata(given: object) -> Metadata:
    """Metadata from a caller's dictionary, or an error that says what to correct."""
    if not isinstance(given, Mapping):
        raise InvalidInput(f"metadata must be a dictionary, not {given!r}; write it like {{'language': 'Python'}}")
    if len(given) > MOST_KEYS:
        raise InvalidInput(f"metadata has {len(given)} keys, the limit is {MOST_KEYS}; leave some out")
    metadata = Metadata({_checked_key(name): _checked_value(name, value) for name, value in given.items()})
    size = len(json.dumps(dict(metadata), ensure_ascii=False).encode())
    if size > LONGEST_BYTES:
        raise InvalidInput(
            f"metadata has {size:,} bytes, the limit is {LONGEST_BYTES:,}; put long text into the memory"
        )
    return metadata


def is_valid(metadata: Metadata) -> bool:
    """Whether metadata that another program wrote has the types that databases can keep."""
    return all(isinstance(name, str) and is_valid_value(value) for name, value in metadata.items())


def is_valid_value(value: object) -> bool:
    """Whether a value is a string, a boolean, or a number that JSON can hold."""
    if isinstance(value, int):
        return -LARGEST_INTEGER <= value <= LARGEST_INTEGER
    return isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


def _checked_key(name: object) -> str:
    if not isinstance(name, str) or not KEY.fullmatch(name):
        raise InvalidInput(
            f"metadata key {name!r} is not a short identifier;"
            " use up to 64 letters, digits, '_', '-' and '.', beginning with a letter"
        )
    return name


def _checked_value(name: str, value: object) -> Value:
    match value:
        case str():
            return checked(str(value), f"metadata {name!r}", longest=LONGEST_BYTES)
        case float() if math.isfinite(value):
            # 3.0 and 3 are the same number; one spelling makes them the same to every filter.
            return int(value) if value.is_integer() and abs(value) <= LARGEST_INTEGER else value
        case int() if is_valid_value(value):
            return value
    raise InvalidInput(f"metadata {name!r} is {value!r}; a value is a string, a finite number, true or false")


def _with_text_changed(name: str, value: Value, change: Callable[[str], str]) -> Value:
    if not isinstance(value, str):
        return value
    before = f"{name}="
    changed = change(before + value)
    return changed.removeprefix(before) if changed.startswith(before) else change(value)
