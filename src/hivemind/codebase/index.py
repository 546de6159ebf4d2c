"""What is known about a working tree, kept warm in a database that may be deleted at any time.

Nothing in it is the only copy: a file whose stamp differs is read again, a damaged database is made anew.
Calls and inheritance are kept as names and resolved when asked, so a saved file changes only its own rows.
"""

import gc
import math
import os
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
from hivemind.codebase.addresses import fold
from hivemind.codebase.database import select, writing
from hivemind.codebase.fingerprint import digest, first, merge, pack, unpack
from hivemind.codebase.grammar import language_of
from hivemind.codebase.matching import match
from hivemind.codebase.symbols import Outline, outline
from hivemind.codebase.tree import Stamp
from hivemind.errors import StoreBusy, Unavailable
from hivemind.model.code import BROKEN, FILE, FOLDER, SEEN, Fingerprint, Symbol

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

MOST_IN_FOLDER = 500
"""Files that stand for a folder with more."""

LAST_LOOK = "last look"
_RACE_NS = 50_000_000  # a file written just before we looked may be written again under the same stamp
_P = ParamSpec("_P")
_T = TypeVar("_T")


class _Seen(NamedTuple):
    stamp: Stamp
    moment: int
    outline: Outline | None
    """None of a file that was only touched."""


def mended(work: "Callable[Concatenate[Index, _P], _T]") -> "Callable[Concatenate[Index, _P], _T]":
    """Let the work be done again with a new database, if the one there turns out damaged."""

    @wraps(work)
    def done(index: "Index", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            try:
                return work(index, *args, **kwargs)
            except database.DAMAGE:
                index.db.close()
                database.remove(index.path)
                index.db = database.connect(index.path)
                return work(index, *args, **kwargs)
        except apsw.BusyError:
            raise StoreBusy("another process is indexing this tree; try again in a moment") from None
        except apsw.Error as error:
            raise Unavailable(f"the index of this tree cannot be used: {error}") from error

    return done


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

    @mended
    def refresh(self, progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Bring the index up to date with the whole tree; the number of files that had changed."""
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

    @mended
    def update(self, paths: Sequence[str]) -> int:
        """Look at these files again, changed, new or gone; the number that differ from what was known."""
        return self._take([path for path in paths if tree.is_text(path)])

    @mended
    def symbols_of(self, path: str) -> list[Symbol]:
        """The symbols of a file as it is now, the file itself first; nothing if there is no such file."""
        seen = tree.stamp(self.root, path)
        query = "SELECT size, mtime_ns, inode, seen_ns FROM files WHERE path = ?"
        row = next(select(self.db, query, path), None)
        if (seen is None and row) or (seen and not _is_current(seen, row)):
            try:
                self._take([path])
            except apsw.BusyError:  # another process is indexing: answer without storing
                content = tree.read(self.root, path)
                return list(outline(path, content[1]).symbols) if content else []
        return list(self._stored([path]).values())

    def named(self, name: str, limit: int = 50) -> list[Symbol]:
        """Symbols of this simple name, as last indexed."""
        rows = self._rows(f"{SELECT} WHERE s.name = ? AND s.kind != 'file' LIMIT ?", name, limit)
        return [symbol_of(row) for row in rows]

    def places(self, names: Iterable[str]) -> list[tuple[str, str, str]]:
        """Path, qualified name and kind of all symbols with one of these simple names, as last indexed."""
        query = "SELECT DISTINCT f.path, s.qualified, s.kind FROM symbols s JOIN files f ON f.id = s.file"
        where = "WHERE s.name = ? AND s.kind != 'file' ORDER BY f.path, s.line"
        return [row for name in names for row in self._rows(f"{query} {where}", name)]

    def paths_with(self, word: str) -> list[str]:
        """Files with this word in their path, as last indexed; of a tree not indexed yet, as they are."""
        wanted = fold(word)
        if not self.is_built:
            return [path for path in tree.files(self.root) if wanted in fold(path)]
        query = "SELECT path FROM files WHERE instr(replace(replace(lower(path), '-', ''), '_', ''), ?) ORDER BY path"
        return [path for (path,) in self._rows(query, wanted)]

    def names_like(self, name: str, limit: int = 3) -> list[str]:
        """Simple names of symbols that are spelled most like this one, as last indexed."""
        query = "SELECT DISTINCT name FROM symbols WHERE kind != 'file' AND length(name) BETWEEN ? AND ?"
        spare = max(2, len(name) // 3)
        known = [known for (known,) in self._rows(query, len(name) - spare, len(name) + spare)]
        return get_close_matches(name, known, limit)

    @mended
    def folder(self, path: str) -> Symbol | None:
        """A folder as a container of its files as they are now; nothing if it holds none."""
        if not (self.root / path).is_dir():
            return None
        inside, end = f"{path.strip('/')}/", f"{path.strip('/')}0"
        query = "SELECT path, size, mtime_ns, inode, seen_ns FROM files WHERE path >= ? AND path < ? ORDER BY path"
        known = {file: stamp for file, *stamp in select(self.db, query, inside, end)}
        listed = [*known] if self.is_built else [file for file in tree.files(self.root) if file.startswith(inside)]
        stamps = {file: tree.stamp(self.root, file) for file in listed[:MOST_IN_FOLDER]}
        self._take([file for file, seen in stamps.items() if not (seen and _is_current(seen, known.get(file)))])
        query = f"{SELECT} WHERE f.path >= ? AND f.path < ? AND s.kind = 'file' ORDER BY f.path LIMIT ?"
        members = [symbol_of(row) for row in select(self.db, query, inside, end, MOST_IN_FOLDER)]
        if not members:
            return None
        prints = [(one.path[len(inside) :], one.fingerprint) for one in members]
        fingerprint = Fingerprint(
            raw=digest("\n".join(f"{name} {seen.raw}" for name, seen in prints).encode()),
            signature="",
            body=digest(b""),
            docs="",
            members=digest("\n".join(f"{name} {seen.body}{seen.members}" for name, seen in prints).encode()),
            tokens=sum(seen.tokens for _, seen in prints),
            sketch=pack(merge(unpack(seen.sketch) for _, seen in prints)),
        )
        return Symbol(
            path=inside[:-1], kind=FOLDER, name="", qualified="", ordinal=0, line=1, end_line=1, signature="",
            before="", after="", fingerprint=fingerprint,
        )  # fmt: skip

    @mended
    def look_for(self, name: str) -> None:
        """Read the files of a tree not indexed yet in which git finds this word."""
        if not self.is_built:
            self._take([path for path in git.mentioning(self.root, name)[:IN_PASSING] if language_of(path)])

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

    @mended
    def _rows(self, query: str, *values: str | int) -> list[Any]:
        return list(select(self.db, query, *values))

    def _take(self, paths: Sequence[str], progress: Callable[[int, int], None] = lambda done, total: None) -> int:
        """Read files and store what is new in them."""
        changed: set[str] = set()
        appeared: set[str] = set()
        for start in range(0, len(paths), BATCH):
            batch = list(dict.fromkeys(paths[start : start + BATCH]))
            before = self._stored(batch)
            seen = self._look(batch, before.values())
            with writing(self.db):
                known, found = self._replace(before, seen)
            changed |= known | found
            appeared |= known ^ found
            progress(min(start + BATCH, len(paths)), len(paths))
        if changed:
            with writing(self.db):
                imports.link(self.db, changed, appeared)
                self.note("generation", str(time.time_ns()))
        return len(changed)

    def _look(self, paths: Iterable[str], before: Iterable[Symbol]) -> dict[str, _Seen]:
        """The files that are there, with what differs from before."""
        known: dict[str, list[Symbol]] = {}
        for symbol in before:
            known.setdefault(symbol.path, []).append(symbol)
        seen = {}
        for path in paths:
            moment = time.time_ns()
            if content := tree.read(self.root, path):
                stamp, source = content
                was = known.get(path, [])
                is_same = bool(was) and was[0].fingerprint.raw == digest(source)
                prints = [symbol.fingerprint for symbol in was] if was and was[0].signature != BROKEN else ()
                seen[path] = _Seen(stamp, moment, None if is_same else outline(path, source, prints))
        return seen

    def _replace(self, before: Mapping[int, Symbol], seen: Mapping[str, _Seen]) -> tuple[set[str], set[str]]:
        """Store files in place of what was known, each symbol under the id of the one it used to be.

        Back come the files that are no longer as they were known, and those found instead.
        """
        outlines = {path: one.outline for path, one in seen.items() if one.outline}
        old = {own: symbol for own, symbol in before.items() if symbol.path in outlines or symbol.path not in seen}
        known = {symbol.path for symbol in old.values()}
        self._forget(old, known)
        owned = {id(symbol): own for own, symbol in old.items()}
        inherited = {}
        new = [symbol for one in outlines.values() for symbol in one.symbols] if old else []
        for was, now in match([*old.values()], new):
            if now is not None:
                inherited[id(now)] = owned[id(was)]
                if now.kind == FILE and was.path not in seen:
                    self.db.execute("UPDATE files SET path = ? WHERE path = ?", (now.path, was.path))
        self.db.executemany("DELETE FROM files WHERE path = ?", [(path,) for path in known - seen.keys()])
        ((last,),) = select(self.db, "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'symbols'")
        unused = count(last + 1)
        files = {path: self._put_stamp(path, one.stamp, one.moment) for path, one in seen.items()}
        self._put(
            (files[path], found, [inherited.get(id(symbol)) or next(unused) for symbol in found.symbols])
            for path, found in outlines.items()
        )
        return known, {*outlines}

    def _forget(self, symbols: Mapping[int, Symbol], paths: Iterable[str]) -> None:
        triples = [(key, own) for own, symbol in symbols.items() for key in _keys(symbol)]
        self.db.executemany("DELETE FROM triples WHERE triple = ? AND symbol = ?", triples)
        self.db.executemany("DELETE FROM symbols WHERE id = ?", [(own,) for own in symbols])
        files = [row for path in paths for row in select(self.db, "SELECT id FROM files WHERE path = ?", path)]
        # Another process may have stored them anew since they were read.
        self.db.executemany("DELETE FROM symbols WHERE file = ?", files)
        self.db.executemany("DELETE FROM imports WHERE file = ?", files)
        self.db.executemany("DELETE FROM uses WHERE file = ?", files)

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

    def _put(self, outlines: Iterable[tuple[int, Outline, Sequence[int]]]) -> None:
        """Store outlines of files, under the ids of these and of their symbols."""
        symbols, triples, mentions, modules = [], [], [], []
        for file, found, ids in outlines:
            named = list(zip(ids, found.symbols, strict=True))
            symbols += [(own, file, *_row(one), str(one.fingerprint)) for own, one in named]
            triples += [(key, own) for own, one in named for key in _keys(one)]
            mentions += [(ids[owner], name) for owner, kind, name in found.references if kind != "import"]
            modules += [(file, name) for _, kind, name in found.references if kind == "import"]
        self.db.executemany("INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", symbols)
        self.db.executemany("INSERT OR IGNORE INTO triples VALUES (?, ?)", triples)
        self.db.executemany("INSERT OR IGNORE INTO names (text) VALUES (?)", {(name,) for _, name in mentions})
        self.db.executemany("INSERT OR IGNORE INTO mentions SELECT id, ? FROM names WHERE text = ?", mentions)
        self.db.executemany("INSERT OR IGNORE INTO imports VALUES (?, ?)", modules)

    def _stored(self, paths: Iterable[str]) -> dict[int, Symbol]:
        """The symbols of files as last indexed, each file before what is in it, by their ids."""
        query = f"{SELECT} WHERE f.path = ? ORDER BY s.kind != 'file', s.line, s.end_line DESC, s.id"
        return {row[-1]: symbol_of(row) for path in paths for row in select(self.db, query, path)}

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
    " s.after, s.fingerprint, s.id FROM symbols s JOIN files f ON f.id = s.file"
)
"""The head of every query for symbols."""

_row = attrgetter(*SEEN[1:])


def symbol_of(row: tuple[Any, ...]) -> Symbol:
    """The symbol a row of `SELECT` holds."""
    return Symbol(**dict(zip(SEEN, row[:-2], strict=True)), fingerprint=Fingerprint.parse(row[-2]))


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


def _keys(symbol: Symbol) -> list[int]:
    seen = symbol.fingerprint
    return first(seen.sketch, NEIGHBOURS) if seen.tokens >= MIN_TOKENS else []


def _is_current(seen: Stamp, row: Sequence[int] | None) -> bool:
    return row is not None and tuple(row[:3]) == seen and seen.mtime_ns + _RACE_NS < row[3]
