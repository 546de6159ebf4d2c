"""Compare two versions of a definition by their syntax trees: whether they do the same, and what differs.

Two versions do the same if they are equal up to layout, comments, a consistent choice of local names, the order of
independent statements, and variables that are used once. Anything else may change behaviour or contract.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from hivemind.codebase.extraction import Surroundings, Version, is_extraction, list_constants, shorten_imports
from hivemind.codebase.normal_forms import normalise
from hivemind.codebase.symbols import Definition, ParsedFile
from hivemind.codebase.syntax import (
    Branch,
    Name,
    Tree,
    are_independent,
    build_tree,
    holds_statements,
    inline_variables,
    iter_tokens,
    list_header_types,
    substitute,
)
from hivemind.model.code import CALLABLES, LineChange

MAX_LINE = 90
"""Characters of a changed line that are shown."""

MAX_SWAPPED = 300
"""Pairs of statements in another order; a block with more was rewritten, and comparing them would take long."""

MAX_COMPARED = 1_000
"""Lines or tokens between the first and the last change that are compared; the time grows with their square."""


_DECLARATION = re.compile(r"^(?:local_variable_declaration|declaration|variable_declaration)$")


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


def find_version(file: ParsedFile, qualified: str, family: str, is_same: Callable[[bytes], bool]) -> Version | None:
    """The definition of this name whose source is the same; None if there is none."""
    candidates = (
        definition
        for definition in file.definitions
        if definition.qualified == qualified and _family(definition) == family
    )
    matches = (each for each in candidates if is_same(file.source[each.start : each.end]))
    return next((Version(file, definition) for definition in matches), None)


def list_changed_lines(old: Version, new: Version) -> tuple[LineChange, ...]:
    """The lines that differ between two versions of a definition, without comments, whether or not that matters."""
    return tuple(_diff_lines(old, new))


def compare_versions(old: Version, new: Version, around: Surroundings) -> CodeDifference:
    """Compare two versions of a definition with all its members."""
    if _get_source(old) == _get_source(new):
        return CodeDifference(False, (), (), ())
    members = tuple(_compare_members(old, new, around))
    is_own = not _are_equivalent(old, new, around)
    if not is_own and not members:
        return CodeDifference(is_own, members, (), ())
    return CodeDifference(is_own, members, tuple(_diff_lines(old, new)), tuple(_diff_tokens(old, new)))


def count_changed_bytes(old: Version, new: Version) -> int:
    """The size of what must be compared: of a container only its own text and the members that changed."""
    if _get_source(old) == _get_source(new):
        return 0
    old_members, new_members = _group_members(old), _group_members(new)
    sizes = [each.end - each.start for each in (old.definition, new.definition)]
    sizes += [each.start - each.end for members in (old_members, new_members) for each in members.values()]
    sizes += [
        count_changed_bytes(Version(old.file, old_members[key]), Version(new.file, new_members[key]))
        for key in old_members.keys() & new_members.keys()
    ]
    return max(0, sum(sizes))


def _get_source(version: Version) -> bytes:
    return version.file.source[version.definition.start : version.definition.end]


def _family(definition: Definition) -> str:
    return "callable" if definition.kind in CALLABLES else definition.kind


def _compare_members(old: Version, new: Version, around: Surroundings) -> Iterator[MemberChange]:
    old_members, new_members = _group_members(old), _group_members(new)
    for key, definition in old_members.items():
        after = new_members.get(key)
        if after is None:
            yield MemberChange(definition.name, "removed")
        elif compare_versions(Version(old.file, definition), Version(new.file, after), around).exists:
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


def _are_equivalent(old: Version, new: Version, around: Surroundings) -> bool:
    has_header_types = not _only_adds_types(old, new)
    before, after = (build_tree(*version, has_header_types=has_header_types) for version in (old, new))
    if before is None or after is None:
        return False
    before, after = shorten_imports(before, old, new), shorten_imports(after, new, old)
    if _fit(before, after, around):
        return True
    # A constant that only one version has is replaced by its value: somebody gave the value a name.
    named = (
        substitute(before, list_constants(old.file, before, new, around.find_old)),
        substitute(after, list_constants(new.file, after, old, around.find_new)),
    )
    if any(_fit(old_tree, new_tree, around) for old_tree, new_tree in _list_forms(named)):
        return True
    return is_extraction(old, new, around.find_new) or is_extraction(new, old, around.find_old)


def _only_adds_types(old: Version, new: Version) -> bool:
    """Whether types in the header were added or removed, and none changed, in a language where they have no effect."""
    definitions = (old.definition, new.definition)
    if not old.file.grammar.has_erased_types or any(each.kind not in CALLABLES for each in definitions):
        return False
    # A decorator may read them.
    if any(version.file.source[version.definition.start :][:1] == b"@" for version in (old, new)):
        return False
    before, after = list_header_types(*old), list_header_types(*new)
    return before != after and all(before[name] == after[name] for name in before.keys() & after.keys())


def _fit(old: Tree, new: Tree, around: Surroundings) -> bool:
    """Whether two trees are equal up to names that were replaced consistently."""
    mapping = _NameMapping()
    return mapping.fits(old, new) and all(around.was_renamed(*pair) for pair in mapping.global_renames)


def _list_forms(named: tuple[Tree, Tree]) -> Iterator[tuple[Tree, Tree]]:
    """Yield both trees in more and more general forms."""
    for form in ((inline_variables(named[0]), inline_variables(named[1])), named):
        yield form
        old, new = map(normalise, form)
        yield old, new
        # A list that was filled in a loop may have become a value that is used once.
        yield normalise(inline_variables(old)), normalise(inline_variables(new))


class _NameMapping:
    """A one-to-one mapping of old names to new ones, which grows while two trees are compared."""

    def __init__(self) -> None:
        self.forward: dict[Name, Name] = {}
        self.backward: dict[Name, Name] = {}

    @property
    def global_renames(self) -> list[tuple[str, str]]:
        """Names that are not local and differ."""
        pairs = self.forward.items()
        return [
            (old.text, new.text) for old, new in pairs if old.text != new.text and not (old.is_local and new.is_local)
        ]

    def fits(self, old: Tree, new: Tree) -> bool:
        """Whether the trees are equal under the mapping, which is extended by the names that they add."""
        if isinstance(old, Name) and isinstance(new, Name):
            return self.forward.setdefault(old, new) == new and self.backward.setdefault(new, old) == old
        if not isinstance(old, Branch) or not isinstance(new, Branch):
            return old == new
        if old.kind != new.kind or len(old.children) != len(new.children):
            return False
        if _DECLARATION.search(old.kind) and _is_inferred(old.children[0]) != _is_inferred(new.children[0]):
            # A type that the compiler infers is the same as a written one.
            return self.fits(old._replace(children=old.children[1:]), new._replace(children=new.children[1:]))
        pairs = _align_statements(old, new) if holds_statements(old) else zip(old.children, new.children, strict=True)
        return pairs is not None and all(self.fits(*pair) for pair in pairs)


def _is_inferred(tree: Tree) -> bool:
    return (tree.text if isinstance(tree, Name) else tree) in ("var", "auto")


def _align_statements(old: Branch, new: Branch) -> list[tuple[Tree, Tree]] | None:
    """Pair the statements of two blocks; None if they are not the same ones, or in an order that matters."""
    if old.children == new.children:
        return [*zip(old.children, new.children, strict=True)]
    # Equal statements first, then those that differ in local names only; each in order of appearance.
    partners: dict[int, int] = {}
    for key in (lambda tree: tree, _anonymise):
        positions: dict[Tree, list[int]] = defaultdict(list)
        matched_positions = set(partners.values())
        for position, child in enumerate(new.children):
            if position not in matched_positions:
                positions[key(child)].append(position)
        for position, child in enumerate(old.children):
            if position not in partners and (candidates := positions.get(key(child))):
                partners[position] = candidates.pop(0)
    # What is left must be equal in place; it may differ in names that were renamed everywhere.
    unpaired_indices = sorted(set(range(len(new.children))) - set(partners.values()))
    for position in range(len(old.children)):
        if position not in partners:
            partners[position] = unpaired_indices.pop(0)
    order = [partners[position] for position in range(len(old.children))]
    swaps = [(first, second) for second in range(len(order)) for first in range(second) if order[first] > order[second]]
    if len(swaps) > MAX_SWAPPED or not all(
        are_independent(old.children[first], old.children[second]) for first, second in swaps
    ):
        return None
    return [(old.children[position], new.children[partner]) for position, partner in enumerate(order)]


def _anonymise(tree: Tree) -> Tree:
    """The tree with one name for all locals."""
    if isinstance(tree, Name):
        return Name("", is_local=True) if tree.is_local else tree
    if isinstance(tree, Branch):
        return Branch(tree.kind, tuple(map(_anonymise, tree.children)))
    return tree


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
    (file, definition) = version
    code = bytearray(file.source[definition.start : definition.end])
    for start, end in file.ignored:
        if definition.start <= start and end <= definition.end:
            span = slice(start - definition.start, end - definition.start)
            code[span] = bytes(byte if byte == 10 else 32 for byte in code[span])
    lines = (" ".join(line.split()) for line in code.decode("utf-8", "replace").splitlines())
    return [line for line in lines if line.strip("(){}[];,")]


def _get(lines: Sequence[str], position: int) -> str:
    line = lines[position] if position < len(lines) else ""
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 1] + "…"


def _diff_tokens(old: Version, new: Version) -> Iterator[tuple[str, str]]:
    """Yield tokens that are gone and what replaced them."""
    before, after = ([*_iter_all_tokens(version)] for version in (old, new))
    remaining_tokens = set(after)
    for old_tokens, new_tokens in _list_replacements(before, after):
        if len(old_tokens) == len(new_tokens):
            yield from zip(old_tokens, new_tokens, strict=True)
        else:
            yield from ((token, "") for token in old_tokens if token not in remaining_tokens)


def _iter_all_tokens(version: Version) -> Iterator[str]:
    tree = build_tree(*version)
    yield from iter_tokens(tree) if tree else ()
    for position in version.definition.members:
        yield from _iter_all_tokens(Version(version.file, version.file.definitions[position]))
