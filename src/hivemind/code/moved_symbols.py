"""Follow symbols that moved or were renamed: match those of an old version to those of a new one.

Equal bodies are not enough, because most real renames come with edits. Evidence is added up: similar bodies, similar
names, the same container, neighbours and header. A symbol with two equally good candidates stays unmatched, because a
wrong match is worse than none. How the weights were measured: docs/explanation/staleness.md.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from hivemind.code import git
from hivemind.code.fingerprint import digest, measure_similarity, unpack
from hivemind.code.grammars import find_language
from hivemind.code.index import CodeIndex
from hivemind.code.versions import HasTime, load_symbols_at
from hivemind.errors import StoreBusy, Unavailable
from hivemind.model.code import FILE, MEMBERLESS_KINDS, Anchor, Symbol

MIN_EVIDENCE = 0.78
"""Score from which a pair counts as the same symbol."""

SMALL_TOKENS = 20
"""Bodies with fewer tokens are weaker evidence: many getters look alike."""

SCORE_MARGIN = 0.02
"""A rival whose score is this close makes a pair ambiguous."""

NO_HISTORY_PENALTY = 0.15
"""Subtracted from match scores where git cannot tell which candidates are new."""

MAX_INDEX_AGE_SECONDS = 3.0
"""Age of the index from which the tree is refreshed before a missing symbol is searched for."""

SEARCH_SECONDS, LARGE_SEARCH_SECONDS = 0.05, 0.3
"""How long the search for a missing symbol may take, in a small tree and in a large one."""

MAX_SEARCH_FILES = 40
"""Maximum number of files in which a missing symbol is searched for."""

_MAX_CANDIDATES = 60
"""Symbols with the same name, place or token triple that are compared; a triple that more symbols share is ignored."""

_NAME_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class Pair(NamedTuple):
    """An old symbol and its new version; None if it is gone."""

    old: Symbol
    new: Symbol | None


def find_moved(index: CodeIndex, anchor: Anchor, commit: str, in_passing: bool, has_time: HasTime) -> Symbol | None:
    """Find a symbol that is no longer in its place; the result is cached until the tree or the commit changes."""
    fact_name = "lost:" + digest(f"{anchor.label}\0{anchor.kind}\0{anchor.fingerprint}\0{anchor.commit}".encode())
    with suppress(StoreBusy):  # the process that keeps the index busy is refreshing it
        index.refresh_if_older(math.inf if in_passing else MAX_INDEX_AGE_SECONDS)
    cached_commit, generation, place = [*index.get_fact(fact_name).split("\0", 2), "", ""][:3]
    has_time_to_search = has_time(LARGE_SEARCH_SECONDS if index.is_large() else SEARCH_SECONDS)
    # Without the time for a search, one in this commit that is a little older is good enough.
    if generation and cached_commit == commit and (generation == index.generation or not has_time_to_search):
        symbols = index.read_symbols(place.partition("\0")[0])
        return next((symbol for symbol in symbols if _encode_place(symbol) == place), None)
    # The tree is being read in the background, and only then worth a search.
    index.is_behind = index.is_behind or not has_time_to_search
    if index.is_behind:
        return None
    symbol = _search_tree(index, anchor, commit)
    with suppress(StoreBusy):
        index.set_fact(fact_name, f"{commit}\0{index.generation}\0{_encode_place(symbol) if symbol else ''}")
    return symbol


def _encode_place(symbol: Symbol) -> str:
    return "\0".join((symbol.path, symbol.qualified, symbol.kind, str(symbol.ordinal)))


def _search_tree(index: CodeIndex, anchor: Anchor, commit: str) -> Symbol | None:
    old = anchor.symbol
    changed, moves = _list_changes(index, anchor.commit, commit)
    name = anchor.path.rpartition("/")[2]
    likely_paths = [anchor.path, moves.get(anchor.path, anchor.path)]
    likely_paths += (
        index.find_files(name) if old.kind == FILE else [symbol.path for symbol in index.find_by_name(anchor.name)]
    )
    likely_paths += [symbol.path for symbol in index.find_similar(old.fingerprint)]
    # Files that changed according to git come last: a large merge must not crowd out better candidates.
    paths = [*dict.fromkeys([*likely_paths, *changed])][:MAX_SEARCH_FILES]
    new_symbols = _drop_copies(index, anchor.path, [symbol for path in paths for symbol in index.read_symbols(path)])
    old_symbols = load_symbols_at(index.root, anchor.commit, [*dict.fromkeys([anchor.path, *paths])])
    # With the other old symbols matched too, a candidate that existed before is not taken for the missing one.
    others_before = [symbol for symbol in old_symbols if symbol.key != old.key]
    pairs = match([old, *others_before], new_symbols, moves, penalty=0.0 if old_symbols else NO_HISTORY_PENALTY)
    return next(pair.new for pair in pairs if pair.old is old)


def _drop_copies(index: CodeIndex, old_path: str, symbols: Sequence[Symbol]) -> list[Symbol]:
    """The symbols without those of files that are exact copies of others, such as a backup of a moved file."""
    paths_by_content: dict[str, list[str]] = {}
    for symbol in symbols:
        if symbol.kind == FILE:
            paths_by_content.setdefault(symbol.fingerprint.raw, []).append(symbol.path)
    copies = [path for paths in paths_by_content.values() if len(paths) > 1 for path in paths]
    if not copies:
        return [*symbols]
    tracked_paths = git.list_tracked(index.root, copies)
    old_folder, _, old_name = old_path.rpartition("/")

    def measure_distance(path: str) -> tuple[bool, bool, bool, int]:
        folder, _, name = path.rpartition("/")
        # A stray copy is rarely committed; a file mostly keeps its name or its folder.
        return (path not in tracked_paths, name != old_name, folder != old_folder, len(path))

    kept_paths = {min(paths, key=measure_distance) for paths in paths_by_content.values()}
    return [symbol for symbol in symbols if symbol.path in kept_paths]


def _list_changes(index: CodeIndex, since: str, until: str) -> tuple[list[str], dict[str, str]]:
    if not since or not until:
        return [], {}
    try:
        paths, moves = git.list_changes(index.root, since, until)
    except Unavailable:  # the commit was made elsewhere, or history was rewritten
        return [], {}
    return [path for path in paths if find_language(path)], moves


def match(
    old: Sequence[Symbol], new: Sequence[Symbol], moves: Mapping[str, str] | None = None, *, penalty: float = 0.0
) -> list[Pair]:
    """Pair every old symbol with its new version; `moves` are files known to have moved, from git or elsewhere.

    The penalty is subtracted from every score where the new symbols may include some that existed before.
    """
    matching = _Matching(old, new, penalty)
    # From certain to uncertain, so that weak evidence chooses only among what is left. Members follow the containers
    # that have just been matched, and containers follow their members.
    matching.match_same_place()
    matching.match_moved_files(moves or {})
    matching.match_same_content()
    matching.match_by_evidence(symbol for symbol in matching.old.values() if symbol.kind not in MEMBERLESS_KINDS)
    matching.match_members()
    matching.match_by_evidence(matching.old.values())
    matching.match_containers()
    matching.match_members()
    return [*matching.pairs, *(Pair(symbol, None) for symbol in matching.old.values())]


class _Matching:
    """The pairs so far, and the old and new symbols that are not paired yet, by their identity."""

    def __init__(self, old: Sequence[Symbol], new: Sequence[Symbol], penalty: float) -> None:
        self.old = {id(symbol): symbol for symbol in old}
        self.new = {id(symbol): symbol for symbol in new}
        self.pairs: list[Pair] = []
        self.penalty = penalty

    def pair_up(self, old: Symbol, new: Symbol | None) -> None:
        """Pair the two, if there is a new one and neither is paired yet."""
        if new is not None and self.are_unmatched(old, new):
            del self.old[id(old)], self.new[id(new)]
            self.pairs.append(Pair(old, new))

    def are_unmatched(self, old: Symbol, new: Symbol) -> bool:
        return id(old) in self.old and id(new) in self.new

    def match_same_place(self) -> None:
        """Pair symbols with the same path and qualified name; overloads by their content."""
        new_by_place = _group(self.new.values(), lambda symbol: (symbol.path, symbol.qualified))
        for place, olds in _group(self.old.values(), lambda symbol: (symbol.path, symbol.qualified)).items():
            pairs = [(old, new) for old in olds for new in new_by_place.get(place, [])]
            for old, new in reversed(
                sorted(pairs, key=lambda pair: make_similarity_key(*pair)) if len(pairs) > 1 else pairs
            ):
                self.pair_up(old, new)

    def match_moved_files(self, moves: Mapping[str, str]) -> None:
        """Pair symbols with the same qualified name in files that moved."""
        file_moves = dict(moves)
        files = [symbol for symbol in self.new.values() if symbol.kind == FILE]
        for old in [symbol for symbol in self.old.values() if symbol.kind == FILE and symbol.path not in file_moves]:
            scores = sorted(
                (measure_similarity(old.fingerprint.sketch, new.fingerprint.sketch), new.path) for new in files
            )
            # A file that git does not report as moved is found by its content, if no other is as similar.
            if scores and scores[-1][0] >= 0.6 and (len(scores) == 1 or scores[-1][0] - scores[-2][0] > SCORE_MARGIN):
                file_moves[old.path] = scores[-1][1]
        new_by_key = {symbol.key: symbol for symbol in self.new.values()}
        for old in list(self.old.values()):
            self.pair_up(old, new_by_key.get((file_moves.get(old.path, ""), *old.key[1:])))

    def match_same_content(self) -> None:
        """Pair symbols with the same name and body in another place, if there is only one of each."""

        def get_content(symbol: Symbol) -> tuple[str, str, str, str]:
            fingerprint = symbol.fingerprint
            return (symbol.name, symbol.family, fingerprint.body, fingerprint.members)

        new_by_content = _group(self.new.values(), get_content)
        for key, olds in _group(self.old.values(), get_content).items():
            news = new_by_content.get(key, [])
            # A small body needs more: the same header and a name too long to be common.
            if len(olds) == len(news) == 1 and (
                olds[0].fingerprint.tokens >= SMALL_TOKENS
                or (olds[0].fingerprint.signature == news[0].fingerprint.signature and len(olds[0].name) >= 8)
            ):
                self.pair_up(olds[0], news[0])

    def match_members(self) -> None:
        """Pair symbols with the same name in a container that was renamed or moved."""
        container_moves = {
            (pair.old.path, pair.old.qualified): (pair.new.path, pair.new.qualified)
            for pair in self.pairs
            if pair.new is not None and pair.old.kind != FILE and pair.old.key[:2] != pair.new.key[:2]
        }
        new_by_key = {symbol.key: symbol for symbol in self.new.values()}
        for old in list(self.old.values()):
            path, parent = container_moves.get((old.path, old.parent), ("", ""))
            self.pair_up(old, new_by_key.get((path, f"{parent}.{old.name}", old.family, old.ordinal)))

    def match_containers(self) -> None:
        """Pair containers of which most matched members now belong to one other container."""
        votes: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        for old, new in self.pairs:
            if new is not None and old.parent:
                votes[old.path, old.parent][new.path, new.parent] += 1
        new_by_place = {(symbol.path, symbol.qualified, symbol.family): symbol for symbol in self.new.values()}
        for old in [symbol for symbol in self.old.values() if (symbol.path, symbol.qualified) in votes]:
            targets = votes[old.path, old.qualified]
            place, count = targets.most_common(1)[0]
            if count >= 2 and count > targets.total() / 2:
                self.pair_up(old, new_by_place.get((*place, old.family)))

    def match_by_evidence(self, olds: Iterable[Symbol]) -> None:
        """Pair symbols by all evidence together, best first, unless a rival is as good."""
        olds = [symbol for symbol in olds if symbol.kind != FILE]
        names = Counter(symbol.name for symbol in (*olds, *self.new.values()))
        ranking: list[tuple[float, int, Symbol, Symbol]] = []
        for old, new in self._pair_candidates(olds):
            score = score_evidence(old, new, is_common=names[old.name] > 2) - self.penalty
            if score >= MIN_EVIDENCE:
                ranking.append((score, len(ranking), old, new))
        ranking.sort(reverse=True)
        rivals: dict[int, list[tuple[float, int, Symbol, Symbol]]] = defaultdict(list)
        for pair in ranking:
            rivals[id(pair[2])].append(pair)
            rivals[id(pair[3])].append(pair)
        for pair in ranking:
            score, _, old, new = pair
            close = (rival for rival in (*rivals[id(old)], *rivals[id(new)]) if score - rival[0] < SCORE_MARGIN)
            if not any(rival is not pair and self.are_unmatched(*rival[2:]) for rival in close):
                self.pair_up(old, new)

    def _pair_candidates(self, olds: Sequence[Symbol]) -> Iterator[tuple[Symbol, Symbol]]:
        """Yield pairs with anything in common, so that a large commit is not compared all with all."""
        news = [symbol for symbol in self.new.values() if symbol.kind != FILE]
        by_triple: dict[int, list[Symbol]] = defaultdict(list)
        by_place: dict[tuple[str, str], list[Symbol]] = defaultdict(list)
        by_name: dict[str, list[Symbol]] = defaultdict(list)
        for new in news:
            by_place[new.path, new.parent].append(new)
            by_name[new.name].append(new)
            for triple in unpack(new.fingerprint.sketch):
                by_triple[triple].append(new)
        for old in olds:
            candidates = {
                id(new): new
                for new in (*by_place[old.path, old.parent][:_MAX_CANDIDATES], *by_name[old.name][:_MAX_CANDIDATES])
            }
            for triple in unpack(old.fingerprint.sketch):
                sharing = by_triple.get(triple, ())
                if len(sharing) <= _MAX_CANDIDATES:
                    candidates.update((id(new), new) for new in sharing)
            yield from ((old, new) for new in candidates.values() if new.family == old.family)


def score_evidence(old: Symbol, new: Symbol, *, is_common: bool) -> float:
    """Score how likely the new symbol is the old one; compare with `MIN_EVIDENCE`."""
    before, after = old.fingerprint, new.fingerprint
    smaller, larger = sorted((before.tokens, after.tokens))
    is_same_body = before.body == after.body and before.members == after.members
    body_similarity = 1.0 if is_same_body else measure_similarity(before.sketch, after.sketch)
    is_same_parent = (old.path, old.parent) == (new.path, new.parent)
    neighbours = (old.before == new.before) + (old.after == new.after) if is_same_parent else 0
    # A body that shrank or grew that much is something else, unless it stands between the same neighbours.
    if smaller < 0.4 * larger and not (neighbours == 2 and body_similarity >= 0.6):
        return 0.0
    name_score = measure_name_similarity(old.name, new.name)
    # Common names such as `get` and `__init__` say little.
    if name_score == 1.0 and (is_common or old.name.startswith("__")):
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


def _group(symbols: Iterable[Symbol], key: Callable[[Symbol], Hashable]) -> dict[Hashable, list[Symbol]]:
    groups: dict[Hashable, list[Symbol]] = defaultdict(list)
    for symbol in symbols:
        groups[key(symbol)].append(symbol)
    return groups
