"""Measure how functions are followed, with cases that a program finds in a history.

The truth are functions that a commit took away and put elsewhere. Their lines are compared with those of all new
functions by difflib, which shares nothing with the matcher: the best one must be clearly better than the second.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

from hivemind.code import git
from hivemind.code.grammars import find_language
from hivemind.code.moved_symbols import follow
from hivemind.code.parsing import outline
from hivemind.model.code import Symbol

FUNCTIONS = frozenset({"function", "method"})
LANGUAGES = ("python", "typescript", "javascript", "go", "java", "rust", "c", "cpp", "ruby", "kotlin", "php", "csharp")
MAX_CODE_FILES = 20
MIN_LINES = 3
"""Shorter functions are alike by chance."""
SAME, MARGIN, UNLIKE = 0.6, 0.2, 0.3
"""Share of equal lines from which two functions are one, its lead over the second best, and below which nothing is."""


class Side(NamedTuple):
    """The symbols of the files that a commit changed, before or after, with their lines."""

    symbols: list[Symbol]
    lines: dict[tuple[str, str, str, int], list[str]]


def measure_moves(repository: Path, commits: int) -> None:
    """Print the share of moved and renamed functions that are followed, and of leads that are wrong."""
    root = repository.resolve()
    tallies: dict[str, Counter[str]] = defaultdict(Counter)
    for commit in _list_commits(root, commits):
        sides = _read_sides(root, commit)
        if sides is None:
            continue
        old, new, moves = sides
        places = {symbol.key for symbol in new.symbols}
        earlier_places = {symbol.key for symbol in old.symbols}
        candidates = [symbol for symbol in new.symbols if symbol.kind in FUNCTIONS and symbol.key not in earlier_places]
        for before in old.symbols:
            if before.kind not in FUNCTIONS or before.key in places or len(old.lines[before.key]) < MIN_LINES:
                continue
            after = follow(before, new.symbols, earlier_places, moves)
            target, likeness = _find_target(old.lines[before.key], candidates, new)
            language = find_language(before.path) or ""
            for group in ("all", language):
                tallies[group][_classify(after, target, likeness)] += 1
    for group, tally in tallies.items():
        moved = tally["followed"] + tally["missed"] + tally["wrong"]
        leads = tally["followed"] + tally["wrong"] + tally["unfounded"] + tally["open"]
        print(
            f"{repository.parent.name} {group:<12} {tally['followed']} of {moved} moved functions followed,"
            f" {tally['wrong']} to another, {tally['unfounded']} of {leads} leads to nothing like it"
        )


def _classify(after: Symbol | None, target: Symbol | None, likeness: float) -> str:
    if target is not None:
        return "missed" if after is None else "followed" if after.key == target.key else "wrong"
    if after is None:
        return "gone"
    # Between the two limits nobody can say without reading.
    return "unfounded" if likeness < UNLIKE else "open"


def _find_target(lines: Sequence[str], candidates: Sequence[Symbol], new: Side) -> tuple[Symbol | None, float]:
    """The new function that has most of these lines, if it is clearly the one, and its share of them."""
    ranked = sorted(
        (
            (SequenceMatcher(None, lines, new.lines[symbol.key], autojunk=False).ratio(), symbol)
            for symbol in candidates
        ),
        key=lambda pair: -pair[0],
    )
    best = ranked[0][0] if ranked else 0.0
    second = ranked[1][0] if len(ranked) > 1 else 0.0
    return (ranked[0][1] if best >= SAME and best - second >= MARGIN else None), best


def _list_commits(root: Path, commits: int) -> list[str]:
    options = ("--no-merges", "--min-parents=1", "--format=%H", f"-n{commits}")
    return git.run(root, "log", *options, "HEAD").decode().split()


def _read_sides(root: Path, commit: str) -> tuple[Side, Side, dict[str, str]] | None:
    paths, moves = git.list_changes(root, f"{commit}^", commit)
    code_paths = [path for path in dict.fromkeys(paths) if find_language(path) in LANGUAGES]
    if not code_paths or len(code_paths) > MAX_CODE_FILES:
        return None
    names = (f"{commit}^", commit)
    sources = git.read_blobs(root, [f"{side}:{path}" for path in code_paths for side in names])
    old, new = (_read_side(sources, side, code_paths) for side in names)
    return old, new, moves


def _read_side(sources: dict[str, bytes], commit: str, paths: Sequence[str]) -> Side:
    symbols: list[Symbol] = []
    lines: dict[tuple[str, str, str, int], list[str]] = {}
    for path in paths:
        source = sources.get(f"{commit}:{path}")
        if source is None:
            continue
        text = [" ".join(line.split()) for line in source.decode("utf-8", "replace").splitlines()]
        for symbol in outline(path, source).symbols:
            symbols.append(symbol)
            # Without the header: a new name alone must not make functions unlike.
            lines[symbol.key] = [line for line in text[symbol.line : symbol.end_line] if line.strip("(){}[];,")]
    return Side(symbols, lines)
