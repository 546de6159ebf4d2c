"""The SQLite file of a code index: its schema, how to open and replace it, and how to store what was read from files.

Every transaction leaves the index consistent, so a process may be killed at any time, and several may write at once.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import apsw

from hivemind.code import cache_database, git
from hivemind.code.cache_database import get_fact, set_fact, transaction
from hivemind.code.code_names import normalise_word
from hivemind.code.index_reading import ContentRows, FileRows, Request
from hivemind.model.code import Fingerprint

VERSION = 9
"""Part of the file's name; raise it with every change of the schema or of what is stored."""

MAX_COMMIT_FILES = 40
"""Larger commits are ignored: they say nothing about any two of their files."""

HALF_LIFE_COMMITS = 1500
"""Number of commits after which an older commit counts half."""

_SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE,
    stem TEXT NOT NULL, -- its name without suffixes, folded
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
    seen_ns INTEGER NOT NULL -- when the file was read
) STRICT;
CREATE INDEX files_by_stem ON files (stem);
CREATE INDEX files_by_time ON files (mtime_ns);
CREATE TABLE symbols (
    id INTEGER PRIMARY KEY,
    file INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, qualified TEXT NOT NULL,
    ordinal INTEGER NOT NULL, line INTEGER NOT NULL, end_line INTEGER NOT NULL, signature TEXT NOT NULL,
    before TEXT NOT NULL, after TEXT NOT NULL, fingerprint TEXT NOT NULL
) STRICT;
CREATE INDEX symbols_by_file ON symbols (file);
CREATE INDEX symbols_by_name ON symbols (name);
CREATE TABLE names (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE mentions ( -- a symbol calls or inherits something of this name
    name INTEGER, symbol INTEGER,
    qualifier TEXT, -- the word before its dot; empty for a plain name
    PRIMARY KEY (name, symbol, qualifier)
) STRICT, WITHOUT ROWID;
CREATE INDEX mentions_by_symbol ON mentions (symbol);
CREATE TABLE imports ( -- the words of what a file imports, folded
    word TEXT, file INTEGER, PRIMARY KEY (word, file)
) STRICT, WITHOUT ROWID;
CREATE INDEX imports_by_file ON imports (file);
CREATE TABLE together ( -- files changed by the same commits; each pair is stored once
    file INTEGER, other INTEGER, weight REAL NOT NULL, PRIMARY KEY (file, other)
) STRICT, WITHOUT ROWID;
CREATE INDEX together_by_other ON together (other);
CREATE TRIGGER symbol_gone AFTER DELETE ON symbols BEGIN DELETE FROM mentions WHERE symbol = old.id; END;
CREATE TRIGGER file_gone AFTER DELETE ON files BEGIN
    DELETE FROM together WHERE file = old.id OR other = old.id;
END;
CREATE TABLE kept_code ( -- of anchors, as it was when the link was made
    id INTEGER PRIMARY KEY, raw TEXT NOT NULL UNIQUE, code TEXT NOT NULL
) STRICT;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""


def connect(path: Path, busy_timeout_ms: int) -> apsw.Connection:
    """Open the database; create it anew if it is missing or damaged."""
    return cache_database.connect(path, _SCHEMA, VERSION, busy_timeout_ms)


def select(db: apsw.Connection, query: str, *values: str | int) -> Iterator[Any]:
    """Run a query and iterate over its rows; the caller knows their types."""
    return iter(db.execute(query, values))


def make_requests(db: apsw.Connection, paths: Iterable[str]) -> list[Request]:
    """What to ask for these files, with the digests of their contents as last indexed."""
    query = "SELECT s.fingerprint FROM symbols s JOIN files f ON f.id = s.file WHERE f.path = ? AND s.kind = 'file'"
    return [
        Request(path, next((Fingerprint.parse(text).raw for (text,) in select(db, query, path)), ""))
        for path in dict.fromkeys(paths)
    ]


def store_files(db: apsw.Connection, files: Sequence[FileRows]) -> int:
    """Store files in one transaction and return how many of them differ from what was stored."""
    with transaction(db):
        changed = sum(_store_file(db, file) for file in files)
        if changed:
            set_fact(db, "generation", str(time.time_ns()))
    return changed


def _store_file(db: apsw.Connection, file: FileRows) -> bool:
    """Store what was read from a file, and return whether it differs from what was stored."""
    query = "SELECT id, seen_ns FROM files WHERE path = ?"
    file_id, seen_ns = next(select(db, query, file.path), (0, 0))
    # Another process may have read it later than this one and stored it already; a time to come is a wrong clock.
    if file.read_ns < seen_ns < time.time_ns():
        return False
    if file.stamp is None:
        if file_id:
            _delete_content(db, file_id)
            db.execute("DELETE FROM files WHERE id = ?", (file_id,))
        return bool(file_id)
    new_id = _store_stamp(db, file.path, file.stamp, file.read_ns)
    if file.content is None:
        return False
    if file_id:
        _delete_content(db, file_id)
    _store_content(db, new_id, file.content)
    return True


def _delete_content(db: apsw.Connection, file: int) -> None:
    db.execute("DELETE FROM symbols WHERE file = ?", (file,))
    db.execute("DELETE FROM imports WHERE file = ?", (file,))


def _store_stamp(db: apsw.Connection, path: str, stamp: tuple[int, int, int], read_ns: int) -> int:
    ((file,),) = select(
        db,
        "INSERT INTO files (path, stem, size, mtime_ns, inode, seen_ns) VALUES (?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET stem = excluded.stem, size = excluded.size, inode = excluded.inode,"
        " mtime_ns = excluded.mtime_ns, seen_ns = excluded.seen_ns RETURNING id",
        path,
        normalise_word(path.rpartition("/")[2].partition(".")[0]),
        *stamp,
        read_ns,
    )
    return int(file)


def _store_content(db: apsw.Connection, file: int, content: ContentRows) -> None:
    ((last_id,),) = select(db, "SELECT coalesce(max(id), 0) FROM symbols")
    first_id = last_id + 1
    symbols = [(first_id + position, file, *columns) for position, columns in enumerate(content.symbols)]
    db.executemany("INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", symbols)
    names = {name for _, name, _ in content.mentions}
    db.executemany("INSERT OR IGNORE INTO names (text) VALUES (?)", [(name,) for name in names])
    mentions = [(first_id + owner, qualifier, name) for owner, name, qualifier in content.mentions]
    db.executemany("INSERT OR IGNORE INTO mentions SELECT id, ?, ? FROM names WHERE text = ?", mentions)
    db.executemany("INSERT OR IGNORE INTO imports VALUES (?, ?)", [(word, file) for word in content.imports])


def count_common_commits(db: apsw.Connection, commits: Sequence[git.Commit], head: str, *, is_continued: bool) -> None:
    """Count which files are edited together, in commits since the last count or in all."""
    ids = dict(select(db, "SELECT path, id FROM files"))
    with transaction(db):
        if not is_continued:
            db.execute("DELETE FROM together")
        # New commits weigh more instead of old ones less, so stored rows need no update: only ratios matter.
        commit_count = int(get_fact(db, "commits") or 0) if is_continued else 0
        for position, commit in enumerate(reversed(commits), start=commit_count):
            db.executemany(
                "INSERT INTO together VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET weight = weight + excluded.weight",
                _weigh_pairs(commit, position, ids),
            )
        set_fact(db, "commits", str(commit_count + len(commits)))
        set_fact(db, "history", head)


def _weigh_pairs(commit: git.Commit, position: int, ids: dict[str, int]) -> Iterator[tuple[int, int, float]]:
    # A commit of one file relates it to nothing, and a commit of the whole tree relates all to all.
    if 2 <= len(commit.files) <= MAX_COMMIT_FILES:
        weight = 2 ** (position / HALF_LIFE_COMMITS) / (len(commit.files) - 1)
        files = sorted({ids[path] for path in commit.files if path in ids})
        yield from ((first, second, weight) for first, second in combinations(files, 2))
