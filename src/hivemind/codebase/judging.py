"""Whether memories still fit the code: their anchors against the working tree as it is now."""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress

from hivemind.codebase import git
from hivemind.codebase.fingerprint import digest
from hivemind.codebase.grammar import language_of
from hivemind.codebase.index import Index
from hivemind.codebase.matching import likeness, match
from hivemind.codebase.staleness import compare, staleness
from hivemind.codebase.symbols import outline
from hivemind.errors import StoreBusy, Unavailable
from hivemind.model.code import FILE, Anchor, Change, Staleness, Symbol

CAUTION = 0.15
"""Evidence asked for in addition where git cannot tell which candidates are new."""

PATIENCE_SECONDS = 3.0
"""How long a symbol that was nowhere is not looked for in files that nobody reported as changed."""

MAX_PLACES = 40
"""Files in which a lost symbol is looked for."""


def judge(index: Index, anchors: Sequence[Anchor], commit: str = "", *, in_passing: bool = False) -> list[Staleness]:
    """What became of each anchor's symbol; only files whose stamp differs are read again.

    A symbol that is not in its place is looked for in the tree as it is now; in passing, as it was last seen.
    """
    today = {path: _symbols_of(index, path) for path in dict.fromkeys(anchor.path for anchor in anchors)}
    found = [_in_place(anchor, today[anchor.path]) for anchor in anchors]
    if any(symbol is None for symbol in found):
        commit = commit or git.head(index.root)
    return [
        staleness(anchor, symbol or _followed(index, anchor, commit, in_passing), commit)
        for anchor, symbol in zip(anchors, found, strict=True)
    ]


def _symbols_of(index: Index, path: str) -> list[Symbol]:
    found = index.symbols_of(path)
    if not found and git.is_left_out(index.root, path):
        kept = git.contents(index.root, [f":{path}"])
        found = [symbol for source in kept.values() for symbol in outline(path, source).symbols]
    return found


def _in_place(anchor: Anchor, symbols: Iterable[Symbol]) -> Symbol | None:
    """The symbol of the same name in the same file; of several, the one most like it."""
    old = anchor.symbol
    same = [symbol for symbol in symbols if symbol.qualified == old.qualified]
    return max(same, key=lambda symbol: likeness(old, symbol), default=None)


def _followed(index: Index, anchor: Anchor, commit: str, in_passing: bool) -> Symbol | None:
    """Where a symbol went that is no longer in its place; remembered until something changes."""
    question = "lost:" + digest(f"{anchor.label}\0{anchor.kind}\0{anchor.fingerprint}\0{anchor.commit}".encode())
    with suppress(StoreBusy):  # whoever keeps the index busy is bringing it up to date
        index.refresh_if_older(math.inf if in_passing else PATIENCE_SECONDS)
    state = f"{commit}\0{index.generation}\0"
    answer = index.fact(question)
    if index.generation and answer.startswith(state):
        place = answer.removeprefix(state)
        return next((one for one in index.symbols_of(place.partition("\0")[0]) if _place(one) == place), None)
    found = _search(index, anchor, commit)
    with suppress(StoreBusy):
        index.note(question, f"{commit}\0{index.generation}\0{_place(found) if found else ''}")
    return found


def _place(symbol: Symbol) -> str:
    return "\0".join((symbol.path, symbol.qualified, symbol.kind, str(symbol.ordinal)))


def _search(index: Index, anchor: Anchor, commit: str) -> Symbol | None:
    old = anchor.symbol
    changed, moves = _since(index, anchor.commit, commit)
    name = anchor.path.rpartition("/")[2]
    near = [anchor.path, moves.get(anchor.path, anchor.path)]
    near += index.files_called(name) if old.kind == FILE else [one.path for one in index.named(anchor.name)]
    near += [one.path for one in index.resembling(old.fingerprint)]
    # What git saw changing comes last: a large merge must not crowd out better leads.
    places = [*dict.fromkeys([*near, *changed])][:MAX_PLACES]
    today = [symbol for path in places for symbol in index.symbols_of(path)]
    before = _symbols_at(index, anchor.commit, [*dict.fromkeys([anchor.path, *places])])
    known = [symbol for symbol in before if symbol.key != old.key]
    pairs = match([old, *known], today, moves, caution=0.0 if before else CAUTION)
    return next(pair.new for pair in pairs if pair.old is old)


def _since(index: Index, then: str, now: str) -> tuple[list[str], dict[str, str]]:
    if not then or not now:
        return [], {}
    try:
        paths, moves = git.changed(index.root, then, now)
    except Unavailable:  # the commit was never here, or was rewritten
        return [], {}
    return [path for path in paths if language_of(path)], moves


def _symbols_at(index: Index, commit: str, paths: Sequence[str]) -> list[Symbol]:
    if not commit:
        return []
    try:
        sources = git.contents(index.root, [f"{commit}:{path}" for path in paths])
    except Unavailable:
        return []
    found = ((path, sources.get(f"{commit}:{path}")) for path in paths)
    return [symbol for path, source in found if source is not None for symbol in outline(path, source).symbols]


def changed_since(index: Index, one: Staleness, commit: str) -> bool:
    """Whether any of what became of an anchor's symbol was done after this commit."""
    places = [one.anchor, *([one.now] if one.now else [])]
    known = _symbols_at(index, commit, [*dict.fromkeys(place.path for place in places)])
    there = ((place, [symbol for symbol in known if symbol.path == place.path]) for place in places)
    then = next((found for place, symbols in there if (found := _in_place(place, symbols))), None)
    if then is None or one.now is None:
        return then is not None or one.now is not None
    return compare(then, one.now.symbol) not in (Change.FRESH, Change.COSMETIC)
