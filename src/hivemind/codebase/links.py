"""From what people write to the symbols they mean: one place that fits best, or none, never a guess."""

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar

from hivemind.codebase import addresses, written
from hivemind.codebase.addresses import Fit, Place
from hivemind.codebase.index import Index
from hivemind.codebase.tree import read, stamp
from hivemind.codebase.written import dotted
from hivemind.model.code import FILE, FOLDER, LEAVES, Anchor, Symbol

_T = TypeVar("_T")

MAX_CANDIDATES = 5
"""Symbols that one link is tied to at most: overloads, or those that its lines touch."""

MAX_MENTIONED = 3
"""Symbols that a name in running text may mean; one that fits more names nothing."""

MAX_NEAREST = 3

MAX_ANCHORS = 20

_HEAD = 4_096
"""Bytes of a file in which it declares its package."""

_MAX_HEADS = 50
_LINES = re.compile(r"^(.+?):(\d+)(?:-(\d+))?$")
_PROSE_KINDS = frozenset({"key", "table", "section"})


def find(index: Index, link: str) -> list[Symbol]:
    """What a link means today: a file, a folder, a symbol with its overloads, or the symbols in some lines.

    Nothing, where it fits nothing or several places.
    """
    literal = find_path(index, link.strip())
    if literal is not None:
        return literal
    fitting = places(index, link)
    return _few(_symbols_at(index, fitting[0])) if len({place.label for place in fitting}) == 1 else []


def find_path(index: Index, link: str) -> list[Symbol] | None:
    """What a link means that begins with a path from the root; None where it does not begin with one."""
    place, separator, name = link.partition("::")
    if separator and (path := _relative(index.root, place)) and stamp(index.root, path):
        return _only(_within(index.symbols_of(path), dotted(addresses.plain(name))))
    if (lines := _LINES.match(link)) and (path := _relative(index.root, lines[1])) and stamp(index.root, path):
        return _covering(index.symbols_of(path), int(lines[2]), int(lines[3] or lines[2]))
    path = _relative(index.root, link)
    if path and stamp(index.root, path):
        return index.symbols_of(path)[:1]
    folder = index.folder(path) if path else None
    return [folder] if folder else None


def find_all(index: Index, link: str) -> list[Symbol]:
    """What a link may mean today: all that fit it equally well, or nothing where these are many."""
    literal = find_path(index, link.strip())
    if literal:
        return literal
    fitting = {place.label: place for place in places(index, link)}
    return _few(symbol for place in _few(fitting.values()) for symbol in _symbols_at(index, place))


def places(index: Index, link: str) -> list[Place]:
    """Everything in the tree that a written name fits best, as last indexed."""
    name = addresses.plain(link)
    asked, root = addresses.words(name), index.root.name
    paths = index.paths_with(asked[-1]) if asked else []
    return _best(_fitting_symbols(index, name) | addresses.fit_paths(asked, paths, root))


def nearest(index: Index, link: str) -> list[str]:
    """A few labels that come closest to a link that has no unique match."""
    name = addresses.plain(link)
    labels = (
        [place.label for place in places(index, link)]
        or [symbol.label for path in _files_before_last_word(index, name) for symbol in index.symbols_of(path)[1:]]
        or [Place(*row).label for row in index.places(addresses.endings(name))]
        or [Place(*row).label for row in index.places(index.names_like(addresses.last_word(name)))]
    )
    return get_close_matches(name, [*dict.fromkeys(labels)], MAX_NEAREST, cutoff=0.0)


def _files_before_last_word(index: Index, name: str) -> list[str]:
    """The files that a name fits without its last word."""
    head = name[: name.rfind(addresses.last_word(name))].rstrip("./\\:#->")
    return [place.path for place in _few(places(index, head)) if place.kind == FILE]


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
    if (index.root / text).is_dir():
        return []
    beside = [path for path in near if f"/{path}".endswith(f"/{text}")]
    found = find(index, beside[0] if len(beside) == 1 else text)
    whole = all(symbol.kind == FILE for symbol in found)
    return found if len(found) <= MAX_MENTIONED and (whole or ":" in text) else []


def _fitting_symbols(index: Index, name: str) -> dict[Place, Fit]:
    """The symbols that a name fits, by the paths of their files, else by the packages that these declare."""
    asked = addresses.words(name)
    known = [Place(*row) for row in index.places(addresses.endings(name))]
    by_path = {place: addresses.fit_symbol(asked, place.path, place.qualified, index.root.name) for place in known}
    fits = {place: fit for place, fit in by_path.items() if fit}
    if fits or len(asked) < 2:
        return fits
    packages = {
        path: _package(index.root, path) for path in [*dict.fromkeys(place.path for place in known)][:_MAX_HEADS]
    }
    declared = {place: addresses.fit_declared(asked, packages.get(place.path, ()), place.qualified) for place in known}
    return {place: fit for place, fit in declared.items() if fit}


def _package(root: Path, path: str) -> addresses.Words:
    content = read(root, path)
    return addresses.declared_package(content[1][:_HEAD]) if content else ()


def _best(fits: dict[Place, Fit]) -> list[Place]:
    """The places that fit best. A type stands before the file called like it, and that before a function so called."""
    files = {place.path for place in fits if place.kind == FILE}
    types = {place.path for place in fits if place.qualified and place.kind not in LEAVES}
    left = {
        place: fit
        for place, fit in fits.items()
        if not (place.kind == FILE and place.path in types)
        and not (place.kind in LEAVES and place.path in files - types)
    }
    chosen = addresses.best(left)
    defined = {place.qualified for place in chosen if place.kind != "prototype"}
    return [place for place in chosen if place.kind != "prototype" or place.qualified not in defined]


def _symbols_at(index: Index, place: Place) -> list[Symbol]:
    """The symbols of a place as they are now, if they are still there."""
    if place.kind == FOLDER:
        folder = index.folder(place.path)
        return [folder] if folder else []
    return [symbol for symbol in index.symbols_of(place.path) if symbol.qualified == place.qualified]


def _by_name(index: Index, name: str) -> list[Symbol]:
    fits = {place: fit for place, fit in _fitting_symbols(index, name).items() if not fit.unmatched}
    fitting = {place.label: place for place in _best(fits)}
    few = [*fitting.values()] if len(fitting) <= 4 * MAX_CANDIDATES else []
    return [symbol for place in few for symbol in _symbols_at(index, place)]


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


def _only(symbols: Sequence[Symbol]) -> list[Symbol]:
    """Symbols that share one name in one file, or none."""
    return _few(symbols) if len({symbol.label for symbol in symbols}) == 1 else []


def _few(items: Iterable[_T]) -> list[_T]:
    found = list(items)
    return found if len(found) <= MAX_CANDIDATES else []
