"""Metadata of a memory: short names with strings, numbers or booleans."""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hivemind.errors import InvalidInput
from hivemind.text.clean import validate_text

MetadataValue = str | int | float | bool

MAX_METADATA_KEYS, MAX_METADATA_BYTES = 32, 4096
LARGEST_INTEGER = 1 << 53
"""JSON readers that parse numbers as doubles keep integers exact up to here."""
KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
NOT_IN_A_KEY = re.compile(r"[^A-Za-z0-9_.-]+")


class Metadata(Mapping[str, MetadataValue]):
    """An immutable dictionary, so that facts and memories with metadata stay frozen and hashable."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, MetadataValue] | None = None) -> None:
        self._values = dict(values or {})

    def __getitem__(self, name: str) -> MetadataValue:
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
    def summary(self) -> str:
        """The values as one line: ``language="Python", lines=120``."""
        return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in self.items())

    def with_changes(self, values: Mapping[str, MetadataValue], without: tuple[str, ...] = ()) -> "Metadata":
        """A copy with some values set and some names removed."""
        return Metadata({name: value for name, value in self.items() if name not in without} | dict(values))

    def change_text(self, change: Callable[[str], str]) -> "Metadata":
        """A copy with each name and string changed; the change sees ``name=value``, as the name can mark a password."""
        changed_values: dict[str, MetadataValue] = {}
        for name, value in self.items():
            changed_values[_make_key(change(name), changed_values)] = _change_text(name, value, change)
        return Metadata(changed_values)


NO_METADATA = Metadata()


def check_mapping(values: object) -> Mapping[str, Any]:
    """A caller's dictionary unchanged; raises InvalidInput if it is something else."""
    if not isinstance(values, Mapping):
        raise InvalidInput(f"metadata must be a dictionary, not {values!r}; write it like {{'language': 'Python'}}")
    return values


def validate_metadata(values: object) -> Metadata:
    """Metadata from a caller's dictionary; raises InvalidInput with what to correct."""
    values = check_mapping(values)
    if len(values) > MAX_METADATA_KEYS:
        raise InvalidInput(f"metadata has {len(values)} keys, the limit is {MAX_METADATA_KEYS}; leave some out")
    metadata = Metadata({_validate_key(name): _validate_value(name, value) for name, value in values.items()})
    # The size as stored, in bytes and not in characters.
    size = len(json.dumps(dict(metadata), ensure_ascii=False).encode())
    if size > MAX_METADATA_BYTES:
        raise InvalidInput(
            f"metadata has {size:,} bytes, the limit is {MAX_METADATA_BYTES:,}; put long text into the memory"
        )
    return metadata


def is_valid_metadata(metadata: Metadata) -> bool:
    """Whether metadata from another program has only types that databases can store."""
    return all(isinstance(name, str) and is_valid_value(value) for name, value in metadata.items())


def is_valid_value(value: object) -> bool:
    """Whether a value is a string, a boolean, or a number that JSON can represent."""
    if isinstance(value, int):
        return -LARGEST_INTEGER <= value <= LARGEST_INTEGER
    return isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


def _validate_key(name: object) -> str:
    if not isinstance(name, str) or not KEY.fullmatch(name):
        raise InvalidInput(
            f"metadata key {name!r} is not a short identifier;"
            " use up to 64 letters, digits, '_', '-' and '.', beginning with a letter"
        )
    return name


def _validate_value(name: str, value: object) -> MetadataValue:
    match value:
        case str():
            return validate_text(str(value), f"metadata {name!r}", longest=MAX_METADATA_BYTES)
        case float() if math.isfinite(value):
            # 3.0 and 3 are the same number; one spelling makes them the same to every filter.
            return int(value) if value.is_integer() and abs(value) <= LARGEST_INTEGER else value
        # Booleans are integers in Python, so they match as well.
        case int() if is_valid_value(value):
            return value
    raise InvalidInput(f"metadata {name!r} is {value!r}; a value is a string, a finite number, true or false")


def _make_key(name: str, taken_names: Mapping[str, MetadataValue]) -> str:
    """A valid key from a changed name that no other value has: ``[redacted:github]`` becomes ``redacted_github``."""
    key = NOT_IN_A_KEY.sub("_", name).strip("_") if not KEY.fullmatch(name) else name
    while key in taken_names:
        key += "_"
    return key


def _change_text(name: str, value: MetadataValue, change: Callable[[str], str]) -> MetadataValue:
    if not isinstance(value, str):
        return value
    prefix = f"{name}="
    result = change(prefix + value)
    # If the change altered the name too, only the value is changed, without its name.
    return result.removeprefix(prefix) if result.startswith(prefix) else change(value)
