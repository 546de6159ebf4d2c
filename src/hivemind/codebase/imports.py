"""Resolve imports to files by their words alone: no build system is run, and ambiguous imports stay unresolved."""

import re
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

import apsw

from hivemind.codebase.addresses import PACKAGE_FILES
from hivemind.codebase.database import select
from hivemind.codebase.grammar import family_of

Words = tuple[str, ...]
_Cache = dict[tuple[object, ...], list[int]]

# Folders from which a module of a single word may be imported.
_ROOTS = frozenset({(), ("src",), ("lib",), ("include",), ("app",)})
_SUFFIX = re.compile(r"\.(?:[cm]?[jt]sx?|h|hh|hpp|c|cc|cpp|rb|php|sh|json)$")
_SEPARATOR = re.compile(r"[./\\:]+")
_BRACES = re.compile(r"^(.*?)::\{(.*)\}$", re.DOTALL)
_DOTS = re.compile(r"^(\.+)(?!/)(.*)$")
# Go imports folders, not files.
_FOLDER_IS_MODULE = frozenset({"go"})
# PHP maps namespace prefixes to folders in composer.json (PSR-4), which is not read here.
_PREFIX_IS_ELSEWHERE = frozenset({"php"})
_MAX_FOLDER_TARGETS = 30
_FILES_AT_ONCE = 500


@lru_cache(maxsize=16384)
def module_words(path: str) -> Words:
    """The words by which a file is imported; a package file has the words of its folder."""
    folder, _, name = path.rpartition("/")
    words = tuple(folder.split("/")) if folder else ()
    stem = name.partition(".")[0] or name
    if words and (stem in PACKAGE_FILES or family_of(path) in _FOLDER_IS_MODULE):
        return words
    return (*words, stem)


def resolve_imports(
    db: apsw.Connection, changed: Collection[str], added_or_removed: Collection[str]
) -> Iterator[dict[int, list[int]]]:
    """Yield the files that each changed file imports, and each file whose imports may mean an added or removed one."""
    new_words = {module_words(path)[-1] for path in added_or_removed}
    cache: _Cache = {}
    edges: dict[int, list[int]] = {}
    for file, importer, modules in _read_imports(db, None if new_words else changed):
        names = modules.split("\n") if modules else []
        if importer in changed or any(not new_words.isdisjoint(_SEPARATOR.split(name)) for name in names):
            edges[file] = [target for name in names for target in _find_edges(db, file, importer, name, cache)]
        if len(edges) >= _FILES_AT_ONCE:
            yield edges
            edges = {}
    yield edges


def _read_imports(db: apsw.Connection, paths: Iterable[str] | None) -> Iterator[tuple[int, str, str]]:
    """Yield id, path and imports of these files, or of all."""
    query = "SELECT f.id, f.path, group_concat(i.module, char(10)) FROM files f LEFT JOIN imports i ON i.file = f.id"
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
    targets = find_targets(db, importer, name, cache)
    if len(targets) == 1 or family_of(importer) in _FOLDER_IS_MODULE:
        yield from (target for target in targets[:_MAX_FOLDER_TARGETS] if target != file)


def find_targets(db: apsw.Connection, importer: str, name: str, cache: _Cache) -> list[int]:
    """The files that an import may mean: one, several or none.

    The cache holds earlier results, because thousands of files import the same few.
    """
    files: dict[int, None] = {}
    for import_name in _expand_braces(name):
        base, words = _resolve_base(importer, import_name)
        # The last word may name something inside the file, as in `from auth.service import login`.
        for length in (len(words), len(words) - 1):
            leading = words[:length]
            # A single word is resolved from the importer's folder, longer names alike for the whole language.
            context = importer if length < 2 else family_of(importer)
            if length > 0 and (context, base, leading) not in cache:
                cache[context, base, leading] = _find_matching_files(db, importer, base, leading)
            if matches := cache.get((context, base, leading)):
                files.update(dict.fromkeys(matches))
                break
    return list(files)


def _expand_braces(name: str) -> Iterator[str]:
    """Expand Rust's `a::{b, c}` to `a::b` and `a::c`."""
    braces = _BRACES.match(name)
    if braces is None:
        yield name
    else:
        yield from (f"{braces[1]}::{part.strip()}" for part in braces[2].split(",") if part.strip())


def _resolve_base(importer: str, name: str) -> tuple[Words | None, Words]:
    """The folder that a relative import starts from, else None, and the words that follow."""
    folder = tuple(importer.split("/")[:-1])
    if name.startswith(("./", "../")):
        words = list(folder)
        for part in _SUFFIX.sub("", name).split("/"):
            if part == "..":
                del words[-1:]
            elif part not in (".", ""):
                words.append(part)
        return (), tuple(words)
    if dots := _DOTS.match(name):  # Python's `..models`
        levels_up = len(dots[1]) - 1
        return folder[: len(folder) - levels_up], _split_words(dots[2])
    first, _, remainder = name.partition("::")
    if first == "crate":
        # A workspace has several crates; the innermost `src` belongs to this one.
        depth = len(folder) - folder[::-1].index("src") if "src" in folder else 0
        return folder[:depth], _split_words(remainder)
    if first in ("self", "super"):
        return folder, _split_words(remainder)
    return None, _split_words(_SUFFIX.sub("", name))


def _split_words(text: str) -> Words:
    return tuple(part for part in _SEPARATOR.split(text) if part not in ("", "@", "~", "*"))


def _find_matching_files(db: apsw.Connection, importer: str, base: Words | None, words: Words) -> list[int]:
    family, folder = family_of(importer), tuple(importer.split("/")[:-1])
    files = []
    for file, path in select(db, "SELECT id, path FROM files WHERE stem = ?", words[-1]):
        if family_of(path) != family:
            continue
        module = module_words(path)
        if base is not None:
            is_match = module == (*base, *words)
        elif family in _FOLDER_IS_MODULE:
            is_match = words[-len(module) :] == module and not path.endswith("_test.go")
        elif family in _PREFIX_IS_ELSEWHERE:
            is_match = module[-2:] == words[-2:]
        else:
            is_match = module[-len(words) :] == words and (
                len(words) > 1 or module[:-1] in _ROOTS or module[:-1] in (folder, module_words(importer))
            )
        if is_match:
            files.append(file)
    return files
