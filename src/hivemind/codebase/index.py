"""The code index: files, symbols and references of a working tree in a database that may be deleted at any time.

It is a cache: a file whose stamp differs is read again, a damaged database is rebuilt.
Calls and inheritance are stored as names and resolved by queries, so a saved file changes only its own rows.
"""

import gc
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from itertools import combinations, count
from operator import attrgetter
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self, TypeVar

import apsw

from hivemind.codebase import database, git, imports, tree
from hivemind.codebase.addresses import normalise_word
from hivemind.codebase.database import select, transaction
from hivemind.codebase.fingerprint import digest, merge, pack, unpack, unpack_first
from hivemind.codebase.grammar import language_of
from hivemind.codebase.matching import match
from hivemind.codebase.symbols import Outline, outline
from hivemind.codebase.tree import Stamp
from hivemind.errors import StoreBusy, Unavailable
from hivemind.model.code import BROKEN, FILE, FOLDER, LOCATION_FIELDS, Fingerprint, Symbol

BATCH_FILES = 200
"""Files per transaction; a symbol that moves keeps its id only within one batch."""

LOOKUP_TRIPLES = 4
"""Hashes per body that are indexed for lookup; bodies that share half of their triples mostly share one of these."""

MIN_TOKENS = 12
"""Smaller bodies are not looked up by content: too many are alike."""

MAX_HISTORY_COMMITS = 8000
"""Newest commits that are counted for files edited together."""

HALF_LIFE_COMMITS = 1500
"""Number of commits after which an older commit counts half."""

MAX_COMMIT_FILES = 40
"""Larger commits are ignored: they say nothing about any two of their files."""

MAX_AUTOMATIC_FILES = 500
"""Files that are indexed without a request, in about a second; a larger tree waits for `hivemind code index`."""

SEARCH_SECONDS = 3.0
"""How long git may search a tree that is not indexed yet for a name, while somebody waits."""

MAX_DEFINING_FILES = 60
"""Files with a definition of that name that are read then."""

MAX_FOLDER_FILES = 500
"""Only the first files of a larger folder count for its fingerprint."""

LAST_COMMIT_FACT = "last look"
# Timestamps are coarse: a file written just before it was read may change again under the same stamp.
_STAMP_RACE_NS = 50_000_000
_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Snapshot(NamedTuple):
    stamp: Stamp
    read_ns: int
    outline: Outline | None
    """None if the content is unchanged and only the stamp differs."""


def rebuild_if_damaged(
    operation: "Callable[Concatenate[CodeIndex, _P], _T]",
) -> "Callable[Concatenate[CodeIndex, _P], _T]":
    """Repeat the operation with a new database if the present one turns out to be damaged."""

    @wraps(operation)
    def wrapper(index: "CodeIndex", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            try:
                return operation(index, *args, **kwargs)
            except database.DAMAGE_ERRORS:
                # The index is derived from the tree, so a damaged one is simply made again.
                index.db.close()
                database.remove(index.path)
                index.db = database.connect(index.path)
                return operation(index, *args, **kwargs)
        except apsw.BusyError:
            raise StoreBusy("another process is indexing this tree; try again in a moment") from None
        except apsw.Error as error:
            raise Unavailable(f"the code index cannot be used: {error}; delete {index.path} to rebuild it") from error

    return wrapper


class CodeIndex:
    """The open index of one working tree."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root = root
        self.path = path
        self.db = database.connect(path)

    @classmethod
    def open(cls, root: Path, cache: Path) -> Self:
        """Open the index of the tree at root, stored in the folder `cache`; create it if there is none."""
        # Links to one tree share its index.
        real_root = os.path.realpath(root)
        try:
            cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            return cls(Path(real_root), cache / f"code-{digest(os.fsencode(real_root))}.db")
        except (OSError, apsw.Error) as error:
            raise Unavailable(f"cannot open the code index in {cache}: {error}; check its permissions") from error

    def close(self) -> None:
        """Close the database."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @rebuild_if_damaged
    def refresh(self, progress: Callable[[int, int], None] = lambda *_: None) -> int:
        """Bring the index up to date with the whole tree and return the number of changed files."""
        present = {path: stamp for path in tree.list_files(self.root) if (stamp := tree.stamp(self.root, path))}
        rows = select(self.db, "SELECT path, size, mtime_ns, inode, seen_ns FROM files")
        stored_stamps = {path: row for path, *row in rows}
        stale = [path for path, stamp in present.items() if not _is_current(stamp, stored_stamps.get(path))]
        # Deleted files are read like changed ones, and found to be gone.
        stale += [path for path in stored_stamps if path not in present]
        with _without_collection():
            changed = self._read_and_store(stale, progress)
        self._count_common_commits()
        self.set_fact("refreshed", str(time.time_ns()))
        return changed

    def refresh_if_older(self, seconds: float) -> None:
        """Refresh unless that was done within so many seconds; a large tree is not indexed for the first time."""
        if not self.is_built:
            paths = git.list_files(self.root) if seconds < math.inf else None
            if paths is not None and len(paths) <= MAX_AUTOMATIC_FILES:
                self.refresh()
        elif time.time_ns() - int(self.get_fact("refreshed")) > seconds * 1e9:
            self.refresh()

    def index_new_commits(self) -> tuple[str, list[str]]:
        """Index files changed by commits since the last call; return the commit of that call and the changed paths.

        Both are empty on the first call and after history was rewritten.
        """
        head, last_head = git.head(self.root), self.get_fact(LAST_COMMIT_FACT)
        try:
            paths = git.list_changes(self.root, last_head, head)[0] if last_head and head and last_head != head else []
        except Unavailable:  # the last commit is gone: history was rewritten
            last_head, paths = "", []
        # This runs when a session starts, so most of a large merge is left to the next refresh.
        self.update([path for path in paths if language_of(path)][: MAX_AUTOMATIC_FILES // 5])
        if last_head != head:
            self.set_fact(LAST_COMMIT_FACT, head)
        return last_head, paths

    @rebuild_if_damaged
    def update(self, paths: Sequence[str]) -> int:
        """Index these changed, new or deleted files; return the number that differ from the index."""
        return self._read_and_store([path for path in paths if tree.is_text(path)])

    @rebuild_if_damaged
    def symbols_of(self, path: str) -> list[Symbol]:
        """The symbols of a file as it is now, the file itself first; empty if there is no such file."""
        current_stamp = tree.stamp(self.root, path)
        query = "SELECT size, mtime_ns, inode, seen_ns FROM files WHERE path = ?"
        row = next(select(self.db, query, path), None)
        if (current_stamp is None and row) or (current_stamp and not _is_current(current_stamp, row)):
            try:
                self._read_and_store([path])
            except apsw.BusyError:  # another process is indexing: answer without storing
                content = tree.read(self.root, path)
                return list(outline(path, content[1]).symbols) if content else []
        return list(self._load_symbols([path]).values())

    def find_by_name(self, name: str, limit: int = 50) -> list[Symbol]:
        """Symbols with this simple name, as last indexed."""
        rows = self._rows(f"{SELECT_SYMBOLS} WHERE s.name = ? AND s.kind != 'file' LIMIT ?", name, limit)
        return [symbol_from_row(row) for row in rows]

    def find_places(self, names: Iterable[str]) -> list[tuple[str, str, str]]:
        """Path, qualified name and kind of all symbols with one of these simple names, as last indexed."""
        query = "SELECT DISTINCT f.path, s.qualified, s.kind FROM symbols s JOIN files f ON f.id = s.file"
        where = "WHERE s.name = ? AND s.kind != 'file' ORDER BY f.path, s.line"
        return [row for name in names for row in self._rows(f"{query} {where}", name)]

    def find_paths(self, word: str) -> list[str]:
        """Files with this word in their path, as last indexed; read from disk if the tree is not indexed yet."""
        normal_word = normalise_word(word)
        if not self.is_built:
            return [path for path in tree.list_files(self.root) if normal_word in normalise_word(path)]
        # The same folding as `normalise_word`, in SQL.
        query = "SELECT path FROM files WHERE instr(replace(replace(lower(path), '-', ''), '_', ''), ?) ORDER BY path"
        return [path for (path,) in self._rows(query, normal_word)]

    def find_similar_names(self, name: str, limit: int = 3) -> list[str]:
        """Simple names of symbols that are spelled most like this one, as last indexed."""
        query = "SELECT DISTINCT name FROM symbols WHERE kind != 'file' AND length(name) BETWEEN ? AND ?"
        # Names of very different length are never close, and comparing spellings is slow.
        tolerance = max(2, len(name) // 3)
        candidates = [candidate for (candidate,) in self._rows(query, len(name) - tolerance, len(name) + tolerance)]
        return get_close_matches(name, candidates, limit)

    @rebuild_if_damaged
    def folder_symbol(self, path: str) -> Symbol | None:
        """A folder as a symbol whose members are its files as they are now; None if it has none."""
        if not (self.root / path).is_dir():
            return None
        # "0" is the character after "/", so the range holds everything below the folder.
        inside, end = f"{path.strip('/')}/", f"{path.strip('/')}0"
        query = "SELECT path, size, mtime_ns, inode, seen_ns FROM files WHERE path >= ? AND path < ? ORDER BY path"
        rows = {file: row for file, *row in select(self.db, query, inside, end)}
        files = [*rows] if self.is_built else [file for file in tree.list_files(self.root) if file.startswith(inside)]
        stamps = {file: tree.stamp(self.root, file) for file in files[:MAX_FOLDER_FILES]}
        self._read_and_store(
            [file for file, stamp in stamps.items() if not (stamp and _is_current(stamp, rows.get(file)))]
        )
        query = f"{SELECT_SYMBOLS} WHERE f.path >= ? AND f.path < ? AND s.kind = 'file' ORDER BY f.path LIMIT ?"
        members = [symbol_from_row(row) for row in select(self.db, query, inside, end, MAX_FOLDER_FILES)]
        if not members:
            return None
        children = [(member.path[len(inside) :], member.fingerprint) for member in members]
        fingerprint = Fingerprint(
            # From the fingerprints of its files, so that a folder is judged stale by the same rules as a class.
            raw=digest("\n".join(f"{name} {child.raw}" for name, child in children).encode()),
            signature="",
            body=digest(b""),
            docs="",
            members=digest("\n".join(f"{name} {child.body}{child.members}" for name, child in children).encode()),
            tokens=sum(child.tokens for _, child in children),
            sketch=pack(merge(unpack(child.sketch) for _, child in children)),
        )
        return Symbol(
            path=inside[:-1], kind=FOLDER, name="", qualified="", ordinal=0, line=1, end_line=1, signature="",
            before="", after="", fingerprint=fingerprint,
        )  # fmt: skip

    @rebuild_if_damaged
    def index_files_containing(self, name: str) -> None:
        """In a tree that is not indexed yet, index the files that seem to define this name."""
        if not self.is_built:
            paths = git.find_files_with_word(self.root, name, SEARCH_SECONDS)
            code_paths = [path for path in paths if language_of(path)][:MAX_AUTOMATIC_FILES]
            self._read_and_store([path for path in code_paths if self._may_define(path, name)][:MAX_DEFINING_FILES])

    def _may_define(self, path: str, name: str) -> bool:
        """Whether a file looks as if it defined this name, which costs less than parsing it."""
        content = tree.read(self.root, path)
        word = re.escape(name.encode())
        # After a word such as `def`, `class` or a type, or at the beginning of a line; not after an operator.
        pattern = rb"(?m)^(?:[^\n=;\"']*[\w>*&)\]][ \t*&:]+)?[ \t]*" + word + rb"\b(?!\.)"
        return content is not None and re.search(pattern, content[1]) is not None

    def find_similar(self, fingerprint: Fingerprint, limit: int = 50) -> list[Symbol]:
        """Symbols whose body may be similar to this one, as last indexed."""
        symbols: dict[tuple[str, str, str, int], Symbol] = {}
        for triple in unpack_first(fingerprint.sketch, LOOKUP_TRIPLES):
            query = f"{SELECT_SYMBOLS} JOIN triples t ON t.symbol = s.id WHERE t.triple = ? LIMIT ?"
            rows = self._rows(query, triple, limit)
            symbols.update((symbol.key, symbol) for symbol in map(symbol_from_row, rows))
        return list(symbols.values())

    def paths(self) -> list[str]:
        """The paths of all indexed files."""
        return [path for (path,) in self._rows("SELECT path FROM files ORDER BY path")]

    def paths_in(self, folder: str) -> list[str]:
        """The paths of all indexed files below a folder."""
        inside = folder.strip("/") + "/"
        return [path for path in self.paths() if path.startswith(inside)]

    def count_files_and_symbols(self) -> tuple[int, int]:
        """The number of indexed files, and of symbols in them."""
        ((files, symbols),) = self._rows(
            "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM symbols WHERE kind != 'file')"
        )
        return files, symbols

    def find_files(self, name: str, limit: int = 20) -> list[str]:
        """Files with this name in any folder, as last indexed."""
        query = "SELECT path FROM files WHERE stem = ? LIMIT 1000"
        candidates = [path for (path,) in self._rows(query, imports.module_words(name)[-1])]
        return [path for path in candidates if path == name or path.endswith(f"/{name}")][:limit]

    @property
    def is_built(self) -> bool:
        """Whether the whole tree was ever indexed, so that names can be looked up."""
        return self.get_fact("refreshed") != ""

    @property
    def generation(self) -> str:
        """A value that changes whenever the index changes."""
        return self.get_fact("generation")

    def get_fact(self, name: str) -> str:
        """Read a named value that is stored with the index, such as the last commit; empty if there is none."""
        return next((value for (value,) in self._rows("SELECT value FROM facts WHERE name = ?", name)), "")

    def set_fact(self, name: str, value: str) -> None:
        """Store a named value with the index."""
        self._rows("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value)

    @rebuild_if_damaged
    def _rows(self, query: str, *values: str | int) -> list[Any]:
        return list(select(self.db, query, *values))

    def _read_and_store(self, paths: Sequence[str], progress: Callable[[int, int], None] = lambda *_: None) -> int:
        """Read files, store what changed in them, and return how many changed."""
        changed: set[str] = set()
        added_or_removed: set[str] = set()
        for start in range(0, len(paths), BATCH_FILES):
            batch = list(dict.fromkeys(paths[start : start + BATCH_FILES]))
            old_symbols = self._load_symbols(batch)
            snapshots = self._read_files(batch, old_symbols.values())
            with transaction(self.db):
                old_paths, new_paths = self._replace(old_symbols, snapshots)
            changed |= old_paths | new_paths
            added_or_removed |= old_paths ^ new_paths
            progress(min(start + BATCH_FILES, len(paths)), len(paths))
        if changed:
            with transaction(self.db):
                # After all batches: an import may lead to a file of a later one.
                imports.resolve_imports(self.db, changed, added_or_removed)
                self.set_fact("generation", str(time.time_ns()))
        return len(changed)

    def _read_files(self, paths: Iterable[str], old_symbols: Iterable[Symbol]) -> dict[str, _Snapshot]:
        """Read the files that exist, and outline those whose content differs from the old symbols."""
        old_by_path: dict[str, list[Symbol]] = {}
        for symbol in old_symbols:
            old_by_path.setdefault(symbol.path, []).append(symbol)
        snapshots = {}
        for path in paths:
            read_ns = time.time_ns()  # before reading, so that a later change is seen as one
            if content := tree.read(self.root, path):
                stamp, source = content
                old = old_by_path.get(path, [])
                is_unchanged = bool(old) and old[0].fingerprint.raw == digest(source)
                # An error can make the same bytes parse differently, so fingerprints of a broken file are not reused.
                fingerprints = [symbol.fingerprint for symbol in old] if old and old[0].signature != BROKEN else ()
                snapshots[path] = _Snapshot(
                    stamp, read_ns, None if is_unchanged else outline(path, source, fingerprints)
                )
        return snapshots

    def _replace(self, before: Mapping[int, Symbol], snapshots: Mapping[str, _Snapshot]) -> tuple[set[str], set[str]]:
        """Replace the rows of changed files; a symbol keeps its id if it was only edited, renamed or moved.

        Returns the paths whose old rows were removed, and the paths that were stored.
        """
        outlines = {path: snapshot.outline for path, snapshot in snapshots.items() if snapshot.outline}
        old_symbols = {
            symbol_id: symbol
            for symbol_id, symbol in before.items()
            if symbol.path in outlines or symbol.path not in snapshots
        }
        old_paths = {symbol.path for symbol in old_symbols.values()}
        self._delete_rows(old_symbols, old_paths)
        old_ids = {id(symbol): symbol_id for symbol_id, symbol in old_symbols.items()}
        reused_ids = {}
        new_symbols = (
            [symbol for file_outline in outlines.values() for symbol in file_outline.symbols] if old_symbols else []
        )
        for predecessor, successor in match([*old_symbols.values()], new_symbols):
            if successor is not None:
                reused_ids[id(successor)] = old_ids[id(predecessor)]
                if successor.kind == FILE and predecessor.path not in snapshots:
                    self.db.execute("UPDATE files SET path = ? WHERE path = ?", (successor.path, predecessor.path))
        self.db.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in old_paths - snapshots.keys()])
        ((last_id,),) = select(self.db, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'symbols'")
        new_ids = count(last_id + 1)
        files = {
            path: self._store_stamp(path, snapshot.stamp, snapshot.read_ns) for path, snapshot in snapshots.items()
        }
        self._store_outlines(
            (
                files[path],
                file_outline,
                [reused_ids.get(id(symbol)) or next(new_ids) for symbol in file_outline.symbols],
            )
            for path, file_outline in outlines.items()
        )
        return old_paths, {*outlines}

    def _delete_rows(self, symbols: Mapping[int, Symbol], paths: Iterable[str]) -> None:
        triples = [(triple, symbol_id) for symbol_id, symbol in symbols.items() for triple in _lookup_triples(symbol)]
        self.db.executemany("DELETE FROM triples WHERE triple = ? AND symbol = ?", triples)
        self.db.executemany("DELETE FROM symbols WHERE id = ?", [(symbol_id,) for symbol_id in symbols])
        files = [row for path in paths for row in select(self.db, "SELECT id FROM files WHERE path = ?", path)]
        # Another process may have stored new rows for these files since they were read.
        self.db.executemany("DELETE FROM symbols WHERE file = ?", files)
        self.db.executemany("DELETE FROM imports WHERE file = ?", files)
        self.db.executemany("DELETE FROM uses WHERE file = ?", files)

    def _store_stamp(self, path: str, stamp: Stamp, read_ns: int) -> int:
        ((file,),) = select(
            self.db,
            "INSERT INTO files (path, stem, size, mtime_ns, inode, seen_ns) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET stem = excluded.stem, size = excluded.size, inode = excluded.inode,"
            " mtime_ns = excluded.mtime_ns, seen_ns = excluded.seen_ns RETURNING id",
            path,
            imports.module_words(path)[-1],
            *stamp,
            read_ns,
        )
        return int(file)

    def _store_outlines(self, outlines: Iterable[tuple[int, Outline, Sequence[int]]]) -> None:
        """Store outlines: file id, outline, and the ids of its symbols."""
        symbols, triples, mentions, modules = [], [], [], []
        for file, file_outline, ids in outlines:
            pairs = list(zip(ids, file_outline.symbols, strict=True))
            symbols += [(symbol_id, file, *_columns(symbol), str(symbol.fingerprint)) for symbol_id, symbol in pairs]
            triples += [(triple, symbol_id) for symbol_id, symbol in pairs for triple in _lookup_triples(symbol)]
            mentions += [(ids[owner], name) for owner, kind, name in file_outline.references if kind != "import"]
            modules += [(file, name) for _, kind, name in file_outline.references if kind == "import"]
        self.db.executemany("INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", symbols)
        self.db.executemany("INSERT OR IGNORE INTO triples VALUES (?, ?)", triples)
        self.db.executemany("INSERT OR IGNORE INTO names (text) VALUES (?)", {(name,) for _, name in mentions})
        self.db.executemany("INSERT OR IGNORE INTO mentions SELECT id, ? FROM names WHERE text = ?", mentions)
        self.db.executemany("INSERT OR IGNORE INTO imports VALUES (?, ?)", modules)

    def _load_symbols(self, paths: Iterable[str]) -> dict[int, Symbol]:
        """The symbols of files as last indexed, by id; each file comes before its symbols."""
        query = f"{SELECT_SYMBOLS} WHERE f.path = ? ORDER BY s.kind != 'file', s.line, s.end_line DESC, s.id"
        return {row[-1]: symbol_from_row(row) for path in paths for row in select(self.db, query, path)}

    def _count_common_commits(self) -> None:
        """Count which files are edited together, in the commits since the last count."""
        head, last_head = git.head(self.root), self.get_fact("history")
        if head == last_head:
            return
        try:
            commits = list(git.read_commits(self.root, after=last_head, limit=MAX_HISTORY_COMMITS))
        except Unavailable:  # the last commit is gone: history was rewritten, so count all again
            last_head, commits = "", list(git.read_commits(self.root, limit=MAX_HISTORY_COMMITS))
        ids = dict(select(self.db, "SELECT path, id FROM files"))
        with transaction(self.db):
            if not last_head:
                self.db.execute("DELETE FROM together")
            # New commits weigh more instead of old ones less, so stored rows need no update: only ratios matter.
            commit_count = int(self.get_fact("commits") or 0) if last_head else 0
            for position, commit in enumerate(reversed(commits), start=commit_count):
                files = sorted({ids[path] for path in commit.files if path in ids})
                # A commit of one file relates it to nothing, and a commit of the whole tree relates all to all.
                if 2 <= len(commit.files) <= MAX_COMMIT_FILES:
                    weight = 2 ** (position / HALF_LIFE_COMMITS) / (len(commit.files) - 1)
                    self.db.executemany(
                        "INSERT INTO together VALUES (?, ?, ?)"
                        " ON CONFLICT DO UPDATE SET weight = weight + excluded.weight",
                        [(first, second, weight) for first, second in combinations(files, 2)],
                    )
            self.set_fact("commits", str(commit_count + len(commits)))
            self.set_fact("history", head)


SELECT_SYMBOLS = (
    "SELECT f.path, s.kind, s.name, s.qualified, s.ordinal, s.line, s.end_line, s.signature, s.before,"
    " s.after, s.fingerprint, s.id FROM symbols s JOIN files f ON f.id = s.file"
)
"""The beginning of every query for symbols."""

_columns = attrgetter(*LOCATION_FIELDS[1:])


def symbol_from_row(row: tuple[Any, ...]) -> Symbol:
    """The symbol in a row of `SELECT_SYMBOLS`."""
    return Symbol(**dict(zip(LOCATION_FIELDS, row[:-2], strict=True)), fingerprint=Fingerprint.parse(row[-2]))


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause garbage collection: symbols have no cycles, and searching for some takes 1/15 of a full index."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _lookup_triples(symbol: Symbol) -> list[int]:
    fingerprint = symbol.fingerprint
    return unpack_first(fingerprint.sketch, LOOKUP_TRIPLES) if fingerprint.tokens >= MIN_TOKENS else []


def _is_current(stamp: Stamp, row: Sequence[int] | None) -> bool:
    # A file changed within the resolution of its timestamp looks unchanged, so fresh stamps are not trusted.
    return row is not None and tuple(row[:3]) == stamp and stamp.mtime_ns + _STAMP_RACE_NS < row[3]
