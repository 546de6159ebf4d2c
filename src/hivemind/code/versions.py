"""The code of an anchor, then and now: where it is kept, and which of its lines differ.

The old code is kept in the index when a link is made, so that it can be shown for uncommitted code and outside of git;
where the index was deleted since, git has it. Two versions do the same if they are equal up to layout, comments and a
consistent choice of local names.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from hivemind.code import git, working_tree
from hivemind.code.fingerprint import tokenize
from hivemind.code.grammars import find_language, load_grammar
from hivemind.code.index import CodeIndex
from hivemind.code.parsing import digest_code, outline, strip_comments
from hivemind.errors import InvalidInput, NotFound, Unavailable
from hivemind.model.code import CALLABLES, LOOSE_KINDS, Anchor, LineChange, Symbol
from hivemind.text.clean import count_equal

MAX_LATER_COMMITS = 5
"""Commits after that of an anchor in which its code is searched for, if it was not committed yet."""

MAX_COMPARED = 1_000
"""Lines between the first and the last change that are compared; the time grows with their square."""

MAX_PAIRED = 12
"""Lines of one change that are paired by likeness; in a larger one, a removed line has no successor."""

SAME_LINE = 0.5
"""Likeness from which a line is another version of a line, rather than a new one."""

_WHOLE_NAME = re.compile(rb"[\w$]+")
_LOCAL_NAME = re.compile(rb"[a-z_$][\w$]*")
_BEFORE_FOREIGN_NAME = frozenset({b".", b"->", b"::", b"@", b"#", b"$"})
"""Signs before a name that belongs to something else: a member, a path, a decorator."""


class CodeDifference(NamedTuple):
    """What differs between two versions of a definition."""

    lines: tuple[LineChange, ...]
    kept: str
    """The lines that both have."""


def compare_code(old: Symbol, old_code: str, new: Symbol, new_code: str) -> CodeDifference | None:
    """Compare two versions of a definition; None if they do the same."""
    before, after = strip_comments(old.path, old_code.encode()), strip_comments(new.path, new_code.encode())
    if old.name != new.name:
        # Its own name says nothing about what it does.
        after = _replace_names(after, {new.name.encode(): old.name.encode()})
    renames = _find_renames(old, before, after) if old.kind in CALLABLES else {}
    if digest_code(old.path, _replace_names(before, renames)) == digest_code(new.path, after):
        return None
    old_lines, new_lines = _list_lines(before), _list_lines(after)
    hunks, kept = _split_lines(old_lines, new_lines)
    return CodeDifference(tuple(line for hunk in hunks for line in pair_lines(*hunk)), "\n".join(kept))


def _replace_names(code: bytes, names: Mapping[bytes, bytes]) -> bytes:
    return _WHOLE_NAME.sub(lambda name: names.get(name[0], name[0]), code)


def _find_renames(symbol: Symbol, before: bytes, after: bytes) -> dict[bytes, bytes]:
    """Find the local names of a function that were replaced consistently."""
    language = find_language(symbol.path)
    grammar = load_grammar(language) if language else None
    old_tokens, new_tokens = tokenize(before, grammar), tokenize(after, grammar)
    if len(old_tokens) != len(new_tokens):
        return {}
    renames = {pair for pair in zip(old_tokens, new_tokens, strict=True) if pair[0] != pair[1]}
    old_names, new_names = {name for name, _ in renames}, {name for _, name in renames}
    # One name for one name, and neither in use beside the other: else two things became one, or changed places.
    if not len(renames) == len(old_names) == len(new_names) or old_names & {*new_tokens} or new_names & {*old_tokens}:
        return {}
    # Callers may name a parameter in some languages.
    header = tokenize(symbol.signature.encode(), grammar) if grammar and grammar.has_named_arguments else []
    is_local = old_names <= _find_local_names(old_tokens) - {*header} and new_names <= _find_local_names(new_tokens)
    return dict(renames) if is_local else {}


def _find_local_names(tokens: Sequence[bytes]) -> set[bytes]:
    """Find names that only a function itself can know: in lower case, used twice, neither called nor a member."""
    counts = Counter(tokens)
    foreign_names = {name for sign, name in pairwise(tokens) if sign in _BEFORE_FOREIGN_NAME}
    called_names = {name for name, sign in pairwise(tokens) if sign == b"("}
    local_names = {name for name in counts if counts[name] > 1 and _LOCAL_NAME.fullmatch(name)}
    return local_names - foreign_names - called_names


def _list_lines(code: bytes) -> list[str]:
    lines = (" ".join(line.split()) for line in code.decode("utf-8", "replace").splitlines())
    return [line for line in lines if line.strip("(){}[];,")]


def _split_lines(before: list[str], after: list[str]) -> tuple[list[tuple[list[str], list[str]]], list[str]]:
    """The parts in which two texts differ, and the lines that both have."""
    # Most edits are small, so equal beginnings and ends are set aside first.
    start = count_equal(before, after)
    end = count_equal(before[start:][::-1], after[start:][::-1])
    kept = [*before[:start], *before[len(before) - end :]]
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(before), len(after)) > MAX_COMPARED:
        return [(before, after)], kept
    hunks = []
    for tag, first, last, new_first, new_last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            kept += before[first:last]
        else:
            hunks.append((before[first:last], after[new_first:new_last]))
    return hunks, kept


def pair_lines(old_lines: Sequence[str], new_lines: Sequence[str]) -> Iterator[LineChange]:
    """Yield each old line with the new line that is most like it, in order; others were removed or added."""
    new_place = 0
    is_short = len(old_lines) <= MAX_PAIRED and len(new_lines) <= MAX_PAIRED
    for line in old_lines:
        likeness = [_measure_likeness(line, other) for other in new_lines[new_place:]] if is_short else []
        best = max(likeness, default=0.0)
        if best < SAME_LINE:
            yield LineChange(old=line, new="")
            continue
        target = new_place + likeness.index(best)
        yield from (LineChange(old="", new=added) for added in new_lines[new_place:target])
        yield LineChange(old=line, new=new_lines[target])
        new_place = target + 1
    yield from (LineChange(old="", new=added) for added in new_lines[new_place:])


def _measure_likeness(line: str, other: str) -> float:
    return SequenceMatcher(None, line, other, autojunk=False).ratio()


def compare_versions(index: CodeIndex, anchor: Anchor, new: Symbol) -> CodeDifference | None:
    """What differs between an anchor's code and a symbol of today; None if nothing does.

    Raises NotFound if the old code is not available.
    """
    content, old_code = working_tree.read(index.root, new.path), read_old_code(index, anchor)
    if content is None or not old_code:
        raise NotFound("its old code is not available")
    return compare_code(anchor.symbol, old_code, new, select_lines(content[1], new.line, new.end_line))


def read_old_code(index: CodeIndex, anchor: Anchor) -> str:
    """The anchor's code when it was linked; empty if neither the index nor git has it."""
    raw, path = anchor.symbol.fingerprint.raw, anchor.path
    if raw in (kept_code := index.read_kept_code([raw])):
        return kept_code[raw]
    # The file may have had uncommitted changes then; a later commit may have them, most likely the next.
    revisions = ("--reverse", f"{anchor.commit}..HEAD", "--", f":(literal){path}")
    is_dated = git.COMMIT_ID.fullmatch(anchor.commit)
    later_commits = git.run_or_empty(index.root, "rev-list", *revisions).split() if is_dated else []
    for commit in (anchor.commit, *later_commits[:MAX_LATER_COMMITS]):
        source = _read_files_at(index.root, commit, [path]).get(path, b"")
        if place := next((symbol for symbol in outline(path, source).symbols if symbol.fingerprint.raw == raw), None):
            return select_lines(source, place.line, place.end_line)
    return ""


def keep_code(index: CodeIndex, anchors: Iterable[Anchor]) -> None:
    """Keep the code of new anchors in the index, to compare it with what it will be."""
    codes: dict[str, str] = {}
    for anchor in anchors:
        content = working_tree.read(index.root, anchor.path) if anchor.kind not in LOOSE_KINDS else None
        raw = anchor.symbol.fingerprint.raw
        # An anchor may be to code of the past, which is not in the tree.
        if content and raw in {symbol.fingerprint.raw for symbol in index.read_symbols(anchor.path)}:
            codes[raw] = select_lines(content[1], anchor.line, anchor.end_line)
    index.keep_code(codes)


def load_symbols_at(root: Path, commit: str, paths: Iterable[str]) -> list[Symbol]:
    """Load the symbols of files as they were at a commit; none if git does not have it."""
    sources = _read_files_at(root, commit, paths)
    return [symbol for path, source in sources.items() for symbol in outline(path, source).symbols]


def _read_files_at(root: Path, commit: str, paths: Iterable[str]) -> dict[str, bytes]:
    if not git.COMMIT_ID.fullmatch(commit):
        return {}
    try:
        sources = git.read_blobs(root, [f"{commit}:{path}" for path in paths])
    except Unavailable:
        return {}
    return {name.partition(":")[2]: source for name, source in sources.items()}


def read_file(root: Path, path: str, commit: str = "") -> str:
    """Read a file at a commit, by default the checked-out one; uncommitted content is never shown."""
    if commit and not git.COMMIT_ID.fullmatch(commit):
        raise InvalidInput(f"{commit!r} is not a commit; give its hexadecimal id")
    commit = commit or git.read_head(root)
    # git would resolve other paths from the current folder.
    is_inside = not path.startswith(("/", "./", "../"))
    content = git.read_blobs(root, [f"{commit}:{path}"]).get(f"{commit}:{path}") if commit and is_inside else None
    if content is None:
        raise NotFound(f"there is no file {path!r} at {commit[:8] or 'any commit'} here")
    return content.decode("utf-8", "replace")


def read_current_code(root: Path, anchor: Anchor | None) -> str:
    """The anchor's code in the working tree; empty if it is gone."""
    content = working_tree.read(root, anchor.path) if anchor else None
    return select_lines(content[1], anchor.line, anchor.end_line) if anchor and content else ""


def select_lines(source: bytes, first: int, last: int) -> str:
    """Some lines of a file, without the indentation that they have in common."""
    return dedent("\n".join(source.decode("utf-8", "replace").splitlines()[first - 1 : last]))
