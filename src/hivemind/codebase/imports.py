"""Which files an import means, by its words alone: no build system is asked, no ambiguity is guessed away."""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

import apsw

from hivemind.codebase.addresses import PACKAGE_FILES
from hivemind.codebase.database import select
from hivemind.codebase.grammar import family_of

Words = tuple[str, ...]

_ROOTS = frozenset({(), ("src",), ("lib",), ("include",), ("app",)})
_SUFFIX = re.compile(r"\.(?:[cm]?[jt]sx?|h|hh|hpp|c|cc|cpp|rb|php|sh|json)$")
_SEPARATOR = re.compile(r"[./\\:]+")
_BRACES = re.compile(r"^(.*?)::\{(.*)\}$", re.DOTALL)
_DOTS = re.compile(r"^(\.+)(?!/)(.*)$")
_FOLDER_IS_MODULE = frozenset({"go"})
_PREFIX_IS_ELSEWHERE = frozenset({"php"})
_MOST_OF_A_FOLDER = 30


@lru_cache(maxsize=16384)
def module(path: str) -> Words:
    """The words by which a file is imported; a package is called like its folder."""
    folder, _, name = path.rpartition("/")
    words = tuple(folder.split("/")) if folder else ()
    own = name.partition(".")[0] or name
    if words and (own in PACKAGE_FILES or family_of(path) in _FOLDER_IS_MODULE):
        return words
    return (*words, own)


def link(db: apsw.Connection, changed: Iterable[str], appeared: Collection[str]) -> None:
    """Resolve the imports of changed files, and of others for which a new or removed file makes a difference."""
    importers = set(changed)
    if words := {module(path)[-1] for path in appeared}:
        rows = list(select(db, _SELECT))
        importers.update(path for _, path, name in rows if not words.isdisjoint(_SEPARATOR.split(name)))
        rows = [row for row in rows if row[1] in importers]
    else:
        rows = [row for path in importers for row in select(db, f"{_SELECT} WHERE f.path = ?", path)]
    db.executemany("DELETE FROM uses WHERE file = ?", {(file,) for file, *_ in rows})
    memo: dict[tuple[object, ...], list[int]] = {}
    uses: list[tuple[int, int]] = []
    for file, importer, name in rows:
        found = targets(db, importer, name, memo)
        if len(found) == 1 or family_of(importer) in _FOLDER_IS_MODULE:
            uses += [(file, target) for target in found[:_MOST_OF_A_FOLDER] if target != file]
    db.executemany("INSERT OR IGNORE INTO uses VALUES (?, ?)", uses)


_SELECT = "SELECT f.id, f.path, i.module FROM files f JOIN imports i ON i.file = f.id"


def targets(db: apsw.Connection, importer: str, name: str, memo: dict[tuple[object, ...], list[int]]) -> list[int]:
    """The files that could be meant; one, several or none. Thousands of files import the same few."""
    found: dict[int, None] = {}
    for one in _spelled_out(name):
        base, words = _base(importer, one)
        # The last word may name something inside the file.
        for length in (len(words), len(words) - 1):
            part = words[:length]
            place = importer if length < 2 else family_of(importer)
            if length > 0 and (place, base, part) not in memo:
                memo[place, base, part] = _fitting(db, importer, base, part)
            if near := memo.get((place, base, part)):
                found.update(dict.fromkeys(near))
                break
    return list(found)


def _spelled_out(name: str) -> Iterator[str]:
    """Rust's `a::{b, c}` as `a::b` and `a::c`."""
    braces = _BRACES.match(name)
    if braces is None:
        yield name
    else:
        yield from (f"{braces[1]}::{part.strip()}" for part in braces[2].split(",") if part.strip())


def _base(importer: str, name: str) -> tuple[Words | None, Words]:
    """The folder an import starts from, if it says so, and the words that follow."""
    folder = tuple(importer.split("/")[:-1])
    if name.startswith(("./", "../")):
        words = list(folder)
        for part in _SUFFIX.sub("", name).split("/"):
            if part == "..":
                del words[-1:]
            elif part not in (".", ""):
                words.append(part)
        return (), tuple(words)
    if dots := _DOTS.match(name):
        up = len(dots[1]) - 1
        return folder[: len(folder) - up], _split(dots[2])
    first, _, rest = name.partition("::")
    if first == "crate":
        depth = len(folder) - folder[::-1].index("src") if "src" in folder else 0
        return folder[:depth], _split(rest)
    if first in ("self", "super"):
        return folder, _split(rest)
    return None, _split(_SUFFIX.sub("", name))


def _split(text: str) -> Words:
    return tuple(part for part in _SEPARATOR.split(text) if part not in ("", "@", "~", "*"))


def _fitting(db: apsw.Connection, importer: str, base: Words | None, words: Words) -> list[int]:
    family, folder = family_of(importer), tuple(importer.split("/")[:-1])
    found = []
    for file, path in select(db, "SELECT id, path FROM files WHERE stem = ?", words[-1]):
        if family_of(path) != family:
            continue
        own = module(path)
        if base is not None:
            fits = own == (*base, *words)
        elif family in _FOLDER_IS_MODULE:
            fits = words[-len(own) :] == own and not path.endswith("_test.go")
        elif family in _PREFIX_IS_ELSEWHERE:
            fits = own[-2:] == words[-2:]
        else:
            fits = own[-len(words) :] == words and (
                len(words) > 1 or own[:-1] in _ROOTS or own[:-1] in (folder, module(importer))
            )
        if fits:
            found.append(file)
    return found
