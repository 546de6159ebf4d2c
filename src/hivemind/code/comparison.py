"""Compare two versions of a definition by their tokens: whether they may behave differently, and what differs.

Two versions do the same if they are equal up to layout, comments and a consistent choice of names. Anything else may
change behaviour or contract. More would need the meaning of the code: docs/explanation/staleness.md has the figures.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from hivemind.code.fingerprint import digest, tokenize
from hivemind.code.parsing import Definition, ParsedFile
from hivemind.model.code import CALLABLES, LineChange

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
            if (definition.qualified, _family(definition)) == (qualified, family)
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


def _family(definition: Definition) -> str:
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
    return {(name, _family(member), member.ordinal): member for member, name in names}


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
