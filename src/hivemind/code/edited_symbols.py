"""Find the symbols that edits change, by the lines of their diffs, and those at given lines."""

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from hivemind.code.index import CodeIndex
from hivemind.code.working_tree import read
from hivemind.model.code import FILE, Symbol

_T = TypeVar("_T")

MAX_CANDIDATES = 5
"""Maximum number of symbols for one link: overloads, or the symbols that its lines touch."""

MAX_REPLACEMENTS = 100
"""Places of a file that an edit changes at once; at more of them it is unclear what it changes."""

_CHANGED_LINE = re.compile(r"^[+-]", re.MULTILINE)
"""The sign of a line in a diff that an edit adds or removes."""


def find_edited_names(index: CodeIndex, path: str, diffs: Sequence[str]) -> frozenset[str] | None:
    """The qualified names of the symbols that edits change; None if it is unclear where they are."""
    file = read(index.root, path)
    symbols = index.read_symbols(path) if file else []
    if not file or not symbols:
        return None
    diffs = [_compare_with_file(diff, file[1]) for diff in diffs]
    # Turned round first: before an edit the file still has the lines that the edit removes.
    backwards = [_CHANGED_LINE.sub(lambda sign: "-" if sign[0] == "+" else "+", diff) for diff in diffs]
    # An edit that is still to be made changes all places that have its lines, or it would say which.
    for directed_diffs, most_places in ((backwards, 1), (diffs, 1), (backwards, MAX_REPLACEMENTS)):
        places = [*_find_changed_places(directed_diffs, file[1], most_places)]
        if places:
            edited_symbols = _find_at_places(symbols, file[1], places)
            return frozenset(symbol.qualified for symbol in edited_symbols) - {""}
    return None


def _compare_with_file(diff: str, source: bytes) -> str:
    """Return a diff that brings the whole new content of a file as one from what the file has now, if that differs."""
    _, is_whole, added_lines = diff.partition("\n@@ -0,0 ")
    text = source.decode("utf-8", "replace").splitlines()
    new_text = [line[1:] for line in added_lines.splitlines()[1:]]
    return "\n".join(difflib.unified_diff(text, new_text, lineterm="")) if is_whole and new_text != text else diff


def find_edited_symbols(symbols: Sequence[Symbol], source: bytes, diffs: Iterable[str]) -> list[Symbol]:
    """The symbols of a file that contain the lines of some diffs; the file itself if there are none."""
    edited_symbols = _find_at_places(symbols, source, [*_find_changed_places(diffs, source)])
    inner = [symbol for symbol in edited_symbols if symbol.kind != FILE]
    return keep_if_few(inner) or [*symbols[:1]]


class ChangedPlace(NamedTuple):
    """Where a diff changes a text: a line of it, or after a line, before which lines are missing that it has not."""

    line: int
    missing_line: str = ""
    """The first line that would follow it; empty if the line itself is changed."""


def _find_at_places(symbols: Sequence[Symbol], source: bytes, places: Iterable[ChangedPlace]) -> list[Symbol]:
    lines = ["", *source.decode("utf-8", "replace").splitlines()]
    by_key: dict[tuple[str, str, str, int], Symbol] = {}
    for place in places:
        # What is inserted after the last line of a symbol is part of it only if it is indented more than its first.
        inside = [
            symbol
            for symbol in symbols
            if not place.missing_line
            or symbol.kind == FILE
            or place.line != symbol.end_line
            or _measure_indent(place.missing_line) > _measure_indent(lines[min(symbol.line, len(lines) - 1)])
        ]
        by_key.update((symbol.key, symbol) for symbol in find_at_lines(inside, place.line, place.line))
    return [*by_key.values()]


def _measure_indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _find_changed_places(diffs: Iterable[str], source: bytes, most_places: int = 1) -> Iterator[ChangedPlace]:
    """Yield where unified diffs changed a text, for each hunk that occurs in it, and not more often than this."""
    text = source.decode("utf-8", "replace")
    for hunk in (hunk for diff in diffs for hunk in re.split(r"^@@.*\n?", diff, flags=re.MULTILINE)[1:]):
        lines = [line for line in hunk.splitlines() if line[:1] in ("+", "-", " ", "")]
        block = "\n".join(line[1:] for line in lines if line[:1] != "-")
        # The line numbers of the hunk are not used: the text may have changed since.
        starts = [match.start() for match in re.finditer(re.escape(block), text)] if block.strip() else []
        for start in starts if len(starts) <= most_places else ():
            yield from _find_changed_lines(lines, text.count("\n", 0, start) + 1)


def _find_changed_lines(lines: Iterable[str], next_line: int) -> Iterator[ChangedPlace]:
    """Yield where the lines of a hunk changed a text that has them from this line on."""
    changed_lines, missing_places = [], []
    for line in lines:
        if line[:1] == "-" and line[1:].strip():
            missing_places.append(ChangedPlace(next_line - 1, line[1:]))
        elif line[:1] == "+" and line[1:].strip():
            changed_lines.append(ChangedPlace(next_line))
        next_line += line[:1] != "-"
    # Beside lines that were replaced, missing ones say nothing more.
    yield from changed_lines or missing_places[:1]


def find_at_lines(symbols: list[Symbol], first: int, last: int) -> list[Symbol]:
    """The symbols that the lines cover: the innermost one around them or those inside it, else the file."""
    inner = [symbol for symbol in symbols if symbol.kind != FILE]
    around = [symbol for symbol in inner if symbol.line <= first and last <= symbol.end_line]
    container = min(around, key=lambda symbol: (symbol.end_line - symbol.line, -len(symbol.qualified)), default=None)
    parent = container.qualified if container else ""
    overlapping = [
        symbol for symbol in inner if symbol.line <= last and first <= symbol.end_line and symbol.parent == parent
    ]
    if container is None:
        return keep_if_few(overlapping) or symbols[:1]
    # Lines with the header mean the container; lines over several of its members mean these.
    return keep_if_few(overlapping) if len(overlapping) > 1 and first > container.line else [container]


def keep_if_few(items: Iterable[_T]) -> list[_T]:
    """The items, or none if there are too many to mean all of them."""
    values = list(items)
    return values if len(values) <= MAX_CANDIDATES else []
