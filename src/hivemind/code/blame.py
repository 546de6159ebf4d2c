"""Which commits made the lines that an edit is about to change."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from hivemind.code import git
from hivemind.errors import Unavailable
from hivemind.model.dataclass import dataclass

TIMEOUT_SECONDS = 0.5
"""An agent waits; a slow git means that nothing is told."""
MOST_RANGES = 8
"""Blocks of changed lines that are looked at."""
HUNK = re.compile(r"^@@.*\n?", re.MULTILINE)
BLAMED_LINE = re.compile(r"^([0-9a-f]{40,64}) \d+ \d+(?: \d+)?$", re.MULTILINE)
WORD = re.compile(r"\w{2,}")
"""A line without any, such as a bracket, says nothing about who wrote what is around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOrigin:
    """A commit that made some lines."""

    commit_id: str
    lines: int
    creates_file: bool
    """Whether the file did not exist before it."""


def find_origins(root: Path, path: str, diffs: Iterable[str], commit: str = "HEAD") -> list[LineOrigin]:
    """Return the commits that made the lines which some diffs remove, most lines first; empty if git cannot tell.

    Lines that are in no commit yet, or stand in the file more than once, have no origin. White space does not count.
    """
    try:
        text = git.run(root, "cat-file", "blob", f"{commit}:{path}", timeout=TIMEOUT_SECONDS).decode("utf-8", "replace")
        ranges = list(_find_removed_lines(diffs, text))[:MOST_RANGES]
        return _blame(root, path, ranges, commit) if ranges else []
    except Unavailable:
        return []


def _blame(root: Path, path: str, ranges: Iterable[tuple[int, int]], commit: str) -> list[LineOrigin]:
    # The working tree is not asked about: for it git would run filters that the repository configures.
    options = ["-w", "--porcelain", "--no-textconv", *(f"-L{first},{last}" for first, last in ranges)]
    output = git.run(root, "blame", *options, commit, "--", path, timeout=TIMEOUT_SECONDS).decode("utf-8", "replace")
    commits = BLAMED_LINE.findall(output)
    # Only the first line of a commit is followed by its details, among them the commit before.
    blocks = BLAMED_LINE.split(output)[1:]
    changed_before = {name for name, block in zip(blocks[::2], blocks[1::2], strict=True) if "\nprevious " in block}
    counts = {name: commits.count(name) for name in dict.fromkeys(commits)}
    origins = [
        LineOrigin(commit_id=name, lines=count, creates_file=name not in changed_before)
        for name, count in counts.items()
    ]
    return sorted(origins, key=lambda origin: -origin.lines)


def _find_removed_lines(diffs: Iterable[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of each block of a text that unified diffs remove."""
    lines = [_squeeze(line) for line in text.splitlines()]
    for hunk in (hunk for diff in diffs for hunk in HUNK.split(diff)[1:]):
        # The line numbers of a hunk are not used: an agent's hunk begins where the text begins that it quotes.
        old_lines = [line for line in hunk.splitlines() if line[:1] in ("-", " ", "")]
        start = _find_block([_squeeze(line[1:]) for line in old_lines], lines)
        for first, last in _group_removed(old_lines):
            block = [_squeeze(line[1:]) for line in old_lines[first : last + 1]]
            # Around what is not committed yet, the removed lines alone may be found.
            place = start + first if start is not None else _find_block(block, lines)
            if place is not None:
                yield place + 1, place + 1 + last - first


def _group_removed(old_lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of removed lines in a row that have words."""
    first = None
    for index, line in enumerate([*old_lines, ""]):
        is_removed = line[:1] == "-" and WORD.search(line) is not None
        if is_removed and first is None:
            first = index
        elif not is_removed and first is not None:
            yield first, index - 1
            first = None


def _find_block(block: Sequence[str], lines: Sequence[str]) -> int | None:
    """Return where a block of lines begins; None if it stands there more than once, or nowhere."""
    if not any(block):
        return None
    places = [
        start for start, line in enumerate(lines) if line == block[0] and lines[start : start + len(block)] == block
    ]
    return places[0] if len(places) == 1 else None


def _squeeze(line: str) -> str:
    return "".join(line.split())
