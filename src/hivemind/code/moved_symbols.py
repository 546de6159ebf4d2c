"""Follow symbols that moved or were renamed: find today's version of a symbol that is no longer in its place.

Equal bodies are not enough, because most real renames come with edits. Evidence is added up: similar bodies, similar
names, the same container, neighbours and header. A symbol with two good candidates that differ stays unmatched, because
a wrong match is worse than none; of identical copies, the nearest is taken. How the weights were measured:
lab/notes/code.md.
"""

import math
import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from hivemind.background import measure_cpu_seconds
from hivemind.code import git
from hivemind.code.fingerprint import digest, measure_similarity
from hivemind.code.grammars import find_language
from hivemind.code.index import CodeIndex
from hivemind.code.versions import load_symbols_at
from hivemind.errors import StoreBusy, Unavailable
from hivemind.model.code import FILE, Anchor, Symbol

MIN_EVIDENCE = 0.78
"""Score from which a candidate counts as the same symbol."""

SMALL_TOKENS = 20
"""Bodies with fewer tokens are weaker evidence: many getters look alike."""

SCORE_MARGIN = 0.02
"""A rival whose score is this close makes a match ambiguous."""

NO_HISTORY_PENALTY = 0.15
"""Subtracted from scores where git cannot tell which candidates are new."""

FILE_SIMILARITY = 0.6
"""A file with so much of the content of another is that file."""

MAX_SEARCH_FILES, MAX_LATEST_FILES = 40, 10
"""Files in which a missing symbol is searched for, among them so many that appeared or were written last."""

_NAME_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")

SymbolKey = tuple[str, str, str, int]


class Patience(NamedTuple):
    """How long somebody waits for an answer."""

    asked_at: float
    """When it was asked for; what was seen of the tree since is recent enough."""
    deadline: float
    """In CPU time; infinite for somebody who waits for everything."""

    @property
    def is_limited(self) -> bool:
        """Whether what takes long is left to the background."""
        return self.deadline < math.inf

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return measure_cpu_seconds() > self.deadline


def find_moved(index: CodeIndex, anchor: Anchor, commit: str, patience: Patience) -> Symbol | None:
    """Find a symbol that is no longer in its place; the result is cached until the tree or the commit changes."""
    fact_name = "lost:" + digest(f"{anchor.label}\0{anchor.kind}\0{anchor.fingerprint}\0{anchor.commit}".encode())
    if not patience.is_over:
        with suppress(StoreBusy):  # the process that keeps the index busy is refreshing it
            index.refresh_if_older(time.time() - patience.asked_at)
    cached_commit, generation, place = [*index.get_fact(fact_name).split("\0", 2), "", ""][:3]
    has_time_to_search = not patience.is_limited or not (index.is_large() or patience.is_over)
    # Where nothing can be searched, the result of a search in this commit that is a little older is good enough.
    may_search = has_time_to_search and not index.is_behind
    if generation and cached_commit == commit and (generation == index.generation or not may_search):
        symbols = index.read_symbols(place.partition("\0")[0])
        return next((symbol for symbol in symbols if _encode_place(symbol) == place), None)
    if not may_search:
        # The tree is being read in the background, and only then worth a search.
        index.is_behind = True
        return None
    symbol = _search_tree(index, anchor, commit)
    with suppress(StoreBusy):
        index.set_fact(fact_name, f"{commit}\0{index.generation}\0{_encode_place(symbol) if symbol else ''}")
    return symbol


def find_other_branch(root: Path, anchor: Anchor, commit: str) -> str:
    """Name a branch that has a symbol which is not on this one, or the stash; empty if it was deleted here."""
    is_ancestor = git.is_ancestor(root, anchor.commit, commit)
    # What the checked-out history had was deleted in it; other branches may only be older.
    had_it = any(symbol.qualified == anchor.qualified for symbol in load_symbols_at(root, anchor.commit, [anchor.path]))
    return "" if not commit or (is_ancestor and had_it) else git.find_branch_with(root, anchor.path, anchor.name)


def _encode_place(symbol: Symbol) -> str:
    return "\0".join((symbol.path, symbol.qualified, symbol.kind, str(symbol.ordinal)))


def _search_tree(index: CodeIndex, anchor: Anchor, commit: str) -> Symbol | None:
    old = anchor.symbol
    changed, moves = _list_changes(index, anchor.commit, commit)
    name = anchor.path.rpartition("/")[2]
    if not index.may_index and anchor.name:
        # Nobody indexes the tree, so the files that seem to define the name are read now.
        index.index_files_containing(anchor.name)
    likely_paths = [anchor.path, moves.get(anchor.path, anchor.path)]
    if old.kind == FILE:
        likely_paths += [path for path in index.find_paths(name) if path.rpartition("/")[2] == name]
    else:
        likely_paths += [path for path, _, _ in index.find_places([anchor.name])]
    # Code that moved is in a file that is new or changed, often not committed yet.
    likely_paths += index.list_latest_files(MAX_LATEST_FILES)
    # Files that changed according to git come last: a large merge must not crowd out better candidates.
    paths = [*dict.fromkeys([*likely_paths, *changed])][:MAX_SEARCH_FILES]
    new_symbols = [symbol for path in paths for symbol in index.read_symbols(path)]
    old_symbols = load_symbols_at(index.root, anchor.commit, [*dict.fromkeys([anchor.path, *paths])])
    match = follow(old, new_symbols, {symbol.key for symbol in old_symbols}, moves, has_history=bool(old_symbols))
    copies = [symbol for symbol in new_symbols if match and _is_copy(symbol, match)]
    return _choose_nearest(copies, old, git.list_tracked(index.root, {symbol.path for symbol in copies})) or match


def _list_changes(index: CodeIndex, since: str, until: str) -> tuple[list[str], dict[str, str]]:
    if not since or not until:
        return [], {}
    try:
        paths, moves = git.list_changes(index.root, since, until)
    except Unavailable:  # the commit was made elsewhere, or history was rewritten
        return [], {}
    return [path for path in paths if find_language(path)], moves


def follow(
    old: Symbol,
    new_symbols: Iterable[Symbol],
    former_keys: Collection[SymbolKey],
    moves: Mapping[str, str],
    *,
    has_history: bool = True,
) -> Symbol | None:
    """Find today's version of an old symbol; None if there is none, or two that differ and fit equally well.

    What existed before is none of its versions: `former_keys` are the symbols of the old tree. `moves` are files that
    moved, from git.
    """
    new = [symbol for symbol in new_symbols if (symbol.kind == FILE) == (old.kind == FILE)]
    for symbol in new:
        if symbol.key == (moves.get(old.path, ""), *old.key[1:]):
            return symbol
    candidates = [symbol for symbol in new if symbol.key not in former_keys]
    ranking = sorted(((_score_evidence(old, symbol), -place) for place, symbol in enumerate(candidates)), reverse=True)
    minimum = FILE_SIMILARITY if old.kind == FILE else MIN_EVIDENCE + (0.0 if has_history else NO_HISTORY_PENALTY)
    good = [(score, candidates[-place]) for score, place in ranking if score >= minimum]
    if not good:
        return None
    best_score, best = good[0]
    rivals = [symbol for score, symbol in good[1:] if best_score - score < SCORE_MARGIN and not _is_copy(symbol, best)]
    return None if rivals else best


def _is_copy(symbol: Symbol, other: Symbol) -> bool:
    """Whether two symbols have the same name and content, as in a backup of a file or in generated code."""
    is_same_name = (symbol.name, symbol.family) == (other.name, other.family)
    return is_same_name and symbol.fingerprint.code_digests == other.fingerprint.code_digests


def _choose_nearest(copies: Sequence[Symbol], old: Symbol, tracked_paths: Collection[str]) -> Symbol | None:
    """Of identical symbols the one that most likely is the old one; None without any."""
    old_folder, _, old_name = old.path.rpartition("/")

    def measure_distance(symbol: Symbol) -> tuple[bool, bool, bool, int, str]:
        folder, _, name = symbol.path.rpartition("/")
        # A stray copy is rarely committed; a file mostly keeps its name or its folder.
        return (symbol.path not in tracked_paths, name != old_name, folder != old_folder, len(folder), symbol.path)

    return min(copies, key=measure_distance, default=None)


def _score_evidence(old: Symbol, new: Symbol) -> float:
    """Score how likely the new symbol is the old one; compare with `MIN_EVIDENCE`, or `FILE_SIMILARITY` for files."""
    before, after = old.fingerprint, new.fingerprint
    if old.kind == FILE:
        return measure_similarity(before.sketch, after.sketch)
    smaller, larger = sorted((before.tokens, after.tokens))
    is_same_body = before.body == after.body and before.members == after.members
    body_similarity = 1.0 if is_same_body else measure_similarity(before.sketch, after.sketch)
    is_same_parent = (old.path, old.parent) == (new.path, new.parent)
    neighbours = (old.before == new.before) + (old.after == new.after) if is_same_parent else 0
    name_score = measure_name_similarity(old.name, new.name)
    # A function may become a constant that holds it; anything else of another kind is something else.
    if old.family != new.family and (name_score < 1.0 or body_similarity < FILE_SIMILARITY):
        return 0.0
    # A body that shrank or grew that much is something else, unless it stands between the same neighbours.
    if smaller < 0.4 * larger and not (neighbours == 2 and body_similarity >= 0.6):
        return 0.0
    # Dunder names such as `__init__` say little.
    if name_score == 1.0 and old.name.startswith("__"):
        name_score = 0.5
    score = body_similarity * min(1.0, smaller / SMALL_TOKENS) + 0.6 * name_score
    score += 0.15 * is_same_parent + 0.06 * neighbours + 0.08 * (before.signature == after.signature)
    if smaller < SMALL_TOKENS and not is_same_parent and not (is_same_body and name_score >= 0.95 and smaller >= 4):
        score -= 0.3
    return score if body_similarity >= 0.25 or (neighbours == 2 and smaller < SMALL_TOKENS) else 0.0


@lru_cache(maxsize=8192)
def measure_name_similarity(first: str, second: str) -> float:
    """Similarity of two names by their words and their letter pairs, from 0 to 1."""
    if first == second:
        return 1.0
    first_letters, second_letters = first.lower().strip("_"), second.lower().strip("_")
    if first_letters == second_letters:
        return 0.95
    first_words, second_words = _split_words(first), _split_words(second)
    word_overlap = len(first_words & second_words) / len(first_words | second_words)
    first_pairs, second_pairs = _split_letter_pairs(first_letters), _split_letter_pairs(second_letters)
    total = len(first_pairs) + len(second_pairs)
    return max(word_overlap, 1.8 * len(first_pairs & second_pairs) / total if total else 0.0)


def _split_words(name: str) -> set[str]:
    return {word.lower() for word in _NAME_WORD.findall(name)} or {name.lower()}


def _split_letter_pairs(name: str) -> set[str]:
    return {name[start : start + 2] for start in range(len(name) - 1)}


def make_similarity_key(old: Symbol, new: Symbol) -> tuple[bool, bool, bool, bool, int]:
    """Sort key to choose among symbols with one name in one place; the greatest is most like the old one."""
    before, after = old.fingerprint, new.fingerprint
    return (
        old.family == new.family,
        before.raw == after.raw,
        before.signature == after.signature,
        before.body == after.body,
        -abs(old.ordinal - new.ordinal),
    )
