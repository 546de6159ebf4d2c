"""Judge how the code of anchors changed: compare them with the working tree as it is now.

Fingerprints say which symbols changed; only for those the old code is read from git and compared with the new one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress

from hivemind.code import git
from hivemind.code.fingerprint import measure_similarity
from hivemind.code.grammars import find_language
from hivemind.code.index import CodeIndex
from hivemind.code.moved_symbols import find_moved, make_similarity_key
from hivemind.code.parsing import outline
from hivemind.code.versions import CodeDifference, HasTime, Versions, has_all_time, load_symbols_at
from hivemind.model.code import FILE, LOOSE_KINDS, Anchor, LineChange, Staleness, Symbol, SymbolChange

MINOR_SIMILARITY = 0.9
"""A file or folder at least this similar has changed only in details."""

REWRITE_SIMILARITY = 0.5
"""A file or folder less similar than this was rewritten, even if only its members changed."""

MAX_NAMED_MEMBERS = 3

CHEAP_SECONDS = 0.01
"""What seems to take no longer is done for the first anchor whatever the clock says: a slow machine never would."""

_MAX_SIGNATURE_LENGTH = 160
_READABLE_SIGNATURES = 60
"""Characters of two signatures that can be compared at a glance."""
_PARAMETER_BORDER = re.compile(r"(?<=, )|(?=\))")
_CHANGE_TEXTS = {
    SymbolChange.UNREAD: "its file changed and is being read",
    SymbolChange.MISSING: "no longer in its place; it is being searched for",
    SymbolChange.FRESH: "unchanged",
    SymbolChange.COSMETIC: "only layout, comments or local names changed",
    SymbolChange.DOCS: "documentation changed",
    SymbolChange.MEMBERS: "some of its members changed ({share})",
    SymbolChange.BODY_MINOR: "body changed a little ({share})",
    SymbolChange.BODY_MAJOR: "body changed ({share})",
}


def judge(
    index: CodeIndex,
    anchors: Sequence[Anchor],
    commit: str = "",
    *,
    in_passing: bool = False,
    has_time: HasTime | None = None,
) -> list[Staleness]:
    """Judge the staleness of each anchor, of as many as there is time for; only changed files are read again.

    A symbol that is not in its place is searched for in the whole tree as it is now, or, `in_passing`, as last indexed.
    What nobody has the time for is left to the background, and the index then `is_behind`.
    """
    judgements: list[Staleness] = []

    def has_more_time(seconds: float) -> bool:
        return has_time is None or (not judgements and seconds <= CHEAP_SECONDS) or has_time(seconds)

    # With little time, the clock is looked at before each anchor.
    page_size = 1 if has_time else len(anchors)
    while len(judgements) < len(anchors) and has_more_time(0.0):
        page = anchors[len(judgements) : len(judgements) + page_size]
        judgements += _judge_page(index, page, commit, in_passing, has_more_time)
    index.is_behind = index.is_behind or len(judgements) < len(anchors)
    return judgements


def _judge_page(
    index: CodeIndex, anchors: Sequence[Anchor], commit: str, in_passing: bool, has_time: HasTime
) -> list[Staleness]:
    # Outside of git nothing is read in the background, so it is read now.
    has_time = has_time if index.may_index else has_all_time
    are_due = [has_time(index.estimate_seconds(anchor.path)) for anchor in anchors]
    index.is_behind = index.is_behind or not all(are_due)
    judgements = iter(_judge(index, [*compress(anchors, are_due)], commit, in_passing, has_time))
    return [
        next(judgements) if is_due else _leave_open(anchor, SymbolChange.UNREAD)
        for anchor, is_due in zip(anchors, are_due, strict=True)
    ]


def _leave_open(anchor: Anchor, change: SymbolChange) -> Staleness:
    return Staleness(anchor=anchor, change=change, edit=change, text=_CHANGE_TEXTS[change], now=None)


def _judge(
    index: CodeIndex, anchors: Sequence[Anchor], commit: str, in_passing: bool, has_time: HasTime
) -> list[Staleness]:
    symbols_by_path = {path: _load_symbols(index, path) for path in dict.fromkeys(anchor.path for anchor in anchors)}
    symbols = [_find_in_place(anchor, symbols_by_path[anchor.path]) for anchor in anchors]
    if any(symbol is None for symbol in symbols):
        commit = commit or git.read_head(index.root)
    symbols = [
        symbol or find_moved(index, anchor, commit, in_passing, has_time)
        for anchor, symbol in zip(anchors, symbols, strict=True)
    ]
    pairs = [*zip(anchors, symbols, strict=True)]
    changed_anchors = [anchor for anchor, symbol in pairs if symbol and _needs_text(anchor, symbol)]
    versions = Versions(index, changed_anchors, has_time)
    return [
        # As long as the tree is not read, a symbol that is not in its place may be in any other.
        _leave_open(anchor, SymbolChange.MISSING)
        if symbol is None and index.is_behind
        else assess_change(
            anchor, symbol, commit, versions.compare(anchor, symbol) if symbol and _needs_text(anchor, symbol) else None
        )
        for anchor, symbol in pairs
    ]


def _needs_text(anchor: Anchor, new: Symbol) -> bool:
    """Whether the code itself must be compared, because the fingerprints differ in more than comments and layout."""
    old, now = anchor.symbol.fingerprint, new.fingerprint
    is_code = anchor.kind not in LOOSE_KINDS and find_language(anchor.path) is not None
    return is_code and old.raw != now.raw and (old.signature, old.body, old.members) != (
        now.signature, now.body, now.members,
    )  # fmt: skip


def _load_symbols(index: CodeIndex, path: str) -> list[Symbol]:
    symbols = index.read_symbols(path)
    if not symbols and (folder := index.make_folder_symbol(path)):
        return [folder]
    if not symbols and git.is_outside_sparse_checkout(index.root, path):
        # The file is not on disk, but git's staging area has its content.
        sources = git.read_blobs(index.root, [f":{path}"])
        symbols = [symbol for source in sources.values() for symbol in outline(path, source).symbols]
    return symbols


def _find_in_place(anchor: Anchor, symbols: Iterable[Symbol]) -> Symbol | None:
    """The symbol with the same qualified name in the same file; of several, the most similar one."""
    old = anchor.symbol
    candidates = [symbol for symbol in symbols if symbol.qualified == old.qualified]
    return max(candidates, key=lambda symbol: make_similarity_key(old, symbol), default=None)


def has_changed_since(index: CodeIndex, verdict: Staleness, commit: str) -> bool:
    """Whether the symbol of a judged anchor changed after this commit."""
    places = [verdict.anchor, *([verdict.now] if verdict.now else [])]
    old_symbols = load_symbols_at(index.root, commit, [*dict.fromkeys(place.path for place in places)])
    by_place = ((place, [symbol for symbol in old_symbols if symbol.path == place.path]) for place in places)
    old_symbol = next((symbol for place, symbols in by_place if (symbol := _find_in_place(place, symbols))), None)
    if old_symbol is None or verdict.now is None:
        return old_symbol is not None or verdict.now is not None
    return compare(old_symbol, verdict.now.symbol) not in (SymbolChange.FRESH, SymbolChange.COSMETIC)


def compare(old: Symbol, new: Symbol, difference: CodeDifference | None = None) -> SymbolChange:
    """Classify how the content differs, whatever the place and the name; without a difference by fingerprints alone."""
    before, after = old.fingerprint, new.fingerprint
    if before.raw == after.raw and (not before.body or before.docs == after.docs):
        return SymbolChange.FRESH
    is_docs_changed = bool(before.body) and before.docs != after.docs
    if difference is not None and not difference.exists:
        return SymbolChange.DOCS if is_docs_changed else SymbolChange.COSMETIC
    # An anchor by another version of the program: only the bytes can be compared.
    if not before.body:
        return SymbolChange.BODY_MAJOR if difference is None or difference.is_own else SymbolChange.MEMBERS
    if old.family != new.family or before.signature != after.signature:
        return SymbolChange.SIGNATURE
    if old.kind in LOOSE_KINDS:
        return _compare_loosely(old, new)
    if before.body != after.body:
        return SymbolChange.BODY_MAJOR
    if before.members != after.members:
        return SymbolChange.MEMBERS
    return SymbolChange.DOCS if is_docs_changed else SymbolChange.COSMETIC


def _compare_loosely(old: Symbol, new: Symbol) -> SymbolChange:
    """Classify the change of a file or folder by how much of it is left."""
    before, after = old.fingerprint, new.fingerprint
    unchanged_share = measure_similarity(before.sketch, after.sketch)
    if before.body != after.body:
        return SymbolChange.BODY_MINOR if unchanged_share >= MINOR_SIMILARITY else SymbolChange.BODY_MAJOR
    if before.members != after.members:
        return SymbolChange.MEMBERS if unchanged_share >= REWRITE_SIMILARITY else SymbolChange.BODY_MAJOR
    return SymbolChange.DOCS if before.docs != after.docs else SymbolChange.COSMETIC


def assess_change(
    anchor: Anchor, new: Symbol | None, commit: str = "", difference: CodeDifference | None = None
) -> Staleness:
    """The staleness of an anchor, given its symbol of today, if any, and how its code differs, if that is known."""
    old = anchor.symbol
    if new is None:
        text = f"gone: {anchor.label} is no longer there{_name_commit(anchor)}"
        return Staleness(anchor=anchor, change=SymbolChange.GONE, edit=SymbolChange.GONE, text=text, now=None)
    edit = compare(old, new, difference)
    change = _classify_move(old, new) or edit
    text = _describe_edit(old, new, edit, difference)
    if change is not edit:
        text = f"{change} to {new.label}" + ("" if edit in (SymbolChange.FRESH, SymbolChange.COSMETIC) else f"; {text}")
    if change is not SymbolChange.FRESH:
        text += _name_commit(anchor)
    return Staleness(
        anchor=anchor,
        change=change,
        edit=edit,
        text=text,
        now=Anchor.of(new, commit),
        lines=tuple(_select_lines(difference, old, edit)) if difference else (),
        replaced=difference.replaced if difference else (),
    )


def _select_lines(difference: CodeDifference, old: Symbol, edit: SymbolChange) -> Iterator[LineChange]:
    """Yield the changed lines to show, without the header if the text about the signature shows it already."""
    for line in difference.lines:
        if edit is not SymbolChange.SIGNATURE or not line.old or line.old.rstrip(" {=:;") not in old.signature:
            yield line


def _describe_edit(old: Symbol, new: Symbol, edit: SymbolChange, difference: CodeDifference | None) -> str:
    if edit is SymbolChange.SIGNATURE:
        return _describe_signature(old, new)
    if difference is None or edit not in (SymbolChange.MEMBERS, SymbolChange.BODY_MAJOR):
        return _CHANGE_TEXTS[edit].format(share=_describe_share(old, new))
    notes = [f"member {member.name} {member.verb}" for member in difference.members[:MAX_NAMED_MEMBERS]]
    more = len(difference.members) - len(notes)
    parts = [*(["body changed"] if difference.is_own else []), *notes, *([f"{more} more members"] if more > 0 else [])]
    return ", ".join(parts)


def _name_commit(anchor: Anchor) -> str:
    return f" since {anchor.commit[:9]}" if anchor.commit else ""


def _classify_move(old: Symbol, new: Symbol) -> SymbolChange | None:
    """Whether the symbol was renamed or moved; a new name outweighs a new place."""
    if (old.path, old.qualified) == (new.path, new.qualified):
        return None
    if old.kind == FILE:
        is_same_folder = old.path.rpartition("/")[0] == new.path.rpartition("/")[0]
        return SymbolChange.RENAMED if is_same_folder else SymbolChange.MOVED
    return SymbolChange.RENAMED if old.name != new.name else SymbolChange.MOVED


def _describe_share(old: Symbol, new: Symbol) -> str:
    if not old.fingerprint.sketch:
        return "share unknown"
    unchanged_share = measure_similarity(old.fingerprint.sketch, new.fingerprint.sketch)
    return f"about {max(1, round(100 * (1 - unchanged_share)))} % of it"


def _describe_signature(old: Symbol, new: Symbol) -> str:
    if old.family != new.family:
        return f"signature changed: was a {old.kind}, is a {new.kind}"
    # Only what follows the name is shown, unless the part before it changed too.
    old_head, _, old_tail = old.signature.partition(old.name)
    new_head, _, new_tail = new.signature.partition(new.name)
    if old_head != new_head or not (old_tail and new_tail):
        old_tail, new_tail = old.signature, new.signature
    text = "signature changed"
    if old_tail != new_tail:
        text += ": " + " → ".join(map(_truncate, _leave_out_common(old_tail, new_tail)))
    if old.fingerprint.body != new.fingerprint.body:
        text += f"; body changed too ({_describe_share(old, new)})"
    return text


def _leave_out_common(old: str, new: str) -> tuple[str, str]:
    """Leave out the parameters that two long signatures have in common at their beginning and end."""
    if len(old) + len(new) <= _READABLE_SIGNATURES:
        return old, new
    old_parts, new_parts = _PARAMETER_BORDER.split(old), _PARAMETER_BORDER.split(new)
    head = _count_equal(old_parts, new_parts)
    tail = _count_equal(old_parts[head:][::-1], new_parts[head:][::-1])
    old_text, new_text = ("".join(parts[head : len(parts) - tail]).rstrip(", ") for parts in (old_parts, new_parts))
    # Of a parameter that was only added or removed, the whole says where.
    if not (old_text and new_text):
        return old, new
    before, after = "… " if head else "", " …" if tail else ""
    return before + old_text + after, before + new_text + after


def _count_equal(parts: Sequence[str], other_parts: Sequence[str]) -> int:
    pairs = zip(parts, other_parts, strict=False)
    return next(
        (place for place, (part, other) in enumerate(pairs) if part != other), min(len(parts), len(other_parts))
    )


def _truncate(text: str) -> str:
    return text if len(text) <= _MAX_SIGNATURE_LENGTH else text[: _MAX_SIGNATURE_LENGTH - 1] + "…"
