"""Values as plain JSON types, for the log, for exports and for ``--json``."""

import dataclasses
import json
from enum import Enum
from typing import Any


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
    return value


def as_json(value: Any, *, terse: bool = False) -> str:
    """The value as one line of JSON."""
    return json.dumps(plain(value, terse=terse), ensure_ascii=False, separators=(",", ":"))
