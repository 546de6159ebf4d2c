"""Residue: removes quotations of erased texts from files beside the store, and finds files that still contain one."""

import mmap
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from hivemind.code.cache_database import remove_kept_code
from hivemind.code.commit_index import remove_commits
from hivemind.erase.quotation import Quotation
from hivemind.errors import StoreBusy
from hivemind.model.erasure import ErasedLocation
from hivemind.paths import ERASURE_PLANS, spool_lock
from hivemind.store import log
from hivemind.store.disk_space import FILE as BALLAST
from hivemind.store.repair import BACKUP_FOLDER
from hivemind.store.store import FILE, Store
from hivemind.system import FileLock, replace_file
from hivemind.text import cues

SPOOL_FILES, QUARANTINE_FOLDER = "spool*", "quarantine"
"""What hooks leave: the spool with a line per event, and the folder with a file per unreadable one."""
LAST_ERROR = "last-error.txt"
LARGEST_TEXT = 8 * 1024 * 1024
"""Bytes; a larger file is searched for raw pieces, not read as text."""
SQLITE_HEADER = b"SQLite format 3\0"
UNESCAPED_RUN = re.compile(r'[^\x00-\x1f"\\]+')
LOCK_SECONDS = 10
"""Hooks hold the lock for milliseconds, unless they were stopped."""
PIECE_LENGTH, SHORTEST_PIECE, PIECES_PER_TEXT = 60, 8, 2
UNUSED_PAGES = "unused pages still contain it, which should not happen; run 'hivemind doctor'"
IN_A_HEADER = "the name of a session, author or repository contains it, which entries keep"
PAGES_IN_USE = "another process is still reading old pages; this is retried when the store is opened next"


def list_backups(store: Store) -> list[Path]:
    """List the backups beside a store."""
    return sorted((store.directory / BACKUP_FOLDER).glob("*.db")) if store.directory else []


def name_backup(file: Path) -> str:
    """Return how a receipt names a backup."""
    return f"{BACKUP_FOLDER}/{file.name}"


def pick_search_pieces(texts: Iterable[str]) -> list[str]:
    """Pick pieces of texts that a database file contains byte for byte, because JSON escapes nothing in them."""
    pieces: dict[str, None] = {}
    for text in texts:
        runs = sorted(UNESCAPED_RUN.findall(text), key=len, reverse=True)[:PIECES_PER_TEXT]
        for run in runs:
            start = max(0, (len(run) - PIECE_LENGTH) // 2)
            pieces[run[start : start + PIECE_LENGTH]] = None
    return sorted((piece for piece in pieces if len(piece) >= SHORTEST_PIECE), key=len, reverse=True)


def remove_quotations(directories: Iterable[Path], quotation: Quotation) -> Iterator[ErasedLocation]:
    """Remove quotations from the spool, the quarantine and the indexes, and delete the last error report."""
    for directory in directories:
        if (directory / LAST_ERROR).exists():
            (directory / LAST_ERROR).unlink()
            yield ErasedLocation(name=LAST_ERROR, state="done", detail="deleted, because an error report may quote it")
        yield from remove_copies_in_index(directory, quotation.find_runs)
        # Recording the erasure deleted them; a hook may have written them again before it was committed.
        cues.discard_files(str(directory))
        for file in filter(Path.is_file, sorted(directory.glob(SPOOL_FILES))):
            if line_count := _remove_quoting_lines(file, quotation):
                detail = f"lines that quoted it, removed: {line_count}"
                yield ErasedLocation(name=file.name, state="done", detail=detail)
        files = filter(Path.is_file, sorted((directory / QUARANTINE_FOLDER).rglob("*")))
        quoting_files = [file for file in files if quotation.find_runs(file.read_text("utf-8", "replace"))]
        for file in quoting_files:
            file.unlink()
        if quoting_files:
            detail = f"items that quoted it, removed: {len(quoting_files)}"
            yield ErasedLocation(name=QUARANTINE_FOLDER, state="done", detail=detail)


def remove_copies_in_index(home: Path, is_named: Callable[[str], object]) -> Iterator[ErasedLocation]:
    """Remove the copies of code and commits that the indexes of working trees keep."""
    if code_count := remove_kept_code(home / "index", is_named):
        detail = f"copies of code, removed: {code_count}; the code itself stays"
        yield ErasedLocation(name="index", state="done", detail=detail)
    if commit_count := remove_commits(home / "index", is_named):
        detail = f"copies of commits, removed: {commit_count}; git still has them"
        yield ErasedLocation(name="index", state="done", detail=detail)


def check_files(
    store: Store,
    home: Path,
    quotation: Quotation,
    pieces: list[str],
    *,
    is_folded: bool,
    holders: tuple[str, ...],
) -> Iterator[ErasedLocation]:
    """Search every file below the home directory, after the write-ahead log was merged into the database.

    ``holders`` are the entries of the store that still contain the text, as the receipt already says.
    """
    assert store.directory is not None
    store_files = [store.directory / f"{FILE}{suffix}" for suffix in ("", "-wal", "-shm")]
    if not is_folded:
        yield ErasedLocation(name="files", state="pending", detail=PAGES_IN_USE)
    elif any(contains_any(file, pieces) for file in store_files) and not log.contains_any(store.db, pieces):
        is_in_header = log.is_in_header(store.db, pieces)
        detail = IN_A_HEADER if is_in_header else UNUSED_PAGES
        yield ErasedLocation(name="files", state="remains", detail=detail)
    elif holders:
        detail = f"{FILE} contains what is listed above"
        yield ErasedLocation(name="files", state="remains", detail=detail, holders=holders)
    else:
        yield ErasedLocation(name="files", state="done", detail="no byte of it is left")
    for file in find_remaining_files(home, quotation, pieces, [*store_files, *list_backups(store)]):
        name = str(file.relative_to(home))
        yield ErasedLocation(name=name, state="remains", detail=_advise(file, home), file=name)


def _advise(file: Path, home: Path) -> str:
    if not os.access(file, os.R_OK):
        return "cannot be read and may contain it; check that file"
    if file.is_relative_to(home / "index"):
        return "code in a working tree contains it; this index of it can be deleted at any time"
    if file.name.startswith(FILE):
        return "another store contains it; erase it there: hivemind --store NAME erase ID"
    return "quotes the erased text; edit or delete that file"


def find_remaining_files(
    home: Path, quotation: Quotation, pieces: list[str], skipped_files: Iterable[Path]
) -> Iterator[Path]:
    """Find the files below a folder that quote the text, or, if they are not text files, contain one of the pieces."""
    skipped_paths = {file.resolve() for file in skipped_files}
    for folder, _, names in os.walk(home):
        for name in sorted(names):
            file = Path(folder) / name
            if name == BALLAST or file.match(ERASURE_PLANS) or file.is_symlink() or file.resolve() in skipped_paths:
                continue
            try:
                if file.is_file() and _contains(file, quotation, pieces):
                    yield file
            # Reported, because a file that we cannot read may contain it.
            except PermissionError:
                yield file
            except FileNotFoundError:
                continue


def contains_any(file: Path, pieces: Iterable[str]) -> bool:
    """Whether a file contains one of these pieces, byte for byte."""
    if not file.exists() or not file.stat().st_size:
        return False
    with file.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(piece.encode("utf-8", "replace")) >= 0 for piece in pieces)


def _contains(file: Path, quotation: Quotation, pieces: list[str]) -> bool:
    with file.open("rb") as raw:
        beginning = raw.read(len(SQLITE_HEADER))
        is_text = beginning != SQLITE_HEADER and not file.name.endswith(("-wal", "-shm", "-journal"))
        if is_text and os.fstat(raw.fileno()).st_size <= LARGEST_TEXT:
            return bool(quotation.find_runs((beginning + raw.read()).decode("utf-8", "replace")))
    return contains_any(file, pieces)


def _remove_quoting_lines(file: Path, quotation: Quotation) -> int:
    """Rewrite a file without the lines that quote the text, or delete it if a quotation spans lines; count them."""
    try:
        # Hooks take the same lock to append.
        with FileLock(spool_lock(str(file.parent)), timeout_seconds=LOCK_SECONDS):
            # Bytes that are not UTF-8 must be written back unchanged.
            lines = file.read_bytes().decode("utf-8", "surrogateescape").split("\n")
            if not quotation.find_runs("\n".join(lines)):
                return 0
            kept_lines = [line for line in lines if not quotation.find_runs(line)]
            if not any(kept_lines) or quotation.find_runs("\n".join(kept_lines)):
                file.unlink()
                return len(lines)
            replace_file(file, "\n".join(kept_lines).encode("utf-8", "surrogateescape"))
            return len(lines) - len(kept_lines)
    except BlockingIOError as error:
        # The erasure is finished by whoever opens the store next.
        raise StoreBusy(f"a hook has locked the spool for {LOCK_SECONDS} s; try again when it has ended") from error
