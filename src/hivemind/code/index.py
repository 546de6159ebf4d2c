"""The code index: files, symbols and references of a working tree in a database that may be deleted at any time.

It is a cache: a file whose stamp differs is read again, a damaged database is rebuilt.
Calls and inheritance are stored as names and resolved by queries, so a saved file changes only its own rows.
"""

import json
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from difflib import get_close_matches
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import apsw

from hivemind import system
from hivemind.code import cache_database, git, index_database, index_reading, working_tree
from hivemind.code.code_names import normalise_word
from hivemind.code.fingerprint import digest, merge, pack, unpack
from hivemind.code.grammars import find_language
from hivemind.code.index_database import select
from hivemind.code.parsing import make_whole_symbol, outline
from hivemind.errors import StoreBusy, Unavailable
from hivemind.model.code import FOLDER, LOCATION_FIELDS, Fingerprint, Symbol
from hivemind.store.database import Closeable

BATCH_FILES = 50
"""Files per transaction, which lasts a tenth of a second; nobody else can write in that time."""

BATCH_BYTES = 1_000_000
"""Size of these files together; what is read from larger ones takes a hundred megabytes in each process."""

MAX_HISTORY_COMMITS = 8000
"""Newest commits that are counted for files edited together."""

MAX_AUTOMATIC_FILES = 500
"""Files in which a name is searched for, or that are indexed for the first time, while somebody waits."""

MAX_LISTED_FILES = 10_000
"""Trees up to this size are looked through while somebody waits, which takes a tenth of a second."""

MAX_QUICK_FILES = 50
"""Changed files that are read while somebody waits, also a tenth of a second; more are left to the background."""

LARGE_TREE_SECONDS = 300.0
"""How long a look at a larger tree holds as long as the same commit is checked out."""

MAX_QUICK_BYTES = 200_000
"""Size of a changed file that is read while somebody waits; larger ones are left to the background."""

WAIT_MS = 200
"""How long the answer about one file waits for another process that writes, before it does without storing it."""

SEARCH_SECONDS = 3.0
"""How long git may search a tree that is not indexed yet for a name, while somebody waits."""

MAX_DEFINING_FILES = 60
"""Files with a definition of that name that are read then."""

MAX_FOLDER_FILES = 500
"""Only the first files of a larger folder count for its fingerprint."""

MAX_KEPT_LENGTH, MAX_KEPT = 40_000, 5_000
"""Characters of an anchor's code that is kept, and the number of such pieces."""

LEFT_OUT_FACT = "left out"
LAST_COMMIT_FACT = "last look"
# Timestamps are coarse: a file written just before it was read may change again under the same stamp.
_STAMP_RACE_NS = 50_000_000
_P = ParamSpec("_P")
_T = TypeVar("_T")


def rebuild_if_damaged(
    operation: "Callable[Concatenate[CodeIndex, _P], _T]",
) -> "Callable[Concatenate[CodeIndex, _P], _T]":
    """Repeat the operation with a new database if the present one turns out to be damaged."""

    @wraps(operation)
    def wrapper(index: "CodeIndex", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            with suppress(*cache_database.DAMAGE_ERRORS):
                return operation(index, *args, **kwargs)
            # The index is derived from the tree, so a damaged one is simply made again.
            index.db.close()
            cache_database.remove(index.path)
            index.db = index_database.connect(index.path, index.busy_timeout_ms)
            return operation(index, *args, **kwargs)
        except apsw.BusyError:
            raise StoreBusy("another process is indexing this tree; try again in a moment") from None
        except apsw.Error as error:
            raise Unavailable(f"the code index cannot be used: {error}; delete {index.path} to rebuild it") from error

    return wrapper


class CodeIndex(Closeable):
    """The open index of one working tree."""

    def __init__(self, root: Path, path: Path, busy_timeout_ms: int = cache_database.BUSY_TIMEOUT_MS) -> None:
        self.root = root
        self.path = path
        self.busy_timeout_ms = busy_timeout_ms
        self.db = index_database.connect(path, busy_timeout_ms)
        self.is_behind = False
        """Whether a refresh was left to the background, so that answers may not know all of the tree."""
        self.has_moved_code = False
        """Whether anchors were followed to another place, to which the background links their memories."""
        self._is_busy = False
        """Whether another process was writing when this object last wanted to."""
        self._looked_at_ns = 0
        """When this object last looked through the tree, also if what it saw was left to the background."""

    @classmethod
    def open(cls, root: Path, cache: Path, *, is_hurried: bool = False) -> Self:
        """Open the index of the tree at root, stored in the folder `cache`; create it if there is none.

        In a hurry, it hardly waits for other processes that write to it.
        """
        # Links to one tree share its index.
        real_root = os.path.realpath(root)
        try:
            cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            name = f"code-{digest(os.fsencode(real_root))}"
            # Another version of the program has a file of its own, so that no process deletes what another one uses.
            path = cache / f"{name}-{index_database.VERSION}.db"
            # What other versions of the program left, nobody reads any more.
            for old_path in () if path.exists() else cache.glob(f"{name}*"):
                old_path.unlink(missing_ok=True)
            return cls(Path(real_root), path, WAIT_MS if is_hurried else cache_database.BUSY_TIMEOUT_MS)
        except (OSError, apsw.Error) as error:
            raise Unavailable(f"cannot open the code index in {cache}: {error}; check its permissions") from error

    def close(self) -> None:
        """Close the database."""
        self.db.close()

    @rebuild_if_damaged
    def refresh(self, progress: Callable[[int, int], None] = lambda *_: None) -> int:
        """Bring the index up to date with the whole tree and return the number of changed files.

        If another process is doing that, wait for it; what it has stored is not read again.
        """
        with self._lock():
            return self._refresh(self._find_changed_files(), progress)

    @rebuild_if_damaged
    def refresh_if_older(self, seconds: float) -> None:
        """Refresh unless that was done within so many seconds; if it would take long, only note that it is due."""
        is_large = self.is_large()
        if not self.may_index or not self._is_older(seconds, is_large=is_large):
            return
        try:
            with self._lock(is_waiting=False):
                changed_paths = None if is_large or self.has_much_to_read() else self._find_changed_files()
                self._looked_at_ns = time.time_ns()
                self.is_behind = changed_paths is None or len(changed_paths) > MAX_QUICK_FILES
                if changed_paths is not None and not self.is_behind:
                    self._refresh(changed_paths)
        except BlockingIOError:
            self.is_behind = True

    def refresh_on_request(self, progress: Callable[[int, int], None] = lambda *_: None) -> None:
        """Refresh for somebody who asks about the tree; the first index of a large one is left to the background."""
        if self.is_built:
            self.refresh_if_older(0.0)
        elif len(working_tree.list_files(self.root)) <= MAX_AUTOMATIC_FILES:
            self.refresh(progress)
        else:
            self.is_behind = True

    def is_being_refreshed(self) -> bool:
        """Whether another process is indexing the tree at this moment."""
        try:
            with self._lock(is_waiting=False):
                return False
        except BlockingIOError:
            return True

    def list_new_commits(self) -> tuple[str, list[str]]:
        """The commit of the last call and the paths that differ from it; both empty after history was rewritten."""
        head, last_head = git.read_head(self.root), self.get_fact(LAST_COMMIT_FACT)
        try:
            paths = git.list_changed_paths(self.root, last_head, head) if last_head and head != last_head else []
        except Unavailable:  # the last commit is gone: history was rewritten
            last_head, paths = "", []
        if last_head != head:
            self.set_fact(LAST_COMMIT_FACT, head)
        return last_head, paths

    @rebuild_if_damaged
    def update(self, paths: Sequence[str]) -> int:
        """Index these changed, new or deleted files; return the number that differ from the index."""
        return self._read_and_store([path for path in paths if working_tree.is_text(path)])

    @rebuild_if_damaged
    def read_symbols(self, path: str) -> list[Symbol]:
        """The symbols of a file as it is now, the file itself first; empty if there is no such file."""
        if not self._is_current(path):
            # Once per answer and not once per file, which was seconds after a switch of branches.
            self.db.set_busy_timeout(0 if self._is_busy else WAIT_MS)
            try:
                self._read_and_store([path])
                self._is_busy = False
            except apsw.BusyError:  # another process is indexing: answer without storing
                self._is_busy = True
                content = working_tree.read(self.root, path)
                return list(outline(path, content[1]).symbols) if content else []
            finally:
                self.db.set_busy_timeout(self.busy_timeout_ms)
        query = f"{SELECT_SYMBOLS} WHERE f.path = ? ORDER BY s.kind != 'file', s.line, s.end_line DESC, s.id"
        return [make_symbol(row) for row in select(self.db, query, path)]

    @rebuild_if_damaged
    def is_slow_to_read(self, path: str) -> bool:
        """Whether a file changed and is too large to be read again while somebody waits."""
        stamp = working_tree.stamp(self.root, path)
        return stamp is not None and stamp.size > MAX_QUICK_BYTES and not self._is_current(path)

    def find_places(self, names: Iterable[str]) -> list[tuple[str, str, str]]:
        """Path, qualified name and kind of all symbols with one of these simple names, as last indexed."""
        query = "SELECT DISTINCT f.path, s.qualified, s.kind FROM symbols s JOIN files f ON f.id = s.file"
        where = "WHERE s.name = ? AND s.kind != 'file' ORDER BY f.path, s.line"
        return [row for name in names for row in self._select(f"{query} {where}", name)]

    def find_paths(self, word: str) -> list[str]:
        """Files with this word in their path, as last indexed; read from disk if the tree is not indexed yet."""
        normal_word = normalise_word(word)
        if not self.is_built:
            return [path for path in working_tree.list_files(self.root) if normal_word in normalise_word(path)]
        # The same folding as `normalise_word`, in SQL.
        query = "SELECT path FROM files WHERE instr(replace(replace(lower(path), '-', ''), '_', ''), ?) ORDER BY path"
        return [path for (path,) in self._select(query, normal_word)]

    def find_similar_names(self, name: str) -> list[str]:
        """Simple names of symbols that are spelled most like this one, as last indexed."""
        query = "SELECT DISTINCT name FROM symbols WHERE kind != 'file' AND length(name) BETWEEN ? AND ?"
        # Names of very different length are never close, and comparing spellings is slow.
        tolerance = max(2, len(name) // 3)
        candidates = [candidate for (candidate,) in self._select(query, len(name) - tolerance, len(name) + tolerance)]
        return get_close_matches(name, candidates)

    @rebuild_if_damaged
    def make_folder_symbol(self, path: str) -> Symbol | None:
        """A folder as a symbol whose members are its files as they are now; None if it has none."""
        if not (self.root / path).is_dir():
            return None
        # "0" is the character after "/", so the range holds everything below the folder.
        inside, end = f"{path.strip('/')}/", f"{path.strip('/')}0"
        query = "SELECT path, size, mtime_ns, inode, seen_ns FROM files WHERE path >= ? AND path < ? ORDER BY path"
        rows = {file: row for file, *row in select(self.db, query, inside, end)}
        tree_files = rows if self.is_built else working_tree.list_files(self.root)
        files = [file for file in tree_files if file.startswith(inside)]
        members_to_read = [file for file in files[:MAX_FOLDER_FILES] if not self._is_as_stored(file, rows.get(file))]
        self._read_and_store(members_to_read)
        query = f"{SELECT_SYMBOLS} WHERE f.path >= ? AND f.path < ? AND s.kind = 'file' ORDER BY f.path LIMIT ?"
        members = [make_symbol(row) for row in select(self.db, query, inside, end, MAX_FOLDER_FILES)]
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
        return make_whole_symbol(inside[:-1], FOLDER, 1, fingerprint)

    @rebuild_if_damaged
    def index_files_containing(self, name: str, *, everywhere: bool = False) -> None:
        """Index the files that seem to define this name; `everywhere` also those that are ignored or in submodules."""
        paths = git.find_files_with_word(self.root, name, SEARCH_SECONDS, everywhere=everywhere) or ()
        code_paths = [path for path in paths if find_language(path)][:MAX_AUTOMATIC_FILES]
        defining_paths = [path for path in code_paths if self._may_define(path, name)][:MAX_DEFINING_FILES]
        self._read_and_store([path for path in defining_paths if not working_tree.is_in_worktree(self.root, path)])

    def _may_define(self, path: str, name: str) -> bool:
        """Whether a file looks as if it defined this name, which costs less than parsing it."""
        content = working_tree.read(self.root, path)
        word = re.escape(name.encode())
        # After a word such as `def`, `class` or a type, or at the beginning of a line; not after an operator.
        pattern = rb"(?m)^(?:[^\n=;\"']*[\w>*&)\]][ \t*&:]+)?[ \t]*#?" + word + rb"(?![\w.])"
        return content is not None and re.search(pattern, content[1]) is not None

    def list_latest_files(self, limit: int) -> list[str]:
        """The files that appeared last and those that were written last, so many of each."""
        query = (
            "SELECT path FROM (SELECT path FROM files ORDER BY id DESC LIMIT ?1)"
            " UNION SELECT path FROM (SELECT path FROM files ORDER BY mtime_ns DESC LIMIT ?1)"
        )
        return [path for (path,) in self._select(query, limit)]

    def list_paths(self) -> list[str]:
        """The paths of all indexed files."""
        return [path for (path,) in self._select("SELECT path FROM files ORDER BY path")]

    def list_paths_in(self, folder: str) -> list[str]:
        """The paths of all indexed files below a folder."""
        return [path for path in self.list_paths() if path.startswith(f"{folder}/")]

    def count_files_and_symbols(self) -> tuple[int, int]:
        """The number of indexed files, and of symbols in them."""
        ((files, symbols),) = self._select(
            "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM symbols WHERE kind != 'file')"
        )
        return files, symbols

    def count_left_out(self) -> int:
        """The number of files that the last refresh left out, because there are more than are indexed."""
        return int(self.get_fact(LEFT_OUT_FACT) or 0)

    @property
    def is_built(self) -> bool:
        """Whether the whole tree was ever indexed, so that names can be looked up."""
        return self.get_fact("refreshed") != ""

    @property
    def may_lack_names(self) -> bool:
        """Whether the tree may have names that the index does not: it is not built, behind, or too large to look at."""
        return not self.is_built or self.is_behind or self.is_large()

    @property
    def generation(self) -> str:
        """A value that changes whenever the index changes."""
        return self.get_fact("generation")

    @rebuild_if_damaged
    def keep_code(self, codes: Mapping[str, str]) -> None:
        """Keep the code of anchors, by the digest of its bytes; the oldest is dropped if there is too much."""
        rows = [(raw, code) for raw, code in codes.items() if len(code) <= MAX_KEPT_LENGTH]
        if rows:
            self.db.executemany("INSERT OR IGNORE INTO kept_code (raw, code) VALUES (?, ?)", rows)
            self.db.execute("DELETE FROM kept_code WHERE id <= (SELECT max(id) FROM kept_code) - ?", (MAX_KEPT,))

    def read_kept_code(self, digests: Iterable[str]) -> dict[str, str]:
        """The code that was kept, by the digest of its bytes."""
        query = "SELECT raw, code FROM kept_code WHERE raw IN (SELECT value FROM json_each(?))"
        return dict(self._select(query, json.dumps(sorted({*digests}))))

    @rebuild_if_damaged
    def get_fact(self, name: str) -> str:
        """Read a named value that is stored with the index, such as the last commit; empty if there is none."""
        return cache_database.get_fact(self.db, name)

    @rebuild_if_damaged
    def set_fact(self, name: str, value: str) -> None:
        """Store a named value with the index."""
        cache_database.set_fact(self.db, name, value)

    @rebuild_if_damaged
    def _select(self, query: str, *values: str | int) -> list[Any]:
        return list(select(self.db, query, *values))

    def _lock(self, *, is_waiting: bool = True) -> AbstractContextManager[None]:
        """Hold the lock of whoever refreshes the index; the system releases it if the process dies."""
        return system.FileLock(str(self.path.with_suffix(".lock")), is_waiting=is_waiting)

    def is_large(self) -> bool:
        """Whether looking through the tree takes longer than somebody should wait."""
        # Not a count of all, which takes a while in exactly the trees in which it matters.
        return bool(self._select("SELECT 1 FROM files LIMIT 1 OFFSET ?", MAX_LISTED_FILES))

    def has_much_to_read(self) -> bool:
        """Whether a tree that was never indexed is too large to be indexed while somebody waits."""
        if self.is_built:
            return False
        ((stored_count,),) = self._select("SELECT count(*) FROM files")
        # Without a look at each file: almost all of them are new.
        return len(working_tree.list_files(self.root)) - int(stored_count) > MAX_QUICK_FILES

    @property
    def may_index(self) -> bool:
        """Whether the tree may be indexed without a request: outside of git it may be a whole disk."""
        return self.is_built or self.is_in_git

    @property
    def is_in_git(self) -> bool:
        """Whether the tree is the working tree of a repository."""
        return (self.root / ".git").exists()

    def _is_older(self, seconds: float, *, is_large: bool) -> bool:
        age = (time.time_ns() - max(self._looked_at_ns, int(self.get_fact("refreshed") or 0))) / 1e9
        # Looking through a large tree takes a while even if nothing changed, so a new commit decides.
        if is_large and age < LARGE_TREE_SECONDS:
            return seconds < math.inf and git.read_head(self.root) != self.get_fact("history")
        return age > seconds

    def _find_changed_files(self) -> list[str]:
        """The paths that differ from the index; deleted files are read like changed ones, and found to be gone."""
        all_paths = working_tree.list_files(self.root)
        if len(all_paths) > working_tree.MAX_FILES:
            # Files in a known language are worth more than those that are left out.
            all_paths.sort(key=lambda path: find_language(path) is None)
        paths = all_paths[: working_tree.MAX_FILES]
        if self.count_left_out() != len(all_paths) - len(paths):
            self.set_fact(LEFT_OUT_FACT, str(len(all_paths) - len(paths)))
        rows = select(self.db, "SELECT path, size, mtime_ns, inode, seen_ns FROM files")
        stored_stamps = {path: row for path, *row in rows}
        changed_paths = [path for path in paths if not self._is_as_stored(path, stored_stamps.pop(path, None))]
        return [*changed_paths, *stored_stamps]

    def _is_current(self, path: str) -> bool:
        query = "SELECT size, mtime_ns, inode, seen_ns FROM files WHERE path = ?"
        return self._is_as_stored(path, next(select(self.db, query, path), None))

    def _is_as_stored(self, path: str, row: Sequence[int] | None) -> bool:
        stamp = working_tree.stamp(self.root, path)
        # What is no file and was never one, such as a submodule, has nothing to read.
        if stamp is None or row is None:
            return stamp is row
        # A file changed within the resolution of its timestamp looks unchanged, so fresh stamps are not trusted.
        return tuple(row[:3]) == stamp and stamp.mtime_ns + _STAMP_RACE_NS < row[3]

    def _refresh(self, paths: Sequence[str], progress: Callable[[int, int], None] = lambda *_: None) -> int:
        changed = self._read_and_store(paths, progress)
        self._count_common_commits()
        self.set_fact("refreshed", str(time.time_ns()))
        self.is_behind = False
        return changed

    def _read_and_store(self, paths: Sequence[str], progress: Callable[[int, int], None] = lambda *_: None) -> int:
        """Read files, store what changed in them, and return how many changed."""
        requests = (index_database.make_requests(self.db, batch) for batch in self._split_into_batches(paths))
        changed = file_count = 0
        for files in index_reading.read_files(self.root, requests, len(paths)):
            changed += index_database.store_files(self.db, files)
            file_count += len(files)
            progress(file_count, len(paths))
        return changed

    def _split_into_batches(self, paths: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        size = 0
        for path in paths:
            stamp = working_tree.stamp(self.root, path)
            size += stamp.size if stamp else 0
            if batch and (len(batch) == BATCH_FILES or size > BATCH_BYTES):
                yield batch
                batch, size = [], stamp.size if stamp else 0
            batch.append(path)
        if batch:
            yield batch

    def _count_common_commits(self) -> None:
        """Count which files are edited together, in the commits since the last count."""
        head, last_head = git.read_head(self.root), self.get_fact("history")
        if head == last_head:
            return
        try:
            commits = list(git.read_commits(self.root, after=last_head, limit=MAX_HISTORY_COMMITS))
        except Unavailable:  # the last commit is gone: history was rewritten, so count all again
            last_head, commits = "", list(git.read_commits(self.root, limit=MAX_HISTORY_COMMITS))
        index_database.count_common_commits(self.db, commits, head, is_continued=bool(last_head))


SELECT_SYMBOLS = (
    "SELECT f.path, s.kind, s.name, s.qualified, s.ordinal, s.line, s.end_line, s.signature, s.before,"
    " s.after, s.fingerprint FROM symbols s JOIN files f ON f.id = s.file"
)
"""The beginning of every query for symbols."""


def make_symbol(row: tuple[Any, ...]) -> Symbol:
    """The symbol in a row of `SELECT_SYMBOLS`."""
    return Symbol(**dict(zip(LOCATION_FIELDS, row[:-1], strict=True)), fingerprint=Fingerprint.parse(row[-1]))
