"""The free text of facts: every string in them, unless its type says that it cannot hold what somebody wrote.

Found by reflection, so that redaction and the exclusion of erased texts reach a new field without being told of it.
"""

import dataclasses
from collections.abc import Callable, Iterator, Set
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NewType, TypeVar, Union, get_args, get_origin, get_type_hints

from hivemind.model.ids import CLOSED, FOREIGN
from hivemind.model.metadata import Metadata

T = TypeVar("T")


class TextSort(Enum):
    """What the strings of a type can hold."""

    NONE = 0
    """Nothing that somebody wrote: numbers, enumerations, timestamps, digests, ids that we made."""
    FOREIGN_ID = 1
    """The id of another program: any text, but redaction would make it another id."""
    FREE = 2


def change_text(value: T, change: Callable[[str], str], change_id: Callable[[str], str] | None = None) -> T:
    """A copy of a fact with all free text changed, and with ``change_id`` the ids of other programs too."""
    changed: T = _change(value, type(value), change, change_id)
    return changed


def iterate_text(value: Any, name: str = "", *, skipped: Set[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Every free text and every id of other programs in a fact, with the name of the fact's field."""
    if isinstance(value, Metadata):
        for key, content in value.items():
            # The key alone, the value alone, and what the two say together.
            yield from ((name, text) for text in dict.fromkeys((key, str(content), f"{key} {content}")))
    elif isinstance(value, tuple):
        for item in value:
            yield from iterate_text(item, name, skipped=skipped)
    elif dataclasses.is_dataclass(value):
        shape: Any = type(value)
        for field in list_text_fields(shape):
            if field not in skipped:
                yield from iterate_text(getattr(value, field), name or field, skipped=skipped)
    # Not isinstance: enumerations are strings, too.
    elif type(value) is str and value:
        yield name, value


@cache
def list_text_fields(shape: Any) -> dict[str, tuple[Any, TextSort]]:
    """The fields of a dataclass that may hold free text or foreign ids, with their types."""
    hints = get_type_hints(shape, include_extras=True)
    sorts = {field.name: (hints[field.name], classify_type(hints[field.name])) for field in dataclasses.fields(shape)}
    return {name: (hint, sort) for name, (hint, sort) in sorts.items() if sort is not TextSort.NONE}


@cache
def classify_type(hint: Any) -> TextSort:
    """What the strings of a type can hold; raises TypeError for a type that nobody has thought about."""
    origin = get_origin(hint)
    if hint in (str, Metadata):
        return TextSort.FREE
    if origin is Annotated and CLOSED in hint.__metadata__:
        return TextSort.NONE
    if origin is Annotated and FOREIGN in hint.__metadata__:
        return TextSort.FOREIGN_ID
    if isinstance(hint, NewType) or origin is Literal or hint in (int, float, bool, NoneType):
        return TextSort.NONE
    if isinstance(hint, type) and issubclass(hint, Enum):
        return TextSort.NONE
    if origin in (tuple, Union, UnionType):
        parts = [classify_type(part) for part in get_args(hint) if part is not Ellipsis]
    elif dataclasses.is_dataclass(hint):
        shape: Any = hint
        parts = [sort for _, sort in list_text_fields(shape).values()]
    else:
        raise TypeError(f"{hint} is neither free text nor closed; give the field a type of model/ids.py")
    return max(parts, key=lambda sort: sort.value, default=TextSort.NONE)


def _change(value: Any, hint: Any, change: Callable[[str], str], change_id: Callable[[str], str] | None) -> Any:
    if isinstance(value, Metadata):
        return value.change_text(change)
    if isinstance(value, tuple):
        item_hint = get_args(hint)[0]
        return tuple(_change(item, item_hint, change, change_id) for item in value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = list_text_fields(type(value))
        texts = {name: getattr(value, name) for name in fields}
        changed_texts = {name: _change(text, fields[name][0], change, change_id) for name, text in texts.items()}
        # Mostly nothing changes, and a copy of every line of a receipt takes longer than this comparison.
        return value if changed_texts == texts else dataclasses.replace(value, **changed_texts)
    if type(value) is not str:
        return value
    if classify_type(hint) is TextSort.FOREIGN_ID:
        return change_id(value) if change_id else value
    return change(value)
