"""Which commits made the lines that an edit is about to change."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from hivemind.code import git
from hivemind.errors import Unavailable
from hivemind.model.dataclass import dataclass

TIMEOUT_SECONDS = 0.5
"""An agent waits; a slow git means that nothing is told."""
NEAR_LINES = 4
MOST_LINES = 50
"""Changed lines that are looked at."""
HUNK = re.compile(r"^@@.*\n?", re.MULTILINE)
BLAMED_LINE = re.compile(r"^([0-9a-f]{40,64}) \d+ \d+(?: \d+)?$", re.MULTILINE)
STATEMENT = re.compile(
    r"\A\s*+(?!//|/?\*|#(?!\w)|--|<!--|(?:import|from|use|using|require|package|export \{) |#include\b)(?=.*\w{2})"
)
"""A line that does something: no bracket, comment or import, whose reason is seldom that of a commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOrigin:
    """A commit that made some lines."""

    commit_id: str
    lines: int
    creates_file: bool
    """Whether the file did not exist before it."""
    text: str = ""
    """The lines that the edit removes."""
    nearby: str = ""
    """These lines and those around them."""


def find_origins(
    root: Path, path: str, diffs: Iterable[str], *, since: str = "", commit: str = "HEAD"
) -> list[LineOrigin]:
    """Return the commits that made the lines which some diffs remove, most lines first; empty if git cannot tell.

    Lines that are in no commit yet, or stand in the file more than once, have no origin, nor have lines that are
    older than ``since``. White space does not count.
    """
    try:
        text = git.run(root, "cat-file", "blob", f"{commit}:{path}", timeout=TIMEOUT_SECONDS).decode("utf-8", "replace")
        places = sorted(set(_find_removed_lines(diffs, text)))[:MOST_LINES]
        origins = _blame(root, path, places, since, commit) if places else []
    except Unavailable:
        return []
    lines = text.splitlines()
    removed = {place - 1 for place in places}
    near = {index for place in removed for index in range(place - NEAR_LINES, place + NEAR_LINES + 1)}
    near &= set(range(len(lines)))
    text, nearby = ("\n".join(lines[index] for index in sorted(indexes)) for indexes in (removed, near))
    return [replace(origin, text=text, nearby=nearby) for origin in origins]


def _blame(root: Path, path: str, lines: Iterable[int], since: str, commit: str) -> list[LineOrigin]:
    # The working tree is not asked about: for it git would run filters that the repository configures.
    options = ["-w", "--porcelain", "--no-textconv", "--root", *(f"-L{line},{line}" for line in lines)]
    # Where the history before a date is not asked for, git is done sooner.
    options += [f"--since={since}"] if since else []
    output = git.run(root, "blame", *options, commit, "--", path, timeout=TIMEOUT_SECONDS).decode("utf-8", "replace")
    commits, fields = BLAMED_LINE.findall(output), BLAMED_LINE.split(output)[1:]
    details: dict[str, str] = {}
    for name, block in zip(fields[::2], fields[1::2], strict=True):
        # Only the first line of a commit is followed by its details.
        details.setdefault(name, block)
    origins = [
        LineOrigin(commit_id=name, lines=commits.count(name), creates_file="\nprevious " not in block)
        for name, block in details.items()
        if "\nboundary\n" not in block
    ]
    return sorted(origins, key=lambda origin: -origin.lines)


def _find_removed_lines(diffs: Iterable[str], text: str) -> Iterator[int]:
    """Yield the lines of a text that unified diffs remove."""
    lines = [_squeeze(line) for line in text.splitlines()]
    for hunk in (hunk for diff in diffs for hunk in HUNK.split(diff)[1:]):
        # The line numbers of a hunk are not used: an agent's hunk begins where the text begins that it quotes.
        old_lines = [line for line in hunk.splitlines() if line[:1] in ("-", " ", "")]
        start = _find_block([_squeeze(line[1:]) for line in old_lines], lines)
        for index, line in enumerate(old_lines):
            if line[:1] == "-" and STATEMENT.match(line[1:]):
                # Around what is not committed yet, a removed line alone may be found.
                place = _find_block([_squeeze(line[1:])], lines) if start is None else start + index
                if place is not None:
                    yield place + 1


def _find_block(block: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return where a block of lines begins; None if it stands there more than once, or nowhere."""
    if not any(block):
        return None
    last = len(block) - 1
    starts = range(len(lines) - last)
    # The text that an agent replaces may begin and end within a line.
    near = [start for start in starts if block[0] in lines[start] and block[last] in lines[start + last]]
    if last:
        near = [start for start in near if list(lines[start + 1 : start + last]) == list(block[1:last])]
    exact = [start for start in near if list(lines[start : start + last + 1]) == list(block)]
    places = exact or near
    return places[0] if len(places) == 1 else None


def _squeeze(line: str) -> str:
    return "".join(line.split())
