"""Judge how the code of anchors changed: compare them with the working tree as it is now.

Fingerprints say which symbols changed. Only for those the old code is compared with the new one, and the lines that
changed with what the memory says.
"""

import math
import time
from collections.abc import Iterable, Sequence
from functools import cache, partial

from hivemind.code import git
from hivemind.code.fingerprint import measure_similarity
from hivemind.code.grammars import find_language
from hivemind.code.index import CodeIndex
from hivemind.code.moved_symbols import Patience, find_moved, find_other_branch, make_similarity_key
from hivemind.code.parsing import outline
from hivemind.code.versions import CodeDifference, compare_versions, load_symbols_at
from hivemind.errors import NotFound
from hivemind.model.code import FILE, LOOSE_KINDS, UNCHANGED, Anchor, LineChange, Staleness, Symbol, SymbolChange
from hivemind.text.search_terms import extract_terms, find_shared

MINOR_SIMILARITY = 0.9
"""A file or folder at least this similar has changed only in details."""

REWRITE_SIMILARITY = 0.5
"""A file or folder less similar than this was rewritten, even if only its members changed."""

MIN_KEPT_WORDS = 2
"""Words of a memory in lines that did not change from which it is about those; one may be there by chance."""

MAX_SHOWN_LINES = 2
"""Changed lines in a text; each costs tokens."""

_CHANGE_TEXTS = {
    SymbolChange.FRESH: "unchanged",
    SymbolChange.COSMETIC: "only layout, comments or local names changed",
    SymbolChange.DOCS: "documentation changed",
    SymbolChange.MEMBERS: "changed",
    SymbolChange.BODY_MINOR: "changed a little",
    SymbolChange.BODY_MAJOR: "changed",
    SymbolChange.SIGNATURE: "signature changed",
}


def judge(
    index: CodeIndex,
    anchors: Sequence[Anchor],
    texts: Sequence[str] = (),
    commit: str = "",
    *,
    asked_at: float | None = None,
    deadline: float = math.inf,
) -> list[Staleness]:
    """Judge the staleness of each anchor, of as many as there is time for; only changed files are read again.

    The texts are what the memories of the anchors say; without them, every change asks to verify. A symbol that is not
    in its place is searched for in the whole tree. What cannot be done before the deadline, in CPU time, is left to the
    background, and the index then `is_behind`.
    """
    # Outside of git nothing is read in the background, so it is read now.
    patience = Patience(asked_at or time.time(), deadline if index.may_index else math.inf)
    load_symbols = cache(partial(_load_symbols, index))
    judgements: list[Staleness] = []
    for anchor, text in zip(anchors, texts or [""] * len(anchors), strict=True):
        # The first is always judged: a slow machine would never judge any.
        if judgements and patience.is_over:
            index.is_behind = True
            break
        if patience.is_limited and index.is_slow_to_read(anchor.path):
            index.is_behind = True
            judgements.append(_leave_open(anchor, SymbolChange.UNREAD, "its file changed and is being read"))
            continue
        symbol = find_in_place(anchor, load_symbols(anchor.path))
        if symbol is None:
            commit = commit or git.read_head(index.root)
            symbol = find_moved(index, anchor, commit, patience)
        judgements.append(_assess_anchor(index, anchor, text, symbol, commit))
    index.has_moved_code = index.has_moved_code or any(judgement.is_followed for judgement in judgements)
    return judgements


def _assess_anchor(index: CodeIndex, anchor: Anchor, text: str, symbol: Symbol | None, commit: str) -> Staleness:
    if symbol is None and index.is_behind:
        # As long as the tree is not read, a symbol that is not in its place may be in any other.
        return _leave_open(anchor, SymbolChange.MISSING, "no longer in its place; it is being searched for")
    if symbol is None:
        return assess_loss(anchor, find_other_branch(index.root, anchor, commit))
    if not differs_in_code(anchor, symbol):
        return assess_change(anchor, symbol, commit)
    try:
        difference = compare_versions(index, anchor, symbol)
    except NotFound:
        return assess_change(anchor, symbol, commit)
    return assess_change(anchor, symbol, commit, text, difference, is_same=difference is None)


def assess_loss(anchor: Anchor, branch: str = "") -> Staleness:
    """The staleness of an anchor whose symbol is nowhere in the tree; another branch may have it."""
    if branch:
        return _leave_open(anchor, SymbolChange.ELSEWHERE, f"not on this branch; {branch} has it")
    return _leave_open(anchor, SymbolChange.GONE, f"gone{_name_commit(anchor)}")


def _leave_open(anchor: Anchor, change: SymbolChange, text: str) -> Staleness:
    must_verify = change in (SymbolChange.GONE, SymbolChange.MISSING)
    return Staleness(
        anchor=anchor, change=change, edit=change, text=text, summary=text, now=None, must_verify=must_verify
    )


def differs_in_code(anchor: Anchor, new: Symbol) -> bool:
    """Whether the code itself must be compared, because the fingerprints differ in more than comments and layout."""
    old, now = anchor.symbol.fingerprint, new.fingerprint
    is_code = anchor.kind not in LOOSE_KINDS and find_language(anchor.path) is not None
    return is_code and old.raw != now.raw and old.code_digests != now.code_digests


def _load_symbols(index: CodeIndex, path: str) -> list[Symbol]:
    symbols = index.read_symbols(path)
    if not symbols and (folder := index.make_folder_symbol(path)):
        return [folder]
    if not symbols and git.is_outside_sparse_checkout(index.root, path):
        # The file is not on disk, but git's staging area has its content.
        sources = git.read_blobs(index.root, [f":{path}"])
        symbols = [symbol for source in sources.values() for symbol in outline(path, source).symbols]
    return symbols


def find_in_place(anchor: Anchor, symbols: Iterable[Symbol]) -> Symbol | None:
    """The symbol with the same qualified name in the same file; of several, the most similar one."""
    old = anchor.symbol
    candidates = [symbol for symbol in symbols if symbol.label == old.label]
    return max(candidates, key=lambda symbol: make_similarity_key(old, symbol), default=None)


def has_changed_since(index: CodeIndex, verdict: Staleness, commit: str) -> bool:
    """Whether the symbol of a judged anchor changed after this commit."""
    places = [verdict.anchor, *([verdict.now] if verdict.now else [])]
    old_symbols = load_symbols_at(index.root, commit, {place.path for place in places})
    old_symbol = next(filter(None, (find_in_place(place, old_symbols) for place in places)), None)
    if old_symbol is None or verdict.now is None:
        return old_symbol is not None or verdict.now is not None
    return compare(old_symbol, verdict.now.symbol) not in (SymbolChange.FRESH, SymbolChange.COSMETIC)


def compare(old: Symbol, new: Symbol, *, is_same: bool = False) -> SymbolChange:
    """Classify how the content differs, whatever place and name; `is_same` if the code is known to do the same."""
    before, after = old.fingerprint, new.fingerprint
    if before.raw == after.raw and (not before.body or before.docs == after.docs):
        return SymbolChange.FRESH
    quiet_change = SymbolChange.DOCS if before.body and before.docs != after.docs else SymbolChange.COSMETIC
    if is_same:
        return quiet_change
    # An anchor by another version of the program: only the bytes can be compared.
    if not before.body:
        return SymbolChange.BODY_MAJOR
    if old.family != new.family or before.signature != after.signature:
        return SymbolChange.SIGNATURE
    # A file or folder is judged by how much of it is left.
    kept_share = measure_similarity(before.sketch, after.sketch) if old.kind in LOOSE_KINDS else None
    if before.body != after.body:
        is_minor = kept_share is not None and kept_share >= MINOR_SIMILARITY
        return SymbolChange.BODY_MINOR if is_minor else SymbolChange.BODY_MAJOR
    if before.members != after.members:
        is_rewritten = kept_share is not None and kept_share < REWRITE_SIMILARITY
        return SymbolChange.BODY_MAJOR if is_rewritten else SymbolChange.MEMBERS
    return quiet_change


def assess_change(
    anchor: Anchor,
    new: Symbol,
    commit: str = "",
    statement: str = "",
    difference: CodeDifference | None = None,
    *,
    is_same: bool = False,
) -> Staleness:
    """The staleness of an anchor, given its symbol of today, what its memory says and how its code differs."""
    old = anchor.symbol
    edit = compare(old, new, is_same=is_same)
    change = _classify_move(old, new) or edit
    words = _find_own_words(anchor, statement)
    lines = _sort_lines(anchor.symbol, new, edit, words, difference) if difference and edit not in UNCHANGED else []
    summary = _summarise(anchor, new, change, edit)
    shown_lines = [*dict.fromkeys(map(str, lines))]
    more = len(shown_lines) - MAX_SHOWN_LINES
    code = "; ".join(shown_lines[:MAX_SHOWN_LINES]) + (f" and {more} more" if more > 0 else "")
    return Staleness(
        anchor=anchor,
        change=change,
        edit=edit,
        text=f"{summary}: {code}" if code else summary,
        summary=summary,
        now=Anchor.of(new, commit),
        must_verify=_must_verify(anchor, edit) and not (difference and _is_about_the_rest(words, difference)),
        lines=tuple(lines),
    )


def _sort_lines(
    old: Symbol, new: Symbol, edit: SymbolChange, words: Sequence[str], difference: CodeDifference
) -> list[LineChange]:
    """Sort changed lines: the header on which callers depend, then those with words of the memory."""
    lines = sorted(difference.lines, key=lambda line: not find_shared(words, f"{line.old}\n{line.new}"))
    if edit is not SymbolChange.SIGNATURE or old.signature == new.signature:
        return lines
    # Without their own names.
    header = LineChange(old=old.signature, new=new.signature.replace(new.name, old.name, 1))
    return [header, *(line for line in lines if line.old.rstrip(" {=:;") not in old.signature)]


def _must_verify(anchor: Anchor, edit: SymbolChange) -> bool:
    """Whether a change asks to verify what a memory says about any part of the code."""
    # Changes somewhere in a file leave most memories true; asking about each would teach people to ignore it.
    if edit is SymbolChange.MEMBERS:
        return anchor.kind not in LOOSE_KINDS
    return edit in (SymbolChange.BODY_MAJOR, SymbolChange.SIGNATURE)


def _find_own_words(anchor: Anchor, statement: str) -> list[str]:
    """The words of a memory beside the name of the symbol, which stands in many lines and says nothing about them."""
    words = extract_terms(statement)
    name_words = find_shared(words, anchor.qualified)
    return [word for word in words if word not in name_words]


def _is_about_the_rest(words: Sequence[str], difference: CodeDifference) -> bool:
    """Whether a memory has words of lines that did not change, and none of lines that did."""
    if not difference.lines:  # only the indentation of lines changed
        return False
    changed_code = "\n".join(f"{line.old}\n{line.new}" for line in difference.lines)
    return not find_shared(words, changed_code) and len(find_shared(words, difference.kept)) >= MIN_KEPT_WORDS


def _summarise(anchor: Anchor, new: Symbol, change: SymbolChange, edit: SymbolChange) -> str:
    old = anchor.symbol
    text = _CHANGE_TEXTS[edit]
    if change is not edit:
        # The path is named only if it is another one.
        place = new.qualified if new.path == old.path else new.path if new.qualified == old.qualified else new.label
        text = f"{change} to {place}" + ("" if edit in UNCHANGED else f", {text}")
    return text if change is SymbolChange.FRESH else text + _name_commit(anchor)


def _name_commit(anchor: Anchor) -> str:
    return f" since {anchor.commit[:7]}" if anchor.commit else ""


def _classify_move(old: Symbol, new: Symbol) -> SymbolChange | None:
    """Whether the symbol was renamed or moved; a new name outweighs a new place."""
    if (old.path, old.qualified) == (new.path, new.qualified):
        return None
    if old.kind == FILE:
        is_same_folder = old.path.rpartition("/")[0] == new.path.rpartition("/")[0]
        return SymbolChange.RENAMED if is_same_folder else SymbolChange.MOVED
    return SymbolChange.RENAMED if old.name != new.name else SymbolChange.MOVED
