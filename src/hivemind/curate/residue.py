"""Takes quotations out of files beside the store, and looks whether any file still holds one."""

import fcntl
import mmap
import os
import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from hivemind.curate.unfinished import FILES as PLANS
from hivemind.model.erasure import Place
from hivemind.model.quotation import Quotation
from hivemind.store.ballast import FILE as BALLAST

LINES, ITEMS = "spool*", "quarantine"
"""Files that hooks left: those with a line for each thing, and the folder with a file for each."""
LAST_ERROR = "last-error.txt"
LARGEST_TEXT = 8 * 1024 * 1024
"""A larger file is searched for bytes, not read as text."""
DATABASE = b"SQLite format 3\0"
PLAIN = re.compile(r'[^\x00-\x1f"\\]+')
STRETCH, SHORTEST, STRETCHES = 60, 8, 2


def stretches(texts: Iterable[str]) -> list[str]:
    """Pieces of texts that stand in a database's file as they are, for JSON escapes nothing in them."""
    found: dict[str, None] = {}
    for text in texts:
        longest = sorted(PLAIN.findall(text), key=len, reverse=True)[:STRETCHES]
        for piece in longest:
            middle = max(0, (len(piece) - STRETCH) // 2)
            found[piece[middle : middle + STRETCH]] = None
    return sorted((one for one in found if len(one) >= SHORTEST), key=len, reverse=True)


def clean(directories: Iterable[Path], quotation: Quotation) -> Iterator[Place]:
    """Remove what quotes it from what hooks left, and the details of the last error."""
    for directory in directories:
        if (directory / LAST_ERROR).exists():
            (directory / LAST_ERROR).unlink()
            yield Place(name=LAST_ERROR, state="done", detail="removed, as an error may quote what it met")
        for file in sorted(directory.glob(LINES)):
            if removed := _without_quotations(file, quotation):
                yield Place(name=file.name, state="done", detail=f"{removed} lines that quoted it are gone")
        items = [file for file in sorted((directory / ITEMS).rglob("*")) if file.is_file()]
        quoting = [file for file in items if quotation.runs_in(file.read_text("utf-8", "replace"))]
        for file in quoting:
            file.unlink()
        if quoting:
            yield Place(name=ITEMS, state="done", detail=f"{len(quoting)} items")


def left_in(home: Path, quotation: Quotation, raw: list[str], skipped: Iterable[Path]) -> Iterator[Path]:
    """Files below a folder that quote it, or hold one of the raw pieces where they are no text."""
    passed_over = {file.resolve() for file in skipped}
    needles = [piece.encode("utf-8", "replace") for piece in raw]
    for folder, _, names in os.walk(home):
        for name in sorted(names):
            file = Path(folder) / name
            if name == BALLAST or file.match(PLANS) or file.is_symlink() or file.resolve() in passed_over:
                continue
            try:
                if file.is_file() and _holds(file, quotation, needles):
                    yield file
            except PermissionError:
                yield file
            except FileNotFoundError:
                continue


def holds_bytes(file: Path, needles: Iterable[bytes]) -> bool:
    """Whether a file has one of these somewhere."""
    if not file.exists() or not file.stat().st_size:
        return False
    with file.open("rb") as raw, mmap.mmap(raw.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return any(content.find(needle) >= 0 for needle in needles)


def _holds(file: Path, quotation: Quotation, needles: list[bytes]) -> bool:
    with file.open("rb") as raw:
        beginning = raw.read(len(DATABASE))
        is_text = beginning != DATABASE and not file.name.endswith(("-wal", "-shm", "-journal"))
        if is_text and os.fstat(raw.fileno()).st_size <= LARGEST_TEXT:
            return bool(quotation.runs_in((beginning + raw.read()).decode("utf-8", "replace")))
    return holds_bytes(file, needles)


def _without_quotations(file: Path, quotation: Quotation) -> int:
    """Write a file again without the lines that quote it, or remove it where a quotation spans lines."""
    with file.open("rb") as held:
        # Hooks take the same lock to append, and look again which file has the name.
        fcntl.flock(held, fcntl.LOCK_EX)
        lines = held.read().decode("utf-8", "surrogateescape").split("\n")
        if not quotation.runs_in("\n".join(lines)):
            return 0
        kept = [line for line in lines if not quotation.runs_in(line)]
        if not any(kept) or quotation.runs_in("\n".join(kept)):
            file.unlink()
            return len(lines)
        fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}.partial")
        fresh.touch(mode=0o600)
        fresh.write_text("\n".join(kept), "utf-8", "surrogateescape")
        fresh.replace(file)
        return len(lines) - len(kept)
