"""From what people write to the symbols they mean: all that could be meant, or none, never a guess."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from hivemind.codebase import written
from hivemind.codebase.index import Index
from hivemind.codebase.tree import stamp
from hivemind.codebase.written import dotted
from hivemind.model.code import FILE, Anchor, Symbol

MAX_CANDIDATES = 5
"""A link that fits more symbols than this names nothing."""

MAX_MENTIONED = 3
"""The same for a name found in running text."""

MAX_ANCHORS = 20

_LINES = re.compile(r"^(.+?):(\d+)(?:-(\d+))?$")
_PROSE_KINDS = frozenset({"key", "table", "section"})


def find(index: Index, link: str) -> list[Symbol]:
    """The symbols that `path::symbol`, `path`, `path:12-40` or a bare `symbol` means today; all that fit, or none."""
    place, separator, name = link.strip().partition("::")
    if separator and (path := _relative(index.root, place)) and stamp(index.root, path):
        return _few(_within(index.symbols_of(path), dotted(name)))
    if (lines := _LINES.match(link)) and (path := _relative(index.root, lines[1])) and stamp(index.root, path):
        return _covering(index.symbols_of(path), int(lines[2]), int(lines[3] or lines[2]))
    path = _relative(index.root, link.strip())
    if path and stamp(index.root, path):
        return index.symbols_of(path)[:1]
    if path and "." in path and (files := index.files_called(path)):
        return _few(symbol for file in files for symbol in index.symbols_of(file)[:1])
    return _few(_by_name(index, dotted(link.strip())))


def mentions(index: Index, text: str, commit: str = "", near: Collection[str] = ()) -> list[Anchor]:
    """Anchors for the files and symbols a text names; what it might only seem to name is left out.

    Of several that bear a name, those in files that the text names too are meant, else those in files `near`.
    """
    found = {symbol.key: symbol for link in written.links(text) for symbol in find(index, link)}
    files = {symbol.path: symbol for path in written.paths(text) for symbol in _mentioned_file(index, path, near)}
    for name in written.names(text):
        fits = [symbol for symbol in _by_name(index, name) if symbol.kind not in _PROSE_KINDS]
        at_hand = [symbol for symbol in fits if symbol.path in files]
        chosen = at_hand or [symbol for symbol in fits if symbol.path in near] or fits
        if len(chosen) <= MAX_MENTIONED:
            found.update((symbol.key, symbol) for symbol in chosen)
    # A symbol in a named file says more than the file, and is in doubt less often.
    told = {symbol.path for symbol in found.values()}
    found.update((symbol.key, symbol) for symbol in files.values() if symbol.path not in told)
    return [Anchor.of(symbol, commit) for symbol in [*found.values()][:MAX_ANCHORS]]


def edited(symbols: Sequence[Symbol], source: bytes, diffs: Iterable[str]) -> list[Symbol]:
    """The symbols of a file in which edits can be seen, by the lines they left; the file where there are none."""
    text = source.decode("utf-8", "replace")
    lines = sorted({line for diff in diffs for line in _left(diff, text)})
    found = {symbol.key: symbol for line in lines for symbol in _covering([*symbols], line, line)}
    inside = [symbol for symbol in found.values() if symbol.kind != FILE]
    return _few(inside) or [*symbols[:1]]


def _left(diff: str, text: str) -> Iterator[int]:
    """The lines of a text that a unified diff changed, for each stretch that stands in it once and nowhere else."""
    for stretch in re.split(r"^@@.*\n?", diff, flags=re.MULTILINE)[1:]:
        lines = [line for line in stretch.splitlines() if line[:1] in ("+", "-", " ", "")]
        kept = [line[1:] for line in lines if line[:1] != "-"]
        block = "\n".join(kept)
        if block.strip() and text.count(block) == 1:
            first, at = text.count("\n", 0, text.index(block)) + 1, 0
            for line in lines:
                if line[:1] in ("+", "-") and line[1:].strip():
                    yield first + min(at, len(kept) - 1)
                at += line[:1] != "-"


def _mentioned_file(index: Index, text: str, near: Collection[str]) -> list[Symbol]:
    beside = [path for path in near if f"/{path}".endswith(f"/{text}")]
    found = find(index, beside[0] if len(beside) == 1 else text)
    whole = all(symbol.kind == FILE for symbol in found)
    return found if len(found) <= MAX_MENTIONED and (whole or ":" in text) else []


def _by_name(index: Index, name: str) -> list[Symbol]:
    named = index.named(name.rpartition(".")[2])
    return [symbol for symbol in _today(index, named) if _ends_with(symbol.qualified, name)]


def _today(index: Index, symbols: Iterable[Symbol]) -> Iterator[Symbol]:
    """The symbols that are still where the index saw them, as they are now."""
    wanted: dict[str, set[tuple[str, str, str, int]]] = {}
    for symbol in symbols:
        wanted.setdefault(symbol.path, set()).add(symbol.key)
    if len(wanted) > 4 * MAX_CANDIDATES:
        return
    for path, keys in wanted.items():
        yield from (symbol for symbol in index.symbols_of(path) if symbol.key in keys)


def _relative(root: Path, text: str) -> str:
    """A path as the index writes it, or nothing if it leads out of the root."""
    plain = text.replace("\\", "/") if os.sep == "\\" or "/" not in text else text
    if Path(plain).is_absolute():
        base = f"{root.as_posix()}/"
        return plain.removeprefix(base) if plain.startswith(base) else ""
    normal = os.path.normpath(plain).replace(os.sep, "/") if plain else ""
    return "" if normal.startswith("..") or normal == "." else normal


def _ends_with(qualified: str, name: str) -> bool:
    return qualified == name or qualified.endswith(f".{name}")


def _within(symbols: Iterable[Symbol], name: str) -> list[Symbol]:
    fits = [symbol for symbol in symbols if symbol.kind != FILE and _ends_with(symbol.qualified, name)]
    return [symbol for symbol in fits if symbol.qualified == name] or fits


def _covering(symbols: list[Symbol], first: int, last: int) -> list[Symbol]:
    """The innermost symbol around the lines; where they span several, those they touch; else the file."""
    parts = [symbol for symbol in symbols if symbol.kind != FILE]
    around = [symbol for symbol in parts if symbol.line <= first and last <= symbol.end_line]
    if around:
        return [min(around, key=lambda symbol: (symbol.end_line - symbol.line, -len(symbol.qualified)))]
    touched = [symbol for symbol in parts if symbol.line <= last and first <= symbol.end_line and not symbol.parent]
    return _few(touched) or symbols[:1]


def _few(symbols: Iterable[Symbol]) -> list[Symbol]:
    found = list(symbols)
    return found if len(found) <= MAX_CANDIDATES else []
