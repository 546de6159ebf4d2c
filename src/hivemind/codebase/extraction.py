"""Detect that a part of a definition was given a name, or that a name was replaced by what it stands for."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hivemind.codebase.symbols import Definition, ParsedFile
from hivemind.codebase.syntax import Branch, Name, Tree, build_tree, iter_names
from hivemind.model.code import CALLABLES

_GLUE = frozenset(
    {"return", "await", "async", "self", "this", "super", "const", "let", "var", "val", "mut", "static"}
    | {".", "?", "->", "&", "*", "=", ":=", ":", "::"}
)
"""Tokens that a function of its own needs or spares."""

_GUARD = frozenset(["if", "else", "<", ">", "==", "!=", "!", "0", "1", "NULL", "null", "nil", "None"])
"""Tokens with which a caller may look at the result of that function: `if err != nil`."""

MAX_GUARD_TOKENS = 6

MAX_LOOKUPS = 3
"""Names that are looked up in the rest of the tree for one comparison, because a file is parsed for each."""

_LITERAL = re.compile(r"^(?:\d|['\"`]|(?:[Tt]rue|[Ff]alse|null|nil|None|NULL)$)")
_IMPORT = re.compile(r"import|^use_declaration$|^using_directive$")
_QUALIFIED = re.compile(
    r"^(?:attribute|member_expression|field_access|scoped_identifier|scoped_type_identifier|method_invocation)$"
)
_WORD = re.compile(r"\w+")
_CONSTANT_KINDS = frozenset({"const", "macro", "field"})


class Version(NamedTuple):
    """A definition in one version of its file."""

    file: ParsedFile
    definition: Definition


FindDefinitions = Callable[[str], Sequence[Version]]
"""Definitions of a name in the rest of the tree."""


class Surroundings(NamedTuple):
    """What the rest of the tree says about names, before and after."""

    was_renamed: Callable[[str, str], bool]
    """Whether a name that is not local was renamed, from the first to the second."""
    find_old: FindDefinitions
    find_new: FindDefinitions


NOTHING_AROUND = Surroundings(lambda *_: False, lambda _: (), lambda _: ())


def list_constants(file: ParsedFile, tree: Tree, other: Version, find: FindDefinitions) -> Mapping[str, Tree]:
    """The values of constants that a tree uses and the other version of its file does not define."""
    other_tree = build_tree(*other)
    other_names = {each.name for each in other.file.definitions}
    other_uses = {name.text for name in iter_names(other_tree)} if other_tree else set()
    names = {name.text: None for name in iter_names(tree) if name.text not in other_names and not name.is_local}
    definitions = [each for each in file.definitions if each.kind in _CONSTANT_KINDS and each.name in names]
    versions = [Version(file, definition) for definition in definitions]
    own_names = {each.name for each in file.definitions}
    # Constants mostly begin with a capital; other names are not worth a search.
    elsewhere = [name for name in names if name[:1].isupper() and name not in own_names and name not in other_uses]
    for name in elsewhere[:MAX_LOOKUPS]:
        versions += [version for version in find(name)[:1] if version.definition.kind in _CONSTANT_KINDS]
    return {version.definition.name: value for version in versions if (value := _get_plain_value(version)) is not None}


def _get_plain_value(version: Version) -> Tree | None:
    file, definition = version
    # A field that is assigned later is no constant, whatever its first value.
    if _is_assigned_again(definition, file.source):
        return None
    value = build_tree(file, definition._replace(start=definition.body_start))
    # Only plain values; others may depend on more than their text.
    is_plain = value is not None and len(value.children) == 1 and not any(iter_names(value))
    return value.children[0] if value is not None and is_plain else None


def _is_assigned_again(definition: Definition, source: bytes) -> bool:
    name = rb"(?<![\w$])" + re.escape(definition.name.encode())
    # `count = 1`, `count += 1`, `count++`; neither `count == 1` nor `count => 1`.
    after = rb"\s*(?:(?:[-+*/%|&^:]|<<|>>|\|\||&&|\?\?)?=(?![=>])|\+\+|--)"
    outside = source[: definition.start] + source[definition.end :]
    return re.search(name + after + rb"|(?:\+\+|--)" + name + rb"\b", outside) is not None


def shorten_imports(tree: Branch, version: Version, other: Version) -> Branch:
    """The tree with `path.join` as `join`, if the other version imports that name from there."""
    imports = [set(_WORD.findall(text)) for text in _list_imports(other.file)]
    own_words = {word for text in _list_imports(version.file) for word in _WORD.findall(text)}

    def shorten(part: Tree) -> Tree:
        if not isinstance(part, Branch):
            return part
        match part:
            case Branch(kind, (Name(module), _, Name(name), *others)) if (
                _QUALIFIED.search(kind) and module in own_words
            ):
                if any(words.issuperset((module, name)) for words in imports):
                    short_name = Name(name, is_local=False)
                    return part._replace(children=(short_name, *map(shorten, others))) if others else short_name
        return part._replace(children=tuple(map(shorten, part.children)))

    return tree._replace(children=tuple(map(shorten, tree.children))) if imports else tree


def _list_imports(file: ParsedFile) -> list[str]:
    nodes = (node for node in file.root.children if _IMPORT.search(node.type))
    return [(node.text or b"").decode("utf-8", "replace") for node in nodes]


def is_extraction(whole: Version, part: Version, find: FindDefinitions) -> bool:
    """Whether a part of the first version is now in functions that the second one calls.

    The tokens of both versions are counted: what the second lacks must be in the functions that only it names.
    """
    before, after = build_tree(*whole), build_tree(*part)
    if before is None or after is None:
        return False
    # A local function that became one of its own is a helper too.
    old_names = {name.text for name in iter_names(before) if not name.is_local}
    names = {name.text for name in iter_names(after) if not name.is_local} - old_names
    old_tokens, new_tokens = _count_tokens(before), _count_tokens(after)
    if not old_tokens - new_tokens:
        return False
    helpers = [*_find_helpers(part, names)]
    unexplained = (new_tokens - old_tokens).keys() - _GLUE - _GUARD - names
    if not helpers and 0 < len(names) <= MAX_LOOKUPS and not unexplained:
        # One definition only: of several, nobody knows which is called.
        elsewhere = [find(name) for name in sorted(names)]
        helpers = [
            versions[0] for versions in elsewhere if len(versions) == 1 and versions[0].definition.kind in CALLABLES
        ]
    return bool(helpers) and _is_same_code(old_tokens, new_tokens, helpers)


def _find_helpers(part: Version, names: set[str]) -> Iterator[Version]:
    for definition in part.file.definitions:
        if definition.kind in CALLABLES and definition.name in names and definition != part.definition:
            yield Version(part.file, definition)


def _is_same_code(before: Counter[str], after: Counter[str], helpers: Sequence[Version]) -> bool:
    combined, free_tokens = Counter(after), {*_GLUE, *(helper.definition.name for helper in helpers)}
    for file, helper in helpers:
        tree = build_tree(file, helper)
        header = build_tree(file, helper._replace(end=helper.body_start))
        if tree is None or header is None:
            return False
        header_tokens = _count_tokens(header)
        # What stands in the header, such as parameters and types, may be called something else outside.
        free_tokens |= {token for token in header_tokens if not _LITERAL.match(token)}
        combined += _count_tokens(tree) - header_tokens
    missing, added = before - combined, combined - before
    guards = sum(count for token, count in added.items() if token in _GUARD - free_tokens)
    is_same = not missing.keys() - free_tokens and not added.keys() - free_tokens - _GUARD
    return is_same and guards <= MAX_GUARD_TOKENS


def _count_tokens(tree: Tree) -> Counter[str]:
    """Count the tokens of a tree without local names."""
    return Counter(_iter_counted_tokens(tree))


def _iter_counted_tokens(tree: Tree) -> Iterator[str]:
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, Branch):
            # `unless` is a negation without a token.
            if part.kind == "not":
                yield "not"
            pending.extend(part.children)
        elif not isinstance(part, Name):
            yield part
        elif part.text and not part.is_local:
            yield part.text
