"""Values as plain JSON types and back, for the log, for exports and for ``--json``."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")


def plain(value: Any, *, terse: bool = False) -> Any:
    """The value as dicts, lists, strings and numbers; terse leaves out what is at its default."""
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(held, terse=terse)
            for field in dataclasses.fields(value)
            for held in [getattr(value, field.name)]
            if not (terse and held == field.default)
        }
    if isinstance(value, Enum):
        return str(value)
    if isinstance(value, list | tuple):
        return [plain(item, terse=terse) for item in value]
    if isinstance(value, Mapping):
        return {name: plain(held, terse=terse) for name, held in value.items()}
    return value


def as_json(value: Any, *, terse: bool = False) -> str:
    """The value as one line of JSON."""
    return json.dumps(plain(value, terse=terse), ensure_ascii=False, separators=(",", ":"))


def revived(shape: type[T], held: Mapping[str, Any]) -> T:
    """The value that ``plain`` took apart; fields that a newer program added are left aside."""
    known: Any = shape
    makers = _makers(known).items()
    return shape(**{name: make(held[name]) if make else held[name] for name, make in makers if name in held})


def from_row(shape: type[T], row: Iterable[Any]) -> T:
    """The value whose fields these are, in order."""
    known: Any = shape
    return revived(shape, dict(zip(_makers(known), row, strict=True)))


@cache
def _makers(shape: Any) -> dict[str, Callable[[Any], Any] | None]:
    hints = get_type_hints(shape)
    return {field.name: _maker(hints[field.name]) for field in dataclasses.fields(shape)}


def _maker(wanted: Any) -> Callable[[Any], Any] | None:
    """What makes a value of this type from a plain one; none where they are the same."""
    if get_origin(wanted) is tuple:
        item = _maker(get_args(wanted)[0])
        return lambda held: (tuple(map(item, held)) if item else tuple(held)) if isinstance(held, list) else held
    kind = next((one for one in get_args(wanted) or (wanted,) if isinstance(one, type)), str)
    if dataclasses.is_dataclass(kind):
        return lambda held: held if held is None or isinstance(held, kind) else revived(kind, held)
    if issubclass(kind, Mapping):
        mapping: Any = kind
        return lambda held: held if isinstance(held, kind) else mapping(held)
    if issubclass(kind, Enum):
        return lambda held: None if held is None else kind(held)
    return None
