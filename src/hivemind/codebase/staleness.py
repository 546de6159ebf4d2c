"""What became of a symbol: a pure function of how it was and how it is."""

from hivemind.codebase.fingerprint import similarity
from hivemind.model.code import FILE, Anchor, Change, Staleness, Symbol

MINOR = 0.9
"""A body that keeps this much of itself has changed in a detail."""

REWRITTEN = 0.5
"""A container that keeps less than this of itself is another thing, even if only its members changed."""

_SHOWN = 160
_SAID = {
    Change.FRESH: "unchanged",
    Change.COSMETIC: "only layout or comments changed",
    Change.DOCS: "documentation changed",
    Change.MEMBERS: "some of its members changed ({share})",
    Change.BODY_MINOR: "body changed a little ({share})",
    Change.BODY_MAJOR: "body changed ({share})",
}


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
