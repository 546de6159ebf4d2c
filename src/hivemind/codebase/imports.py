"""Resolve imports to files by their words alone: no build system is run, and ambiguous imports stay unresolved."""

import os.path
import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

import apsw

from hivemind.codebase.addresses import PACKAGE_FILES
from hivemind.codebase.database import select
from hivemind.codebase.grammar import family_of

Words = tuple[str, ...]
_Cache = dict[tuple[object, ...], list[int]]

# Folders from which a module of a single word may be imported.
_ROOTS = frozenset({(), ("src",), ("lib",), ("include",), ("app",)})
_SUFFIX = re.compile(r"\.(?:[cm]?[jt]sx?|rb|php|sh|json)$")
_SEPARATOR = re.compile(r"[./\\:]+")
_IDENTIFIER = re.compile(r"\w+")
_DOTS = re.compile(r"^(\.+)(?!/)(.*)$")
# Go imports folders, not files.
_FOLDER_IS_MODULE = frozenset({"go"})
_FOLDER_IS_PACKAGE = frozenset({"go", "java", "kotlin", "scala"})
# PHP maps namespace prefixes to folders in composer.json (PSR-4), which is not read here.
_PREFIX_IS_ELSEWHERE = frozenset({"php"})
# C includes files by name; which folders are searched is written in build files, which are not read here.
_NAMES_FILES = frozenset({"c"})
# Names of modules leave out this folder, between a package and its files.
_WITHOUT_SRC = frozenset({"rust", "ecmascript"})
_CRATE_ROOTS = frozenset({"lib", "main"})
_MAX_FOLDER_TARGETS = 30
_FILES_AT_ONCE = 500


@lru_cache(maxsize=16384)
def module_words(path: str) -> Words:
    """The words by which a file is imported; a package file has the words of its folder."""
    folder, _, name = path.rpartition("/")
    family = family_of(path)
    words = _normalise(tuple(folder.split("/")) if folder else (), family)
    stem = name.partition(".")[0] or name
    is_root = family == "rust" and stem in _CRATE_ROOTS
    if words and (stem in PACKAGE_FILES or is_root or family in _FOLDER_IS_MODULE):
        return words
    return (*words, stem)


def _normalise(words: Words, family: str) -> Words:
    if family not in _WITHOUT_SRC:
        return words
    # Cargo names a crate `tokio_util` whose folder is `tokio-util`.
    return tuple(word.replace("-", "_") if family == "rust" else word for word in words if word != "src")


def share_package(first: str, second: str) -> bool:
    """Whether two files see one another's names without an import."""
    family = family_of(first)
    is_same_folder = first.rpartition("/")[0] == second.rpartition("/")[0]
    return is_same_folder and family in _FOLDER_IS_PACKAGE and family_of(second) == family


def is_gateway(path: str) -> bool:
    """Whether a file usually offers the names of the files that it imports: a package file or a C header."""
    stem, _, suffix = path.rpartition("/")[2].partition(".")
    return stem in PACKAGE_FILES | _CRATE_ROOTS or (family_of(path) in _NAMES_FILES and suffix.startswith("h"))


class Importer(NamedTuple):
    """A file with the names of what it imports."""

    file: int
    path: str
    names: tuple[str, ...]


def list_importers(
    db: apsw.Connection, changed: Collection[str], added_or_removed: Collection[str]
) -> Iterator[list[Importer]]:
    """Yield the changed files, and the files whose imports may mean an added or removed one, some at a time."""
    new_words = {word for path in added_or_removed for word in _IDENTIFIER.findall(module_words(path)[-1])}
    importers: list[Importer] = []
    for file, path, modules in _read_imports(db, None if new_words else changed):
        names = tuple(modules.split("\n")) if modules else ()
        if path in changed or any(not new_words.isdisjoint(_IDENTIFIER.findall(name)) for name in names):
            importers.append(Importer(file, path, names))
        if len(importers) >= _FILES_AT_ONCE:
            yield importers
            importers = []
    yield importers


def resolve_imports(db: apsw.Connection, importers: Iterable[Importer]) -> dict[int, list[int]]:
    """Find the files that these files import."""
    cache: _Cache = {}
    return {
        importer.file: [
            target
            for name in importer.names
            for part in expand_braces(name)
            for target in _find_edges(db, importer.file, importer.path, part, cache)
        ]
        for importer in importers
    }


def _read_imports(db: apsw.Connection, paths: Iterable[str] | None) -> Iterator[tuple[int, str, str]]:
    """Yield id, path and imports of these files, or of all."""
    # Rust spreads an import over several lines; joined by line feeds, each must be on one.
    query = (
        "SELECT f.id, f.path, group_concat(replace(i.module, char(10), ' '), char(10))"
        " FROM files f LEFT JOIN imports i ON i.file = f.id"
    )
    if paths is not None:
        for path in paths:
            yield from select(db, f"{query} WHERE f.path = ? GROUP BY f.id", path)
        return
    last_id = 0
    # In pages, because an open query would keep SQLite from shortening its journal while rows are written.
    while rows := list(select(db, f"{query} WHERE f.id > ? GROUP BY f.id ORDER BY f.id LIMIT 1000", last_id)):
        yield from rows
        last_id = rows[-1][0]


def _find_edges(db: apsw.Connection, file: int, importer: str, name: str, cache: _Cache) -> Iterator[int]:
    """Yield the files that an import means: one, or all files of a folder where a folder is imported."""
    family = family_of(importer)
    if family in _NAMES_FILES:
        targets = _find_included(db, importer, name, cache)
    elif family in _FOLDER_IS_MODULE:
        targets = _find_go_folder(db, name, cache)
    else:
        targets = _find_module(db, importer, name, cache)
    yield from (target for target in targets[:_MAX_FOLDER_TARGETS] if target != file)


def expand_braces(name: str) -> Iterator[str]:
    """Expand Rust's `a::{b, c::{d, e}}` to `a::b`, `a::c::d` and `a::c::e`."""
    head, brace, body = name.partition("{")
    if not brace:
        yield name.partition(" as ")[0].strip()
        return
    depth, part = 0, ""
    for character in body:
        depth += (character == "{") - (character == "}")
        if depth < 0 or (character == "," and depth == 0):
            if part.strip():
                yield from expand_braces(head.strip() + part.strip())
            part = ""
        else:
            part += character
        if depth < 0:
            return


def _find_included(db: apsw.Connection, importer: str, name: str, cache: _Cache) -> list[int]:
    """The file that a C `#include` means: from the folder of the file, else the nearest whose path ends so."""
    folder = importer.rpartition("/")[0]
    beside = os.path.normpath(f"{folder}/{name}" if folder else name)
    if files := list(select(db, "SELECT id FROM files WHERE path = ?", beside)):
        return [files[0][0]]
    key = ("include", folder, name)
    if key not in cache:
        ending = os.path.normpath(name).lstrip("./")
        rows = select(db, "SELECT id, path FROM files WHERE stem = ?", ending.rpartition("/")[2].partition(".")[0])
        cache[key] = _pick_nearest(importer, [row for row in rows if f"/{row[1]}".endswith(f"/{ending}")])
    return cache[key]


def _find_go_folder(db: apsw.Connection, name: str, cache: _Cache) -> list[int]:
    """The files of the folder that a Go import means."""
    key = ("go", name)
    if key not in cache:
        words = tuple(name.split("/"))
        folders: dict[Words, list[int]] = {}
        for file, path in select(db, "SELECT id, path FROM files WHERE stem = ?", words[-1]):
            folder = tuple(path.split("/")[:-1])
            if _is_go_folder(words, folder) and path.endswith(".go") and not path.endswith("_test.go"):
                folders.setdefault(folder, []).append(file)
        # A vendored copy has the whole name as its path; else the folder that covers most of the name.
        best = max(folders, key=lambda folder: min(len(folder), len(words)), default=())
        cache[key] = folders.get(best, [])
    return cache[key]


def _is_go_folder(words: Words, folder: Words) -> bool:
    if len(words) > 1 and folder[-len(words) :] == words:
        return True
    # The standard library has no dots in its first word; a module of the repository itself mostly has.
    is_public = "." in words[0] or len(folder) > 1
    return is_public and bool(folder) and words[-len(folder) :] == folder


def _find_module(db: apsw.Connection, importer: str, name: str, cache: _Cache) -> list[int]:
    """The file that an import means; in a language with packages, all files of a folder that it means."""
    family = family_of(importer)
    base, words = _resolve_base(importer, name)
    # The last words may name something inside the file, as in `from auth.service import login`.
    shortest = max(1, len(words) - (2 if family in ("java", "kotlin", "scala", "rust") else 1))
    for length in range(len(words), shortest - 1, -1):
        leading = words[:length]
        # A single word is resolved from the importer's folder, longer names from the nearest of several.
        key = (family, importer.rpartition("/")[0], base, leading)
        if key not in cache:
            cache[key] = _pick_nearest(importer, _match_files(db, importer, base, leading))
        if matches := cache[key]:
            return matches
    return _list_package(db, importer, words, cache) if family in _FOLDER_IS_PACKAGE else []


def _list_package(db: apsw.Connection, importer: str, words: Words, cache: _Cache) -> list[int]:
    """The files of a package, as in Java's `import shop.orders.*`."""
    key = ("package", family_of(importer), words)
    if key not in cache:
        rows = select(db, "SELECT id, path FROM files WHERE path LIKE ? LIMIT 200", f"%{'/'.join(words)}/%")
        cache[key] = [file for file, path in rows if len(words) > 1 and module_words(path)[:-1][-len(words) :] == words]
    return cache[key]


def _pick_nearest(importer: str, files: list[tuple[int, str]]) -> list[int]:
    """The file that shares most leading folders with the importer; empty if several do."""
    if len(files) <= 1:
        return [file for file, _ in files]
    ranking = sorted(((_count_shared_folders(importer, path), file) for file, path in files), reverse=True)
    return [ranking[0][1]] if ranking[0][0] > ranking[1][0] else []


def _count_shared_folders(first: str, second: str) -> int:
    pairs = zip(first.split("/")[:-1], second.split("/")[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _resolve_base(importer: str, name: str) -> tuple[Words | None, Words]:
    """The module that a relative import starts from, else None, and the words that follow."""
    folder, family = tuple(importer.split("/")[:-1]), family_of(importer)
    if name.startswith(("./", "../")):
        path = os.path.normpath("/".join((*folder, _SUFFIX.sub("", name))))
        return (), _normalise(tuple(part for part in path.split("/") if part != "."), family)
    if dots := _DOTS.match(name):  # Python's `..models`
        levels_up = len(dots[1]) - 1
        return folder[: len(folder) - levels_up], _split_words(dots[2])
    if family == "rust":
        return _resolve_rust_base(importer, _split_words(name))
    # `@scope/package`: where the scope lies is written in files that are not read here.
    words = _split_words(_SUFFIX.sub("", name))
    return None, words[1:] if name.startswith("@") and len(words) > 1 and words[0].startswith("@") else words


def _resolve_rust_base(importer: str, words: Words) -> tuple[Words | None, Words]:
    module, folder = module_words(importer), importer.split("/")[:-1]
    if words[:1] == ("crate",):
        # A workspace has several crates; the innermost `src` belongs to this one.
        depth = len(folder) - folder[::-1].index("src") if "src" in folder else 0
        return _normalise(tuple(folder[:depth]), "rust"), words[1:]
    if words[:1] == ("self",):
        return module, words[1:]
    levels_up = next((place for place, word in enumerate(words) if word != "super"), len(words))
    if levels_up:
        return module[: len(module) - levels_up], words[levels_up:]
    return None, words


def _split_words(text: str) -> Words:
    return tuple(part for part in _SEPARATOR.split(text) if part not in ("", "@", "~", "*"))


def _match_files(db: apsw.Connection, importer: str, base: Words | None, words: Words) -> list[tuple[int, str]]:
    family, folder = family_of(importer), module_words(importer)[:-1]
    near = {folder, module_words(importer)}
    matches = []
    for file, path in select(db, "SELECT id, path FROM files WHERE stem = ?", words[-1]):
        if family_of(path) != family:
            continue
        module = module_words(path)
        if base is not None:
            is_match = module == (*base, *words)
        elif family in _PREFIX_IS_ELSEWHERE:
            is_match = module[-2:] == words[-2:]
        else:
            is_match = module[-len(words) :] == words and (len(words) > 1 or module[:-1] in _ROOTS | near)
        if is_match:
            matches.append((file, path))
    return matches
