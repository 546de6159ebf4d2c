"""What was committed, newest first: who, when, what they said about it, which files it touched."""

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from hivemind.codebase.repository import WITHOUT_SIDE_EFFECTS, quiet_environment
from hivemind.errors import Unavailable

BEGIN, FIELD, END = "\x1e", "\x1f", "\x1d"
FORMAT = f"%x1e{'%x1f'.join(('%H', '%cI', '%an', '%B'))}%x1d"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A change somebody made and explained."""

    id: str
    at: str
    author: str
    message: str
    files: tuple[str, ...]


def commits(root: Path, since: str = "") -> Iterator[Commit]:
    """The commits that lead to what is checked out, one at a time; merges say nothing new."""
    arguments = ["log", "--no-merges", "--name-only", "--no-renames", f"--format={FORMAT}"]
    arguments += [f"--since={since}"] if since else []
    process = subprocess.Popen(
        ["git", *WITHOUT_SIDE_EFFECTS, "-c", "core.quotePath=false", "-C", str(root), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=quiet_environment(),
        encoding="utf-8", errors="replace",
    )  # fmt: skip
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        yield from read(process.stdout)
        complaint = process.stderr.read().strip()
    if process.returncode:
        raise Unavailable(f"git cannot tell the history of {root}: {complaint}")


def read(lines: Iterable[str]) -> Iterator[Commit]:
    """The commits that git's output tells of; a message that plays with our separators tells of none."""
    for record in _records(lines):
        told, _, files = record.removeprefix(BEGIN).partition(END)
        fields = told.split(FIELD, 3)
        if len(fields) == 4:
            identifier, at, author, message = fields
            touched = tuple(filter(None, map(str.strip, files.splitlines())))
            yield Commit(id=identifier, at=at, author=author, message=message.strip(), files=touched)


def _records(lines: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    for line in lines:
        if line.startswith(BEGIN) and held:
            yield "".join(held)
            held = []
        held.append(line)
    if held:
        yield "".join(held)
