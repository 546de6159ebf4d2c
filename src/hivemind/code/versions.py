"""Compare the code of an anchor, as git has it, with the code of today, and show both.

Two versions do the same if they are equal up to layout, comments and a consistent choice of names. Anything else may
change behaviour or contract. More would need the meaning of the code: docs/explanation/staleness.md has the figures.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from hivemind.code import git, working_tree
from hivemind.code.fingerprint import digest, tokenize
from hivemind.code.index import CodeIndex
from hivemind.code.parsing import Definition, ParsedFile, outline, parse_file
from hivemind.errors import InvalidInput, NotFound, Unavailable
from hivemind.model.code import CALLABLES, Anchor, LineChange, Symbol

MAX_LATER_COMMITS = 5
"""Commits after that of an anchor in which its code is searched for, if it was not committed yet."""

SEARCH_SECONDS = 0.5
"""How long git may search the tree for a name that may have been replaced everywhere."""

MAX_DEFINITIONS = 4
"""Definitions of one name that are looked at; a name with more says little."""

PARSED_BYTES_PER_SECOND = 3_000_000
"""How fast files are parsed, for a guess of what an answer would take."""

MAX_PARSED_FILES = 16
"""Syntax trees that are kept; one takes a few megabytes, and anchors in one file mostly follow each other."""

HasTime = Callable[[float], bool]
"""Whether somebody who waits for an answer has so many seconds left."""

MAX_LINE = 90
"""Characters of a changed line that are shown."""

MAX_COMPARED = 1_000
"""Lines or tokens between the first and the last change that are compared; the time grows with their square."""

_IDENTIFIER = re.compile(rb"[^\W\d][\w$]*")
_BEFORE_FOREIGN_NAME = frozenset({b".", b"->", b"::", b"@", b"#", b"$"})
"""Signs before a name that belongs to something else: a member, a path, a decorator."""

WasRenamed = Callable[[str, str], bool]
"""Whether a name that is not local was renamed, from the first to the second."""


class Version(NamedTuple):
    """A definition in one version of its file."""

    file: ParsedFile
    definition: Definition


class MemberChange(NamedTuple):
    """What happened to a member of a container: changed, added or removed."""

    name: str
    verb: str


class CodeDifference(NamedTuple):
    """What differs between two versions of a definition."""

    is_own: bool
    """Whether the definition itself differs, apart from its members."""
    members: tuple[MemberChange, ...]
    lines: tuple[LineChange, ...]
    replaced: tuple[tuple[str, str], ...]
    """Tokens and what stands in their place now; empty if nothing does."""

    @property
    def exists(self) -> bool:
        """Whether the two versions may behave differently."""
        return self.is_own or bool(self.members)


def find_version(file: ParsedFile, qualified: str, family: str, raw: str) -> Version | None:
    """The definition of this name whose source has this digest; None if there is none."""
    return next(
        (
            Version(file, definition)
            for definition in file.definitions
            if (definition.qualified, _get_family(definition)) == (qualified, family)
            and digest(file.source[definition.start : definition.end]) == raw
        ),
        None,
    )


def compare_versions(old: Version, new: Version, was_renamed: WasRenamed) -> CodeDifference:
    """Compare two versions of a definition with all its members."""
    if _get_source(old) == _get_source(new):
        return CodeDifference(False, (), (), ())
    members = tuple(_compare_members(old, new, was_renamed))
    is_own = not _are_equivalent(old, new, was_renamed)
    if not is_own and not members:
        return CodeDifference(is_own, members, (), ())
    return CodeDifference(is_own, members, tuple(_diff_lines(old, new)), tuple(_diff_tokens(old, new)))


def _get_source(version: Version) -> bytes:
    return version.file.source[version.definition.start : version.definition.end]


def _get_family(definition: Definition) -> str:
    return "callable" if definition.kind in CALLABLES else definition.kind


def _compare_members(old: Version, new: Version, was_renamed: WasRenamed) -> Iterator[MemberChange]:
    old_members, new_members = _group_members(old), _group_members(new)
    for key, definition in old_members.items():
        after = new_members.get(key)
        if after is None:
            yield MemberChange(definition.name, "removed")
        elif compare_versions(Version(old.file, definition), Version(new.file, after), was_renamed).exists:
            yield MemberChange(definition.name, "changed")
    for key, definition in new_members.items():
        if key not in old_members:
            yield MemberChange(definition.name, "added")


def _group_members(version: Version) -> dict[tuple[str, str, int], Definition]:
    members = (version.file.definitions[position] for position in version.definition.members)
    own_name = version.definition.name
    # A constructor that is called like its class is renamed with it.
    names = ((member, "" if member.name == own_name else member.name) for member in members)
    return {(name, _get_family(member), member.ordinal): member for member, name in names}


def _are_equivalent(old: Version, new: Version, was_renamed: WasRenamed) -> bool:
    """Whether two definitions, apart from their members, are equal up to names that were replaced consistently."""
    before, after = (
        _tokenize(version, version.definition.header) + _tokenize(version, version.definition.body)
        for version in (old, new)
    )
    if len(before) != len(after):
        return False
    renames = {pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]}
    if not all(_IDENTIFIER.fullmatch(name) for pair in renames for name in pair):
        return False
    old_names, new_names = {old_name for old_name, _ in renames}, {new_name for _, new_name in renames}
    # One name for one name, and neither in use beside the other: else two things became one, or changed places.
    if not len(renames) == len(old_names) == len(new_names) or old_names & {*after} or new_names & {*before}:
        return False
    local_names = _find_local_names(before, old), _find_local_names(after, new)
    return all(
        (pair[0] in local_names[0] and pair[1] in local_names[1]) or was_renamed(pair[0].decode(), pair[1].decode())
        for pair in renames
    )


def _find_local_names(tokens: Sequence[bytes], version: Version) -> set[bytes]:
    """Find names that only a function itself can know: in lower case, used twice, neither called nor a member."""
    if version.definition.kind not in CALLABLES:
        return set()
    counts = Counter(tokens)
    known_outside = {each.name.encode() for each in version.file.definitions}
    if version.file.grammar.has_named_arguments:
        # Callers may name a parameter.
        known_outside |= {*_tokenize(version, version.definition.header)}
    for before, name, after in zip((b"", *tokens), tokens, (*tokens[1:], b""), strict=False):
        if before in _BEFORE_FOREIGN_NAME or after == b"(":
            known_outside.add(name)
    return {name for name in counts if counts[name] > 1 and not name[:1].isupper()} - known_outside


def _tokenize(version: Version, code: bytes) -> list[bytes]:
    return tokenize(code, version.file.grammar)


def _diff_lines(old: Version, new: Version) -> Iterator[LineChange]:
    """Yield the lines that differ, without comments."""
    for old_lines, new_lines in _list_replacements(_list_lines(old), _list_lines(new)):
        for position in range(max(len(old_lines), len(new_lines))):
            yield LineChange(old=_get(old_lines, position), new=_get(new_lines, position))


def _list_replacements(before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str]]]:
    """Yield the parts in which two sequences differ; nothing if that would take long."""
    # Most edits are small, so equal beginnings and ends are set aside first.
    shorter = min(len(before), len(after))
    start = next((position for position in range(shorter) if before[position] != after[position]), shorter)
    remainder = shorter - start
    end = next((position for position in range(remainder) if before[-1 - position] != after[-1 - position]), remainder)
    before, after = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(before), len(after)) > MAX_COMPARED:
        return
    for tag, first, last, new_first, new_last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield before[first:last], after[new_first:new_last]


def _list_lines(version: Version) -> list[str]:
    code = _read_code(version).decode("utf-8", "replace")
    lines = (" ".join(line.split()) for line in code.splitlines())
    return [line for line in lines if line.strip("(){}[];,")]


def _get(lines: Sequence[str], position: int) -> str:
    line = lines[position] if position < len(lines) else ""
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"


def _diff_tokens(old: Version, new: Version) -> Iterator[tuple[str, str]]:
    """Yield tokens that are gone and what replaced them."""
    before, after = (_decode_tokens(version) for version in (old, new))
    remaining_tokens = set(after)
    for old_tokens, new_tokens in _list_replacements(before, after):
        if len(old_tokens) == len(new_tokens):
            yield from zip(old_tokens, new_tokens, strict=True)
        else:
            yield from ((token, "") for token in old_tokens if token not in remaining_tokens)


def _decode_tokens(version: Version) -> list[str]:
    return [token.decode("utf-8", "replace") for token in _tokenize(version, _read_code(version))]


def _read_code(version: Version) -> bytes:
    return version.file.code[version.definition.start : version.definition.end]


def has_all_time(seconds: float) -> bool:
    """Somebody who has all the time that it takes."""
    return True


class Versions:
    """The old code of some anchors, which git has, beside the code of the working tree."""

    def __init__(self, index: CodeIndex, anchors: Sequence[Anchor], has_time: HasTime = has_all_time) -> None:
        self._index = index
        self._has_time = has_time
        # One call of git for all anchors.
        self._blobs = self._read_blobs(
            _name_blob(anchor) for anchor in anchors if git.COMMIT_ID.fullmatch(anchor.commit)
        )
        self._parse = lru_cache(MAX_PARSED_FILES)(parse_file)

    def compare(self, anchor: Anchor, new: Symbol) -> CodeDifference | None:
        """What differs between an anchor's code and a symbol of today; None if the old code is not available."""
        content = working_tree.read(self._index.root, new.path)
        size = len(content[1] if content else b"") + len(self._blobs.get(_name_blob(anchor), b""))
        if not self._has_time(size / PARSED_BYTES_PER_SECOND):
            self._index.is_behind = True
            return None
        old_version = self._find_old(anchor)
        file = self._parse(new.path, content[1]) if content else None
        new_version = find_version(file, new.qualified, new.family, new.fingerprint.raw) if file else None
        if old_version is None or new_version is None:
            return None

        def was_renamed(old_name: str, new_name: str) -> bool:
            return self._was_renamed(anchor, old_version, new_version, old_name, new_name)

        return compare_versions(old_version, new_version, was_renamed)

    def _find_old(self, anchor: Anchor) -> Version | None:
        source = self._blobs.get(_name_blob(anchor))
        if source is not None and (version := self._find_in(source, anchor)):
            return version
        # The file had uncommitted changes when the anchor was made; a later commit may have them.
        later_sources = self._read_later(anchor) if git.COMMIT_ID.fullmatch(anchor.commit) else ()
        return next((version for source in later_sources if (version := self._find_in(source, anchor))), None)

    def _find_in(self, source: bytes, anchor: Anchor) -> Version | None:
        file = self._parse(anchor.path, source)
        symbol = anchor.symbol
        return find_version(file, symbol.qualified, symbol.family, symbol.fingerprint.raw) if file else None

    def _read_later(self, anchor: Anchor) -> Iterable[bytes]:
        # Oldest first: the commit that follows the anchor most likely has its code.
        revisions = ("--reverse", f"{anchor.commit}..HEAD", "--", f":(literal){anchor.path}")
        commits = git.run_or_empty(self._index.root, "rev-list", *revisions).split()[:MAX_LATER_COMMITS]
        return self._read_blobs(f"{commit}:{anchor.path}" for commit in commits).values()

    def _read_blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        unique_names = [*dict.fromkeys(names)]
        try:
            return git.read_blobs(self._index.root, unique_names) if unique_names else {}
        except Unavailable:  # there is no git here
            return {}

    def _was_renamed(self, anchor: Anchor, old: Version, new: Version, old_name: str, new_name: str) -> bool:
        """Whether a definition got another name, or a name was replaced by another one in the whole tree."""
        if self._was_definition_renamed(anchor, old_name, new_name):
            return True
        if _occurs(new_name, old.file.source) or _occurs(old_name, new.file.source):
            return False
        places = self._index.find_by_name(new_name) if self._index.is_built else []
        if self._index.find_by_name(old_name, limit=1) or not git.COMMIT_ID.fullmatch(anchor.commit):
            return False
        if places:
            names = [f"{anchor.commit}:{path}" for path in {symbol.path for symbol in places}]
            # A name that existed already is another symbol, to which the code switched.
            return not any(_occurs(new_name, source) for source in self._read_blobs(names).values())
        return self._was_replaced(anchor.commit, new, old_name, new_name)

    def _was_definition_renamed(self, anchor: Anchor, old_name: str, new_name: str) -> bool:
        """Whether a definition of the new name had the old one at the anchor's commit, with the same body."""
        if not self._index.is_built or not git.COMMIT_ID.fullmatch(anchor.commit):
            return False
        new_symbols = self._index.find_by_name(new_name, limit=MAX_DEFINITIONS)
        paths = {symbol.path for symbol in new_symbols}
        blobs = self._read_blobs(f"{anchor.commit}:{path}" for path in paths)
        for path in paths:
            source = blobs.get(f"{anchor.commit}:{path}", b"")
            old_symbols = outline(path, source).symbols if _occurs(old_name, source) else ()
            new_file_symbols = self._index.read_symbols(path) if old_symbols else []
            if was_renamed_in_file(old_symbols, new_file_symbols, old_name, new_name):
                return True
        return False

    def _was_replaced(self, commit: str, new: Version, old_name: str, new_name: str) -> bool:
        """Whether a name that is no symbol, such as that of a field, was replaced by another one in all files."""
        start, end = new.definition.start, new.definition.end
        outside = new.file.source[:start] + new.file.source[end:]
        root = self._index.root
        # In the order of cost; a name that occurs here alone may be anything.
        return (
            git.find_files_with_word(root, old_name, SEARCH_SECONDS) == []
            and (_occurs(new_name, outside) or len(git.find_files_with_word(root, new_name, SEARCH_SECONDS) or ()) > 1)
            and git.find_files_with_word(root, new_name, SEARCH_SECONDS, commit) == []
        )


def was_renamed_in_file(old: Iterable[Symbol], new: Iterable[Symbol], old_name: str, new_name: str) -> bool:
    """Whether a definition of a file has the same place and body as before, and another name."""
    old_places, new_places = ({symbol.qualified: symbol for symbol in symbols} for symbols in (old, new))
    for place, symbol in old_places.items():
        target = place.removesuffix(old_name) + new_name
        # Neither a second definition beside the old one, nor one that existed before.
        if symbol.name != old_name or place in new_places or target in old_places or target not in new_places:
            continue
        renamed_symbol = new_places[target]
        if renamed_symbol.family == symbol.family and renamed_symbol.fingerprint.body == symbol.fingerprint.body:
            return True
    return False


def _occurs(name: str, source: bytes) -> bool:
    return re.search(rb"(?<![\w$])" + re.escape(name.encode()) + rb"(?![\w$])", source) is not None


def _name_blob(anchor: Anchor) -> str:
    return f"{anchor.commit}:{anchor.path}"


def load_symbols_at(root: Path, commit: str, paths: Sequence[str]) -> list[Symbol]:
    """Load the symbols of files as they were at a commit; none if git does not have it."""
    if not commit:
        return []
    try:
        sources = git.read_blobs(root, [f"{commit}:{path}" for path in paths])
    except Unavailable:
        return []
    pairs = ((path, sources.get(f"{commit}:{path}")) for path in paths)
    return [symbol for path, source in pairs if source is not None for symbol in outline(path, source).symbols]


def read_file(root: Path, path: str, commit: str = "") -> str:
    """Read a file at a commit, by default the checked-out one; uncommitted content is never shown."""
    if commit and not git.COMMIT_ID.fullmatch(commit):
        raise InvalidInput(f"{commit!r} is not a commit; give its hexadecimal id")
    commit = commit or git.read_head(root)
    content = _read_at_commit(root, path, commit) if commit else None
    if content is None:
        raise NotFound(f"there is no file {path!r} at {commit[:8] or 'any commit'} here")
    return content.decode("utf-8", "replace")


def read_old_code(root: Path, anchor: Anchor) -> str:
    """The anchor's code at the commit of the anchor; empty if git does not have it."""
    source = _read_at_commit(root, anchor.path, anchor.commit) if git.COMMIT_ID.fullmatch(anchor.commit) else None
    if source is None:
        return ""
    matches = [symbol for symbol in outline(anchor.path, source).symbols if symbol.qualified == anchor.qualified]
    return _select_lines(source, matches[0].line, matches[0].end_line) if matches else ""


def read_current_code(root: Path, anchor: Anchor | None) -> str:
    """The anchor's code in the working tree; empty if it is gone."""
    content = working_tree.read(root, anchor.path) if anchor else None
    return _select_lines(content[1], anchor.line, anchor.end_line) if anchor and content else ""


def _read_at_commit(root: Path, path: str, commit: str) -> bytes | None:
    if path.startswith(("/", "./", "../")):  # git would resolve these from the current folder
        return None
    name = f"{commit}:{path}"
    return git.read_blobs(root, [name]).get(name)


def _select_lines(source: bytes, first: int, last: int) -> str:
    return "\n".join(source.decode("utf-8", "replace").splitlines()[first - 1 : last])
