"""What is known about a working tree, kept warm in a database that may be deleted at any time.

Nothing in it is the only copy: a file whose stamp differs is read again, a damaged database is made anew.
Calls and inheritance are kept as names and resolved when asked, so a saved file changes only its own rows.
"""

import gc
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations, count
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

import apsw

from hivemind.codebase import database, git, imports, tree
from hivemind.codebase.database import select, writing
from hivemind.codebase.fingerprint import digest, first
from hivemind.codebase.grammar import language_of
from hivemind.codebase.matching import match
from hivemind.codebase.symbols import Outline, outline
from hivemind.codebase.tree import Stamp
from hivemind.errors import StoreBusy, Unavailable
from hivemind.model.code import BROKEN, FILE, SEEN, Fingerprint, Symbol

BATCH = 200
"""Files per transaction, and as far as a symbol's id is carried from file to file."""

NEIGHBOURS = 4
"""Triples by which a body is found again; bodies that share half of theirs mostly share one of these."""

MIN_TOKENS = 12
"""Smaller bodies are not looked for by content: too many are alike."""

HISTORY = 8000
"""Commits from which it is learned what is edited together."""

HALF_LIFE = 1500
"""Commits after which what was edited together counts half."""

TOGETHER = 40
"""Files in a commit beyond which it says nothing about any two of them."""

IN_PASSING = 500
"""Files that are indexed without being asked, in about a second; a larger tree waits for `hivemind index`."""

LAST_LOOK = "last look"
_RACE_NS = 50_000_000  # a file written just before we looked may be written again under the same stamp
_MENTIONS = {"call": 0, "inherit": 1}
_T = TypeVar("_T")


class _Seen(NamedTuple):
    stamp: Stamp
    moment: int
    outline: Outline


class Index:
    """An open index of one working tree."""

    def __init__(self, root: Path, path: Path) -> None:
        self.root = root
        self.path = path
        self.db = database.connect(path)

    @classmethod
    def open(cls, root: Path, cache: Path) -> Self:
        """Open the index of the tree at root in this folder, making it if there is none."""
        place = os.path.realpath(root)
        try:
            cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            return cls(Path(place), cache / f"code-{digest(os.fsencode(place))}.db")
        except (OSError, apsw.Error) as error:
            raise Unavailable(f"there is no room for an index in {cache}: {error}") from error

    def close(self) -> None:
        """Let go of the database."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def refresh(self, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Bring the index up to date with the whole tree; the number of files that had changed."""

        def work() -> int:
            present = {path: seen for path in tree.files(self.root) if (seen := tree.stamp(self.root, path))}
            rows = select(self.db, "SELECT path, size, mtime_ns, inode, seen_ns FROM files")
            known = {path: stamp for path, *stamp in rows}
            stale = [path for path, seen in present.items() if not _is_current(seen, known.get(path))]
            stale += [path for path in known if path not in present]
            with _without_collection():
                changed = self._take(stale, progress)
            self._learn_history()
            self.note("refreshed", str(time.time_ns()))
            return changed

        return self.mended(work)

    def refresh_if_older(self, seconds: float) -> None:
        """Refresh, unless that was done within so many seconds; a large tree is not begun in passing."""
        if not self.is_built:
            listed = git.listed(self.root) if seconds < math.inf else None
            if listed is not None and len(listed) <= IN_PASSING:
                self.refresh()
        elif time.time_ns() - int(self.fact("refreshed")) > seconds * 1e9:
            self.refresh()

    def look_at_git(self) -> tuple[str, list[str]]:
        """Read again what commits touched since this was last asked: the commit asked for then, and what they touched.

        Nothing comes back where the last look was at another history, or there was none.
        """
        now, then = git.head(self.root), self.fact(LAST_LOOK)
        try:
            paths = git.changed(self.root, then, now)[0] if then and now and then != now else []
        except Unavailable:  # a rewrite took the commit of the last look away
            then, paths = "", []
        # A large merge is read when somebody asks who has the time.
        self.update([path for path in paths if language_of(path)][: IN_PASSING // 5])
        if then != now:
            self.note(LAST_LOOK, now)
        return then, paths

    def update(self, paths: Sequence[str]) -> int:
        """Look at these files again, changed, new or gone; the number that differ from what was known."""
        known = [path for path in paths if tree.is_text(path)]
        return self.mended(lambda: self._take(known))

    def symbols_of(self, path: str) -> list[Symbol]:
        """The symbols of a file as it is now, the file itself first; nothing if there is no such file."""

        def work() -> list[Symbol]:
            seen = tree.stamp(self.root, path)
            query = "SELECT size, mtime_ns, inode, seen_ns FROM files WHERE path = ?"
            row = next(select(self.db, query, path), None)
            if (seen is None and row) or (seen and not _is_current(seen, row)):
                try:
                    self._take([path])
                except apsw.BusyError:  # another process is indexing: answer without storing
                    content = tree.read(self.root, path)
                    return list(outline(path, content[1]).symbols) if content else []
            return self._stored([path])

        return self.mended(work)

    def named(self, name: str, limit: int = 50) -> list[Symbol]:
        """Symbols of this simple name, as last indexed."""
        rows = self._rows(f"{SELECT} WHERE s.name = ? AND s.kind != 'file' LIMIT ?", name, limit)
        return [symbol_of(row) for row in rows]

    def resembling(self, fingerprint: Fingerprint, limit: int = 50) -> list[Symbol]:
        """Symbols whose body may resemble this one, as last indexed."""
        found: dict[tuple[str, str, str, int], Symbol] = {}
        for triple in first(fingerprint.sketch, NEIGHBOURS):
            query = f"{SELECT} JOIN triples t ON t.symbol = s.id WHERE t.triple = ? LIMIT ?"
            rows = self._rows(query, triple, limit)
            found.update((symbol.key, symbol) for symbol in map(symbol_of, rows))
        return list(found.values())

    def paths(self) -> list[str]:
        """Every file indexed."""
        return [path for (path,) in self._rows("SELECT path FROM files ORDER BY path")]

    def paths_in(self, folder: str) -> list[str]:
        """Every file indexed below a folder."""
        inside = folder.strip("/") + "/"
        return [path for path in self.paths() if path.startswith(inside)]

    def size(self) -> tuple[int, int]:
        """How many files and how many symbols in them are known."""
        ((files, symbols),) = self._rows(
            "SELECT (SELECT count(*) FROM files), (SELECT count(*) FROM symbols WHERE kind != 'file')"
        )
        return files, symbols

    def files_called(self, name: str, limit: int = 20) -> list[str]:
        """Files of this name in any folder, as last indexed."""
        query = "SELECT path FROM files WHERE stem = ? LIMIT 1000"
        near = [path for (path,) in self._rows(query, imports.module(name)[-1])]
        return [path for path in near if path == name or path.endswith(f"/{name}")][:limit]

    @property
    def is_built(self) -> bool:
        """Whether the whole tree was ever indexed, so that names can be looked up."""
        return self.fact("refreshed") != ""

    @property
    def generation(self) -> str:
        """Another one after every change seen in the tree."""
        return self.fact("generation")

    def fact(self, name: str) -> str:
        """A remark kept with the index, such as the commit last looked at; empty without one."""
        return next((value for (value,) in self._rows("SELECT value FROM facts WHERE name = ?", name)), "")

    def note(self, name: str, value: str) -> None:
        """Keep a remark with the index."""
        self._rows("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value)

    def mended(self, work: Callable[[], _T]) -> _T:
        """Do the work; if the database turns out damaged, do it again with a new one."""
        try:
            try:
                return work()
            except database.DAMAGE:
                self.db.close()
                database.remove(self.path)
                self.db = database.connect(self.path)
                return work()
        except apsw.BusyError:
            raise StoreBusy("another process is indexing this tree; try again in a moment") from None
        except apsw.Error as error:
            raise Unavailable(f"the index of this tree cannot be used: {error}") from error

    def _rows(self, query: str, *values: str | int) -> list[Any]:
        return self.mended(lambda: list(select(self.db, query, *values)))

    def _take(self, paths: Sequence[str], progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Read files and store what is new in them."""
        changed: set[str] = set()
        appeared: set[str] = set()
        for start in range(0, len(paths), BATCH):
            batch = list(dict.fromkeys(paths[start : start + BATCH]))
            before = self._stored(batch)
            seen, untouched = self._look(batch, before)
            before = [symbol for symbol in before if symbol.path not in untouched]
            known = {symbol.path for symbol in before}
            with writing(self.db):
                for path, (stamp, moment) in untouched.items():
                    self._put_stamp(path, stamp, moment)
                self._replace(before, seen)
            changed |= known | seen.keys()
            appeared |= known ^ seen.keys()
            progress(min(start + BATCH, len(paths)), len(paths))
        if changed:
            with writing(self.db):
                imports.link(self.db, changed, appeared)
                self.note("generation", str(time.time_ns()))
        return len(changed)

    def _look(
        self, paths: Iterable[str], before: Sequence[Symbol]
    ) -> tuple[dict[str, _Seen], dict[str, tuple[Stamp, int]]]:
        """What differs from before, and what was only touched."""
        known: dict[str, list[Fingerprint]] = {}
        for symbol in before:
            known.setdefault(symbol.path, []).append(symbol.fingerprint)
        broken = {symbol.path for symbol in before if symbol.kind == FILE and symbol.signature == BROKEN}
        seen, untouched = {}, {}
        for path in paths:
            moment = time.time_ns()
            content = tree.read(self.root, path)
            if content is None:
                continue
            stamp, source = content
            prints = known.get(path, ())
            if prints and prints[0].raw == digest(source):
                untouched[path] = (stamp, moment)
            else:
                usable = () if path in broken else prints
                seen[path] = _Seen(stamp, moment, outline(path, source, usable))
        return seen, untouched

    def _replace(self, before: Sequence[Symbol], seen: dict[str, _Seen]) -> None:
        """Store files in place of what was known, each symbol under the id of the one it used to be."""
        ids = self._forget({symbol.path for symbol in before})
        inherited = {}
        if before:
            after = [symbol for one in seen.values() for symbol in one.outline.symbols]
            for old, new in match(before, after):
                if new is not None:
                    inherited[id(new)] = ids[old.path, old.qualified, old.kind, old.ordinal]
                    if new.kind == FILE and new.path != old.path and old.path not in seen:
                        self.db.execute("UPDATE files SET path = ? WHERE path = ?", (new.path, old.path))
        gone = [(symbol.path,) for symbol in before if symbol.kind == FILE and symbol.path not in seen]
        self.db.executemany("DELETE FROM uses WHERE target = (SELECT id FROM files WHERE path = ?)", gone)
        self.db.executemany("DELETE FROM together WHERE file = (SELECT id FROM files WHERE path = ?)", gone)
        self.db.executemany("DELETE FROM together WHERE other = (SELECT id FROM files WHERE path = ?)", gone)
        self.db.executemany("DELETE FROM files WHERE path = ?", gone)
        ((last,),) = select(self.db, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'symbols'")
        unused = count(last + 1)
        for path, (stamp, moment, found) in seen.items():
            own = [inherited.get(id(symbol)) or next(unused) for symbol in found.symbols]
            self._put_outline(self._put_stamp(path, stamp, moment), found, own)

    def _forget(self, paths: Collection[str]) -> dict[tuple[str, str, str, int], int]:
        """Delete the symbols of files; their ids by place."""
        ids = {}
        for path in paths:
            ((file,),) = select(self.db, "SELECT id FROM files WHERE path = ?", path)
            query = "SELECT id, qualified, kind, ordinal, fingerprint FROM symbols WHERE file = ?"
            rows = list(select(self.db, query, file))
            triples = []
            for symbol, qualified, kind, ordinal, fingerprint in rows:
                ids[path, qualified, kind, ordinal] = symbol
                triples += [(key, symbol) for key in _keys(Fingerprint.parse(fingerprint))]
            self.db.executemany("DELETE FROM triples WHERE triple = ? AND symbol = ?", triples)
            self.db.executemany("DELETE FROM mentions WHERE symbol = ?", [(row[0],) for row in rows])
            self.db.execute("DELETE FROM symbols WHERE file = ?", (file,))
            self.db.execute("DELETE FROM imports WHERE file = ?", (file,))
            self.db.execute("DELETE FROM uses WHERE file = ?", (file,))
        return ids

    def _put_stamp(self, path: str, stamp: Stamp, moment: int) -> int:
        ((file,),) = select(
            self.db,
            "INSERT INTO files (path, stem, size, mtime_ns, inode, seen_ns) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO UPDATE SET stem = excluded.stem, size = excluded.size, inode = excluded.inode,"
            " mtime_ns = excluded.mtime_ns, seen_ns = excluded.seen_ns RETURNING id",
            path,
            imports.module(path)[-1],
            *stamp,
            moment,
        )
        return int(file)

    def _put_outline(self, file: int, found: Outline, ids: Sequence[int]) -> None:
        rows = [(own, file, *_row(symbol)) for own, symbol in zip(ids, found.symbols, strict=True)]
        self.db.executemany("INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        triples = [(key, ids[at]) for at, symbol in enumerate(found.symbols) for key in _keys(symbol.fingerprint)]
        mentioned = [reference for reference in found.references if reference.kind in _MENTIONS]
        names = {(reference.name,) for reference in mentioned}
        modules = {(file, reference.name) for reference in found.references if reference.kind == "import"}
        self.db.executemany("INSERT OR IGNORE INTO triples VALUES (?, ?)", triples)
        self.db.executemany("INSERT OR IGNORE INTO names (text) VALUES (?)", names)
        self.db.executemany(
            "INSERT OR IGNORE INTO mentions SELECT id, ?, ? FROM names WHERE text = ?",
            [(ids[owner], _MENTIONS[kind], name) for owner, kind, name in mentioned],
        )
        self.db.executemany("INSERT INTO imports VALUES (?, ?, 0)", modules)

    def _stored(self, paths: Iterable[str]) -> list[Symbol]:
        query = f"{SELECT} WHERE f.path = ? ORDER BY s.line, s.end_line DESC, s.id"
        found = []
        for path in paths:
            symbols = [symbol_of(row) for row in select(self.db, query, path)]
            found += sorted(symbols, key=lambda symbol: symbol.kind != FILE)
        return found

    def _learn_history(self) -> None:
        """Count what is edited together, in commits made since the last look."""
        now, last = git.head(self.root), self.fact("history")
        if now == last:
            return
        try:
            commits = list(git.commits(self.root, after=last, limit=HISTORY))
        except Unavailable:  # a rewrite took the last commit away
            last, commits = "", list(git.commits(self.root, limit=HISTORY))
        ids = dict(select(self.db, "SELECT path, id FROM files"))
        with writing(self.db):
            if not last:
                self.db.execute("DELETE FROM together")
            # Weights grow instead of fading: only how they compare is ever asked.
            known = int(self.fact("commits") or 0) if last else 0
            for place, commit in enumerate(reversed(commits), start=known):
                files = sorted({ids[path] for path in commit.files if path in ids})
                if 2 <= len(commit.files) <= TOGETHER:
                    weight = 2 ** (place / HALF_LIFE) / (len(commit.files) - 1)
                    self.db.executemany(
                        "INSERT INTO together VALUES (?, ?, ?)"
                        " ON CONFLICT DO UPDATE SET weight = weight + excluded.weight",
                        [(one, two, weight) for one, two in combinations(files, 2)],
                    )
            self.note("commits", str(known + len(commits)))
            self.note("history", now)


SELECT = (
    "SELECT f.path, s.kind, s.name, s.qualified, s.ordinal, s.line, s.end_line, s.signature, s.before,"
    " s.after, s.fingerprint FROM symbols s JOIN files f ON f.id = s.file"
)
"""The head of every query for symbols."""


def _row(symbol: Symbol) -> tuple[str | int, ...]:
    return (*(getattr(symbol, name) for name in SEEN[1:]), str(symbol.fingerprint))


def symbol_of(row: tuple[Any, ...]) -> Symbol:
    """The symbol a row of `SELECT` holds."""
    return Symbol(**dict(zip(SEEN, row[:-1], strict=True)), fingerprint=Fingerprint.parse(row[-1]))


@contextmanager
def _without_collection() -> Iterator[None]:
    """Symbols hold no cycles; looking for some in a growing heap takes a fifteenth of a full index."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _keys(fingerprint: Fingerprint) -> list[int]:
    return first(fingerprint.sketch, NEIGHBOURS) if fingerprint.tokens >= MIN_TOKENS else []


def _is_current(seen: Stamp, row: Sequence[int] | None) -> bool:
    return row is not None and tuple(row[:3]) == seen and seen.mtime_ns + _RACE_NS < row[3]
