"""What became of the code that memories hold on to: their anchors against the working tree as it is now.

What a change means is a pure function of how a symbol was and how it is; only where it went must be looked for.
"""

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress

from hivemind.codebase import git
from hivemind.codebase.fingerprint import digest, similarity
from hivemind.codebase.grammar import language_of
from hivemind.codebase.index import Index
from hivemind.codebase.matching import likeness, match
from hivemind.codebase.symbols import outline
from hivemind.errors import StoreBusy, Unavailable
from hivemind.model.code import FILE, Anchor, Change, Staleness, Symbol

MINOR = 0.9
"""A body that keeps this much of itself has changed in a detail."""

REWRITTEN = 0.5
"""A container that keeps less than this of itself is another thing, even if only its members changed."""

CAUTION = 0.15
"""Evidence asked for in addition where git cannot tell which candidates are new."""

PATIENCE_SECONDS = 3.0
"""How long a symbol that was nowhere is not looked for in files that nobody reported as changed."""

MAX_PLACES = 40
"""Files in which a lost symbol is looked for."""

_SHOWN = 160
_SAID = {
    Change.FRESH: "unchanged",
    Change.COSMETIC: "only layout or comments changed",
    Change.DOCS: "documentation changed",
    Change.MEMBERS: "some of its members changed ({share})",
    Change.BODY_MINOR: "body changed a little ({share})",
    Change.BODY_MAJOR: "body changed ({share})",
}


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
    if not found and (folder := index.folder(path)):
        return [folder]
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
    changed, moves = _changed(index, anchor.commit, commit)
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


def _changed(index: Index, then: str, now: str) -> tuple[list[str], dict[str, str]]:
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


def compare(old: Symbol, new: Symbol) -> Change:
    """How the content differs, wherever it is and whatever it is called."""
    then, now = old.fingerprint, new.fingerprint
    if then.raw == now.raw and (not then.body or then.docs == now.docs):
        return Change.FRESH
    if not then.body:  # written by another version of the program, so that only the bytes can be compared
        return Change.BODY_MAJOR
    if old.family != new.family or then.signature != now.signature:
        return Change.SIGNATURE
    if then.body != now.body:
        return Change.BODY_MINOR if similarity(then.sketch, now.sketch) >= MINOR else Change.BODY_MAJOR
    if then.members != now.members:
        return Change.MEMBERS if similarity(then.sketch, now.sketch) >= REWRITTEN else Change.BODY_MAJOR
    return Change.DOCS if then.docs != now.docs else Change.COSMETIC


def staleness(anchor: Anchor, new: Symbol | None, commit: str = "") -> Staleness:
    """What became of an anchor, given the symbol it leads to today, if any, and the commit checked out."""
    old = anchor.symbol
    if new is None:
        text = f"gone: {anchor.label} is no longer there{_since(anchor)}"
        return Staleness(anchor=anchor, change=Change.GONE, edit=Change.GONE, text=text, now=None)
    edit = compare(old, new)
    change = _journey(old, new) or edit
    text = _signature(old, new) if edit is Change.SIGNATURE else _SAID[edit]
    if "{share}" in text:
        text = text.format(share=_share(old, new))
    if change is not edit:
        text = f"{change} to {new.label}" + ("" if edit in (Change.FRESH, Change.COSMETIC) else f"; {text}")
    if change is not Change.FRESH:
        text += _since(anchor)
    return Staleness(anchor=anchor, change=change, edit=edit, text=text, now=Anchor.of(new, commit))


def _since(anchor: Anchor) -> str:
    return f" since {anchor.commit[:9]}" if anchor.commit else ""


def _journey(old: Symbol, new: Symbol) -> Change | None:
    """Whether it is called otherwise or stands elsewhere; a new name outweighs a new place."""
    if (old.path, old.qualified) == (new.path, new.qualified):
        return None
    if old.kind == FILE:
        same_folder = old.path.rpartition("/")[0] == new.path.rpartition("/")[0]
        return Change.RENAMED if same_folder else Change.MOVED
    return Change.RENAMED if old.name != new.name else Change.MOVED


def _share(old: Symbol, new: Symbol) -> str:
    if not old.fingerprint.sketch:
        return "how much is not known"
    kept = similarity(old.fingerprint.sketch, new.fingerprint.sketch)
    return f"about {max(1, round(100 * (1 - kept)))} % of it"


def _signature(old: Symbol, new: Symbol) -> str:
    if old.family != new.family:
        return f"signature changed: was a {old.kind}, is a {new.kind}"
    head, _, before = old.signature.partition(old.name)
    new_head, _, after = new.signature.partition(new.name)
    if head != new_head or not (before and after):
        before, after = old.signature, new.signature
    text = "signature changed"
    if before != after:
        text += f": {_short(before)} → {_short(after)}"
    if old.fingerprint.body != new.fingerprint.body:
        text += f"; body changed too ({_share(old, new)})"
    return text


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
