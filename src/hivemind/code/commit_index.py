"""The commits of a repository that give a reason, in a database that may be deleted at any time.

It is a cache of what git has, and lies beside the code index. It has a file of its own, so that a hook can read it
without loading the parsers. Texts of an erased memory are removed from it, and do not come back.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Self

import apsw

from hivemind.code import cache_database, git
from hivemind.code.cache_database import get_fact, set_fact, transaction
from hivemind.context import Context, Progress, quietly
from hivemind.errors import Unavailable
from hivemind.lazy import LazyModule
from hivemind.model.code import CommitReport
from hivemind.model.codec import from_row
from hivemind.model.dataclass import dataclass
from hivemind.model.ids import Timestamp, derive_id
from hivemind.model.timestamps import format_timestamp
from hivemind.store.database import Closeable

if TYPE_CHECKING:
    from hivemind.text import commit_messages
else:
    # Hooks read what others stored, and compiling its patterns takes 6 ms.
    commit_messages = LazyModule("text.commit_messages")

VERSION = 1
"""Part of the file's name; raise it with every change of the schema or of what is stored."""
PREFIX = "commits-"
MOST_COMMITS = 5000
"""Newest commits that are read and kept."""
COMMITS_PER_STEP = 300
"""Commits per transaction; nobody else can write in that time."""
MOST_FILES = 12
"""A commit of more files is a sweeping change, and its reason is about no line in particular."""
BUSY_TIMEOUT_MS = 2_000
BESIDE_CODE = re.compile(
    r"(?:\A|[/_.-])(?:tests?|testdata|specs?|docs?|changelog|changes)(?:[/_.-]|\Z)|lock\b"
    r"|\.(?:md|rst|txt|adoc|ipynb|snap|svg)\Z",
    re.IGNORECASE,
)
"""Tests, documentation and generated files: the reason of a commit is about the code that changed with them."""
LAST_COMMIT = "last commit"
SCHEMA = """
CREATE TABLE commits (
    key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, at TEXT NOT NULL, author TEXT NOT NULL, subject TEXT NOT NULL,
    reason TEXT NOT NULL
) STRICT;
CREATE TABLE commit_files ( -- the code it changed
    path TEXT, commit_key INTEGER, PRIMARY KEY (path, commit_key)
) STRICT, WITHOUT ROWID;
CREATE INDEX files_by_commit ON commit_files (commit_key);
CREATE VIRTUAL TABLE commit_words USING fts5 ( -- the row id is the key of the commit
    subject, reason, files, content = '', contentless_delete = 1, tokenize = 'porter unicode61'
);
CREATE TRIGGER commit_gone AFTER DELETE ON commits BEGIN
    DELETE FROM commit_files WHERE commit_key = old.key;
    DELETE FROM commit_words WHERE rowid = old.key;
END;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
"""
SELECT = "SELECT c.id, c.at, c.author, c.subject, c.reason FROM commits c"

Clean = Callable[[str], str]
"""Returns a text without secrets and without what was erased; empty if it may not be stored at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonedCommit:
    """A commit whose message says why."""

    id: str
    at: Timestamp
    author: str
    subject: str
    reason: str

    @property
    def text(self) -> str:
        """What it says: what was changed, and why."""
        return self.reason if self.subject in self.reason else f"{self.subject}. {self.reason}"


class CommitIndex(Closeable):
    """The open index of one working tree's commits."""

    def __init__(self, root: Path, db: apsw.Connection) -> None:
        self._root = root
        self._db = db

    @classmethod
    def open(cls, root: Path, cache: Path) -> Self:
        """Open the index of the tree at root, in the folder `cache`; create it if there is none or it is damaged."""
        path = _locate(root, cache)
        try:
            cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            return cls(root, _connect(path))
        except (OSError, apsw.Error) as error:
            raise Unavailable(f"cannot open the index of commits {path}: {error}; check its permissions") from error

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def update(self, clean: Clean, *, since: str = "", progress: Progress = quietly) -> CommitReport:
        """Add the commits since the last update, or all of them since a date, and return how many were read."""
        try:
            head, last_head = git.read_head(self._root), "" if since else get_fact(self._db, LAST_COMMIT)
            is_current = head == last_head and head != ""
            history = [] if is_current else self._read_history(since, last_head)
            reasons = self._store_all(history, clean, progress)
            if not since:
                set_fact(self._db, LAST_COMMIT, head)
        except apsw.Error as error:
            remedy = f"delete {self._db.filename} to rebuild it"
            raise Unavailable(f"the index of commits cannot be used: {error}; {remedy}") from error
        return CommitReport(commits=len(history), reasons=reasons)

    def get(self, commit_ids: Iterable[str]) -> list[ReasonedCommit]:
        """Return the commits with these ids that give a reason, in their order."""
        return [commit for name in commit_ids for commit in self._select(f"{SELECT} WHERE c.id = ?", name)]

    def find_by_path(self, path: str) -> list[ReasonedCommit]:
        """Return the commits that changed a file and say why."""
        return self._select(f"{SELECT} JOIN commit_files f ON f.commit_key = c.key WHERE f.path = ?", path)

    def search(self, words: Sequence[str], limit: int) -> list[ReasonedCommit]:
        """Return the commits that share words with a question, best first."""
        # Words have letters and digits only, so the quotes cannot be closed.
        expression = " OR ".join(f'"{word}"' for word in words)
        sql = f"{SELECT} JOIN commit_words w ON w.rowid = c.key WHERE commit_words MATCH ? ORDER BY rank LIMIT ?"
        return self._select(sql, expression, limit) if words else []

    def list_paths(self, limit: int) -> list[str]:
        """List the files that commits with a reason changed, of the newest commits first."""
        sql = (
            "SELECT f.path FROM commit_files f JOIN commits c ON c.key = f.commit_key GROUP BY f.path"
            " ORDER BY max(c.at) DESC LIMIT ?"
        )
        return [path for (path,) in self._db.execute(sql, (limit,))]

    def _select(self, sql: str, *values: str | int) -> list[ReasonedCommit]:
        return [from_row(ReasonedCommit, row) for row in self._db.execute(sql, values)]

    def _read_history(self, since: str, after: str) -> list[git.Commit]:
        try:
            return list(git.read_commits(self._root, after=after, since=since, limit=MOST_COMMITS))
        except Unavailable:
            if not after:
                raise
        # The last commit is gone: history was rewritten, so all of it is read again.
        self._db.execute("DELETE FROM commits")
        return self._read_history(since, "")

    def _store_all(self, history: Sequence[git.Commit], clean: Clean, progress: Progress) -> int:
        reasons = 0
        for start in range(0, len(history), COMMITS_PER_STEP):
            step = history[start : start + COMMITS_PER_STEP]
            with transaction(self._db):
                reasons += sum(self._store(commit, clean) for commit in step)
            progress(start + len(step), len(history))
        sql = "DELETE FROM commits WHERE key IN (SELECT key FROM commits ORDER BY at DESC LIMIT -1 OFFSET ?)"
        self._db.execute(sql, (MOST_COMMITS,))
        return reasons

    def _store(self, commit: git.Commit, clean: Clean) -> bool:
        """Store a commit if it gives a reason, and return whether it does."""
        reason = clean(find_commit_reason(commit))
        subject = clean(commit_messages.clean_subject(commit.message)) if reason else ""
        at = _parse_time(commit.at)
        if not (subject and at):
            return False
        sql = "INSERT INTO commits VALUES (NULL, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING key"
        rows = list(self._db.execute(sql, (commit.id, at, clean(commit.author), subject, reason)))
        for (key,) in rows:
            files = [(path, key) for path in commit.files if not BESIDE_CODE.search(path)]
            self._db.executemany("INSERT OR IGNORE INTO commit_files VALUES (?, ?)", files)
            words = (key, subject, reason, " ".join(commit.files))
            self._db.execute("INSERT INTO commit_words (rowid, subject, reason, files) VALUES (?, ?, ?, ?)", words)
        return True


def index_commits(
    context: Context, *, since: str = "", dry_run: bool = False, progress: Progress = quietly
) -> CommitReport:
    """Index the commits of the context's tree: new ones, or all since a date; what was erased stays out."""
    begin = context.parse_past(since)
    if dry_run:
        history = list(git.read_commits(context.checkout.root, since=begin, limit=MOST_COMMITS))
        return CommitReport(commits=len(history), reasons=sum(bool(find_commit_reason(commit)) for commit in history))
    gate, redact = context.store.load_gate(), context.factory.redact

    def clean(text: str) -> str:
        text = gate.text_filter.replace_erased_texts(redact(text))
        return "" if gate.find_text_refusal(text, context.repository.id) else text

    with context.checkout.open_commits() as commits:
        report = commits.update(clean, since=begin, progress=progress)
    if report.reasons:
        # They name files, at which hooks then have to look.
        context.store.discard_cues()
    return report


@contextmanager
def open_for_reading(root: Path, cache: Path) -> Iterator[CommitIndex | None]:
    """Open the index of a tree's commits if there is one; None if there is none, or it cannot be read."""
    path, index = _locate(root, cache), None
    with suppress(apsw.Error):
        index = CommitIndex(root, _connect(path)) if path.exists() else None
    try:
        with suppress(apsw.Error):
            yield index
    finally:
        if index:
            index.close()


def find_commit_reason(commit: git.Commit) -> str:
    """Return why a commit was made; empty if it does not say, or is a sweeping change."""
    return commit_messages.find_reason(commit.message, commit.author) if 0 < len(commit.files) <= MOST_FILES else ""


def remove_commits(cache: Path, is_named: Callable[[str], object]) -> int:
    """Delete the commits of all trees whose texts match, overwrite them, and return how many there were."""
    return cache_database.sweep(cache, f"{PREFIX}*.db", lambda path: _remove_from(path, is_named))


def _remove_from(path: Path, is_named: Callable[[str], object]) -> int:
    with closing(_connect(path)) as db:
        rows = list(db.execute("SELECT key, author || '\n' || subject || '\n' || reason FROM commits"))
        keys = [(key,) for key, text in rows if is_named(text)]
        if keys:
            with transaction(db):
                db.executemany("DELETE FROM commits WHERE key = ?", keys)
                # Words of deleted rows stay in the index until its parts are merged.
                db.execute("INSERT INTO commit_words (commit_words) VALUES ('optimize')")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return len(keys)


def _locate(root: Path, cache: Path) -> Path:
    # Links to one tree share its index.
    return cache / f"{PREFIX}{derive_id(os.path.realpath(root))[:16]}-{VERSION}.db"


def _connect(path: Path) -> apsw.Connection:
    db = cache_database.connect(path, SCHEMA, VERSION, BUSY_TIMEOUT_MS)
    db.execute("PRAGMA secure_delete = ON")
    return db


def _parse_time(text: str) -> Timestamp:
    """Return a commit's time; empty for one that no calendar has, because whoever commits can write any."""
    try:
        return format_timestamp(datetime.fromisoformat(text))
    except (ValueError, OverflowError):
        return ""
