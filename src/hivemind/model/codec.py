"""Convert dataclasses to plain JSON types and back, for the log, exports and ``--json``; compress long JSON."""

import base64
import dataclasses
import json
import zlib
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")
PLAIN_TYPES = frozenset({str, int, float, bool, type(None)})
PACKED_PREFIX = "z:"
"""Marks packed content; JSON never begins with it."""
MIN_PACKED_CHARACTERS = 512
"""Packing shorter content saves little."""


def to_plain(value: Any, *, terse: bool = False) -> Any:
    """The value as dicts, lists, strings and numbers; terse omits fields that have their default."""
    # Most values are plain already, and asking whether one is a dataclass takes longer than all else.
    if type(value) in PLAIN_TYPES:
        return value
    if dataclasses.is_dataclass(value):
        return {
            field.name: to_plain(content, terse=terse)
            for field in dataclasses.fields(value)
            for content in [getattr(value, field.name)]
            if not (terse and content == field.default)
        }
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [to_plain(item, terse=terse) for item in value]
    if isinstance(value, Mapping):
        return {name: to_plain(content, terse=terse) for name, content in value.items()}
    return value


def to_json(value: Any, *, terse: bool = False) -> str:
    """The value as one line of JSON."""
    return json.dumps(to_plain(value, terse=terse), ensure_ascii=False, separators=(",", ":"))


def from_plain(shape: type[T], values: Mapping[str, Any]) -> T:
    """The dataclass from what ``to_plain`` made of it; fields that a newer program added are ignored."""
    # The cache takes a Hashable, which mypy does not see in type[T].
    untyped_shape: Any = shape
    converters = _find_converters(untyped_shape).items()
    return shape(
        **{name: convert(values[name]) if convert else values[name] for name, convert in converters if name in values}
    )


def from_row(shape: type[T], row: Iterable[Any]) -> T:
    """The dataclass from the values of its fields, in order."""
    untyped_shape: Any = shape
    return from_plain(shape, dict(zip(_find_converters(untyped_shape), row, strict=True)))


@cache
def _find_converters(shape: Any) -> dict[str, Callable[[Any], Any] | None]:
    hints = get_type_hints(shape)
    return {field.name: _find_converter(hints[field.name]) for field in dataclasses.fields(shape)}


def _find_converter(expected_type: Any) -> Callable[[Any], Any] | None:
    """The function that converts a plain value to this type; none if they are the same."""
    # JSON has no tuples.
    if get_origin(expected_type) is tuple:
        item = _find_converter(get_args(expected_type)[0])
        return lambda value: (tuple(map(item, value)) if item else tuple(value)) if isinstance(value, list) else value
    kind = next((type_ for type_ in get_args(expected_type) or (expected_type,) if isinstance(type_, type)), str)
    if dataclasses.is_dataclass(kind):
        return lambda value: value if value is None or isinstance(value, kind) else from_plain(kind, value)
    if issubclass(kind, Mapping):
        mapping: Any = kind
        return lambda value: value if isinstance(value, kind) else mapping(value)
    if kind is bytes:
        return lambda value: bytes.fromhex(value) if isinstance(value, str) else value
    if issubclass(kind, Enum):
        return lambda value: None if value is None else kind(value)
    return None


def pack_content(content: str) -> str:
    """Compress content if that saves space, as with repetitive build logs; the result is text on every engine."""
    if len(content) < MIN_PACKED_CHARACTERS:
        return content
    small = PACKED_PREFIX + base64.b64encode(zlib.compress(content.encode())).decode()
    return small if len(small) < len(content) else content


def unpack_content(body: str) -> str:
    """The original of stored content, packed or not."""
    if body.startswith(PACKED_PREFIX):
        return zlib.decompress(base64.b64decode(body[len(PACKED_PREFIX) :])).decode()
    return body
