"""What hooks left and nobody could read: kept as reasons, never as content, for the doctor to tell."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

FILE = "spool.unread"
LONGEST = 256 * 1024
"""Bytes; the older half goes when there are more."""


@dataclass(frozen=True, slots=True)
class Unread:
    """When something was met, where it came from, and what was wrong with it."""

    at: str
    where: str
    why: str


def note(directory: Path, met: Sequence[Unread]) -> None:
    """Keep why; what was said stays out, as nobody could tell what is in it."""
    file = directory / FILE
    kept = read(directory) if file.exists() and file.stat().st_size > LONGEST else []
    lines = [_line(one) for one in (*kept[len(kept) // 2 :], *met)]
    with file.open("w" if kept else "a", encoding="utf-8") as notes:
        notes.writelines(lines)


def read(directory: Path) -> list[Unread]:
    """All that is noted, oldest first."""
    file = directory / FILE
    if not file.exists():
        return []
    lines = file.read_text("utf-8", errors="replace").splitlines()
    return [Unread(*line.split("\t")) for line in lines if line.count("\t") == 2]


def _line(one: Unread) -> str:
    return "\t".join(" ".join(part.split()) for part in (one.at, one.where, one.why)) + "\n"
