"""Where lines that somebody commented on are today, and what they became after the comment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hivemind.code import git, working_tree
from hivemind.code.edited_symbols import find_at_lines
from hivemind.code.index import CodeIndex
from hivemind.code.versions import MAX_PAIRED, pair_lines
from hivemind.errors import Unavailable
from hivemind.model.code import LineChange
from hivemind.model.session import list_diff_lines
from hivemind.text.clean import count_equal

NEIGHBOURS = 4
"""Lines above a commented one by which its place is found once it changed; others may be of another function."""
FEWEST_CHARACTERS = 8
"""A line with fewer, such as ``else:``, stands anywhere."""
MAX_COMMITS = 3
"""Commits after a comment in which its lines are looked for; a later change has another reason."""
_HUNK_HEAD = re.compile(r"\A@@[^\n]*\n?")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentedLines:
    """Lines of a file as they were when somebody commented on them."""

    path: str
    lines: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """Lines above them, the nearest first."""
    replacement: tuple[str, ...] = ()
    """What the comment suggests in their place."""


def split_hunk(hunk: str, count: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the last lines of a diff as they are after it, and those above them, the nearest first."""
    rows = _HUNK_HEAD.sub("", hunk).splitlines()
    # A comment on a removed line is about a place that only its neighbours still mark.
    is_removed = bool(rows) and rows[-1][:1] == "-"
    lines = [row[1:] for row in rows if row[:1] != "-"]
    last_lines = () if is_removed else tuple(lines[-count:])
    return last_lines, tuple(reversed(lines[: len(lines) - len(last_lines)]))


def find_label(index: CodeIndex, place: CommentedLines) -> str:
    """Return the symbol at a place in today's tree, else its file; empty if the file is gone."""
    content = working_tree.read(index.root, place.path)
    symbols = index.read_symbols(place.path) if content else []
    if content is None or not symbols:
        return ""
    rows = [_strip(row) for row in content[1].decode("utf-8", "replace").splitlines()]
    blocks = [(place.lines, place.before), (place.replacement, place.before)]
    blocks += [((row,), place.before[at + 1 :]) for at, row in enumerate(place.before[:NEIGHBOURS])]
    span = next(filter(None, (_find_block(rows, block, above) for block, above in blocks)), None)
    if span is None:
        return place.path
    labels = {symbol.label for symbol in find_at_lines(symbols, *span)}
    return labels.pop() if len(labels) == 1 else place.path


def _find_block(rows: Sequence[str], block: Sequence[str], above: Sequence[str]) -> tuple[int, int] | None:
    """Find lines in a file: the only such place, or of several the one below most of the lines that were above it."""
    target_rows, above_rows = [_strip(row) for row in block], [_strip(row) for row in above]
    while target_rows and not target_rows[0]:
        target_rows.pop(0)
    if not target_rows or max(map(len, target_rows)) < FEWEST_CHARACTERS:
        return None
    size = len(target_rows)
    starts = [start for start in range(len(rows) - size + 1) if [*rows[start : start + size]] == target_rows]
    # Not the nearest to the old line number: a file may have changed for years.
    scores = [count_equal(rows[:start][::-1], above_rows) for start in starts]
    if not starts or scores.count(max(scores)) > 1:
        return None
    start = starts[scores.index(max(scores))]
    return start + 1, start + size


def find_changes(root: Path, place: CommentedLines, since: str, pull: str = "") -> list[LineChange]:
    """Find what commented lines became in the first commits after a time that changed their file.

    A commit counts if it removes one of the lines, or names the pull request: many are squashed, and then the lines
    themselves were never committed.
    """
    lines = [_strip(row) for row in place.lines if len(_strip(row)) >= FEWEST_CHARACTERS]
    if not lines or len(lines) > MAX_PAIRED:
        return []
    options = ("--reverse", "--no-merges", f"--since={since}", "--format=%H %s", "HEAD", "--")
    log = git.run_or_empty(root, "log", *options, f":(literal){place.path}").splitlines()[:MAX_COMMITS]
    subjects = dict(row.split(" ", 1) for row in log if " " in row)
    try:
        patches = [*git.read_patches(root, subjects)] if subjects else []
    except Unavailable:
        return []
    names_pull = re.compile(rf"[#!]{re.escape(pull)}\b") if pull else None
    for commit, path, diff in patches:
        old_rows, new_rows = (
            [_strip(row) for row in list_diff_lines(diff if path == place.path else "", sign)] for sign in "-+"
        )
        is_theirs = bool(names_pull and names_pull.search(subjects[commit]))
        lost_lines = [line for line in lines if line not in new_rows and (line in old_rows or is_theirs)]
        changes = [change for line in lost_lines for change in pair_lines([line], _find_nearest(line, new_rows))]
        if replacements := [change for change in changes if change.old and change.new]:
            return replacements
    return []


def _find_nearest(line: str, candidates: Sequence[str]) -> list[str]:
    """Those of many lines that share most words with one."""
    words = set(re.findall(r"\w+", line))
    ranking = sorted(candidates, key=lambda row: -len(words & set(re.findall(r"\w+", row))))
    return ranking[:MAX_PAIRED]


def _strip(row: str) -> str:
    return " ".join(row.split())
