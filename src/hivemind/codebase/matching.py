"""Which symbol of today is which of yesterday, across edits, renames and moves.

Never by body alone: most real renames come with edits. Evidence is added up (similar bodies, similar names,
the same container, the same neighbours, the same header); what two candidates fit as well stays unmatched.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from hivemind.codebase.fingerprint import similarity, unpack
from hivemind.model.code import FILE, LEAVES, Symbol

ENOUGH = 0.78
"""Evidence from which a pair is taken for the same thing."""

SMALL = 20
"""Tokens below which a body is weaker evidence: many getters look alike."""

MARGIN = 0.02
"""A rival this close makes a pair ambiguous."""

_COMMON = 60
"""A token triple shared by more symbols than this leads to nobody in particular."""

_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


class Pair(NamedTuple):
    """A symbol of yesterday and, unless it is gone, what it is today."""

    old: Symbol
    new: Symbol | None


def match(
    old: Sequence[Symbol],
    new: Sequence[Symbol],
    moves: Mapping[str, str] | None = None,
    *,
    caution: float = 0.0,
) -> list[Pair]:
    """Pair every old symbol with its successor; `moves` are files known to have moved, from git or elsewhere.

    Caution is asked for when the new symbols include some that may have been there before.
    """
    matching = _Matching(old, new, caution)
    matching.same_place()
    matching.moved_files(moves or {})
    matching.same_content()
    matching.kin(symbol for symbol in matching.lost.values() if symbol.kind not in LEAVES)
    matching.members_of_the_moved()
    matching.kin(matching.lost.values())
    matching.containers_of_the_moved()
    matching.members_of_the_moved()
    return [*matching.pairs, *(Pair(symbol, None) for symbol in matching.lost.values())]


class _Matching:
    """What is paired, what is lost and what is found so far."""

    def __init__(self, old: Sequence[Symbol], new: Sequence[Symbol], caution: float) -> None:
        self.lost = {id(symbol): symbol for symbol in old}
        self.found = {id(symbol): symbol for symbol in new}
        self.pairs: list[Pair] = []
        self.caution = caution

    def take(self, old: Symbol, new: Symbol | None) -> None:
        """Pair the two, if there are two and neither is taken."""
        if new is not None and self.are_free(old, new):
            del self.lost[id(old)], self.found[id(new)]
            self.pairs.append(Pair(old, new))

    def are_free(self, old: Symbol, new: Symbol) -> bool:
        return id(old) in self.lost and id(new) in self.found

    def same_place(self) -> None:
        """What has its path and qualified name is the same; overloads are told apart by what they are."""
        found = _grouped(self.found.values(), lambda symbol: (symbol.path, symbol.qualified))
        for place, olds in _grouped(self.lost.values(), lambda symbol: (symbol.path, symbol.qualified)).items():
            every = [(old, new) for old in olds for new in found.get(place, [])]
            for old, new in reversed(sorted(every, key=lambda pair: likeness(*pair)) if len(every) > 1 else every):
                self.take(old, new)

    def moved_files(self, moves: Mapping[str, str]) -> None:
        """What has its qualified name in the file its own has become."""
        known = dict(moves)
        files = [symbol for symbol in self.found.values() if symbol.kind == FILE]
        for old in [symbol for symbol in self.lost.values() if symbol.kind == FILE and symbol.path not in known]:
            near = sorted((similarity(old.fingerprint.sketch, new.fingerprint.sketch), new.path) for new in files)
            if near and near[-1][0] >= 0.6 and (len(near) == 1 or near[-1][0] - near[-2][0] > MARGIN):
                known[old.path] = near[-1][1]
        found = {symbol.key: symbol for symbol in self.found.values()}
        for old in list(self.lost.values()):
            self.take(old, found.get((known.get(old.path, ""), *old.key[1:])))

    def same_content(self) -> None:
        """What has its name and its body, somewhere else, and is the only one."""

        def content(symbol: Symbol) -> tuple[str, str, str, str]:
            seen = symbol.fingerprint
            return (symbol.name, symbol.family, seen.body, seen.members)

        found = _grouped(self.found.values(), content)
        for key, olds in _grouped(self.lost.values(), content).items():
            news = found.get(key, [])
            if len(olds) == len(news) == 1 and (
                olds[0].fingerprint.tokens >= SMALL
                or (olds[0].fingerprint.signature == news[0].fingerprint.signature and len(olds[0].name) >= 8)
            ):
                self.take(olds[0], news[0])

    def members_of_the_moved(self) -> None:
        """What has its name in what its container has become."""
        became = {
            (pair.old.path, pair.old.qualified): (pair.new.path, pair.new.qualified)
            for pair in self.pairs
            if pair.new is not None and pair.old.kind != FILE and pair.old.key[:2] != pair.new.key[:2]
        }
        found = {symbol.key: symbol for symbol in self.found.values()}
        for old in list(self.lost.values()):
            path, parent = became.get((old.path, old.parent), ("", ""))
            self.take(old, found.get((path, f"{parent}.{old.name}", old.family, old.ordinal)))

    def containers_of_the_moved(self) -> None:
        """What most of whose members now belong to one other container."""
        votes: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
        for old, new in self.pairs:
            if new is not None and old.parent:
                votes[old.path, old.parent][new.path, new.parent] += 1
        found = {(symbol.path, symbol.qualified, symbol.family): symbol for symbol in self.found.values()}
        for old in [symbol for symbol in self.lost.values() if (symbol.path, symbol.qualified) in votes]:
            ballots = votes[old.path, old.qualified]
            place, count = ballots.most_common(1)[0]
            if count >= 2 and count > ballots.total() / 2:
                self.take(old, found.get((*place, old.family)))

    def kin(self, olds: Iterable[Symbol]) -> None:
        """What all evidence together speaks for, best first, unless a rival is as good."""
        olds = [symbol for symbol in olds if symbol.kind != FILE]
        names = Counter(symbol.name for symbol in (*olds, *self.found.values()))
        scored: list[tuple[float, int, Symbol, Symbol]] = []
        for old, new in self._candidates(olds):
            score = evidence(old, new, is_common=names[old.name] > 2) - self.caution
            if score >= ENOUGH:
                scored.append((score, len(scored), old, new))
        scored.sort(reverse=True)
        rivals: dict[int, list[tuple[float, int, Symbol, Symbol]]] = defaultdict(list)
        for pair in scored:
            rivals[id(pair[2])].append(pair)
            rivals[id(pair[3])].append(pair)
        for pair in scored:
            score, _, old, new = pair
            near = (one for one in (*rivals[id(old)], *rivals[id(new)]) if score - one[0] < MARGIN)
            if not any(one is not pair and self.are_free(*one[2:]) for one in near):
                self.take(old, new)

    def _candidates(self, olds: Sequence[Symbol]) -> Iterator[tuple[Symbol, Symbol]]:
        """Pairs with anything in common, so that a large commit is not compared all with all."""
        news = [symbol for symbol in self.found.values() if symbol.kind != FILE]
        by_triple: dict[int, list[Symbol]] = defaultdict(list)
        by_place: dict[tuple[str, str], list[Symbol]] = defaultdict(list)
        by_name: dict[str, list[Symbol]] = defaultdict(list)
        for new in news:
            by_place[new.path, new.parent].append(new)
            by_name[new.name].append(new)
            for triple in unpack(new.fingerprint.sketch):
                by_triple[triple].append(new)
        for old in olds:
            near = {id(new): new for new in (*by_place[old.path, old.parent][:_COMMON], *by_name[old.name][:_COMMON])}
            for triple in unpack(old.fingerprint.sketch):
                sharing = by_triple.get(triple, ())
                if len(sharing) <= _COMMON:
                    near.update((id(new), new) for new in sharing)
            yield from ((old, new) for new in near.values() if new.family == old.family)


def evidence(old: Symbol, new: Symbol, *, is_common: bool) -> float:
    """How much speaks for the new symbol being the old one; compare with `ENOUGH`."""
    then, now = old.fingerprint, new.fingerprint
    small, large = sorted((then.tokens, now.tokens))
    same_body = then.body == now.body and then.members == now.members
    alike = 1.0 if same_body else similarity(then.sketch, now.sketch)
    same_parent = (old.path, old.parent) == (new.path, new.parent)
    neighbours = (old.before == new.before) + (old.after == new.after) if same_parent else 0
    if small < 0.4 * large and not (neighbours == 2 and alike >= 0.6):
        return 0.0
    names = name_similarity(old.name, new.name)
    if names == 1.0 and (is_common or old.name.startswith("__")):
        names = 0.5
    score = alike * min(1.0, small / SMALL) + 0.6 * names
    score += 0.15 * same_parent + 0.06 * neighbours + 0.08 * (then.signature == now.signature)
    if small < SMALL and not same_parent and not (same_body and names >= 0.95 and small >= 4):
        score -= 0.3
    return score if alike >= 0.25 or (neighbours == 2 and small < SMALL) else 0.0


@lru_cache(maxsize=8192)
def name_similarity(one: str, other: str) -> float:
    """How alike two names are, by their words and their letters, from 0 to 1."""
    if one == other:
        return 1.0
    left, right = one.lower().strip("_"), other.lower().strip("_")
    if left == right:
        return 0.95
    words, other_words = _words(one), _words(other)
    shared = len(words & other_words) / len(words | other_words)
    letters, other_letters = _letter_pairs(left), _letter_pairs(right)
    total = len(letters) + len(other_letters)
    return max(shared, 1.8 * len(letters & other_letters) / total if total else 0.0)


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORDS.findall(name)} or {name.lower()}


def _letter_pairs(name: str) -> set[str]:
    return {name[at : at + 2] for at in range(len(name) - 1)}


def likeness(old: Symbol, new: Symbol) -> tuple[bool, bool, bool, bool, int]:
    """By which of several symbols of one name in one place is told to be the old one; greater is nearer."""
    then, now = old.fingerprint, new.fingerprint
    return (
        old.family == new.family,
        then.raw == now.raw,
        then.signature == now.signature,
        then.body == now.body,
        -abs(old.ordinal - new.ordinal),
    )


def _grouped(symbols: Iterable[Symbol], key: Callable[[Symbol], Hashable]) -> dict[Hashable, list[Symbol]]:
    groups: dict[Hashable, list[Symbol]] = defaultdict(list)
    for symbol in symbols:
        groups[key(symbol)].append(symbol)
    return groups
