"""Canonical syntax trees: the code of a definition without layout, comments and the choice of local names.

The rules go by what all grammars have in common, node types such as `assignment` and fields such as `left`, so that a
new language needs none of its own.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import NamedTuple

from tree_sitter import Node

from hivemind.codebase.erased_types import find_cast_value, is_class_variable, is_lambda_type
from hivemind.codebase.symbols import Definition, ParsedFile
from hivemind.model.code import MEMBERLESS_KINDS

MAX_NODES = 60_000
"""Larger definitions are not compared as trees; that would take more than a tenth of a second."""

MAX_DEPTH = 150
"""Code nested more deeply is compared as text, because Python limits recursion."""

_PUNCTUATION = frozenset({",", ";", "(", ")", "[", "]", "{", "}"})
"""The nesting of the tree says the same as these."""

_BINDING_FIELDS = frozenset({"name", "pattern", "declarator", "alias", "parameter"})
_BINDING_NODE = re.compile(
    r"declarat|^let|param|spec$|closure|lambda|catch|for|pattern|arrow|binding|with_item|named_expr"
)
_ASSIGNMENT_NODE = re.compile(r"assign|var_decl|range|for|operator_assignment")
_PARAMETERS = re.compile(r"param")
_PATTERN_NODE = re.compile(r"pattern|_list$|tuple|declarator|target|splat|^variable_name$|^list$")
_VALUE_FIELDS = frozenset({"type", "value", "size", "default_value"})
_TYPE_FIELDS = frozenset({"type", "return_type"})
_MEMBER_FIELDS = frozenset({"attribute", "field", "property", "method"})
_MEMBER_NODE = re.compile(r"attribute|member|field|selector|navigation|property")
_ERASED_NODE = re.compile(r"^(?:type_annotation|type_arguments|type_parameters)$")
_CAST_NODE = re.compile(r"^(?:as_expression|satisfies_expression|non_null_expression)$")
_VARIABLE_NODE = re.compile(r"^(?:assignment|variable_declarator)$")
_STATEMENTS = re.compile(r"(?:^|_)(?:block|statements|statement_list|compound_statement|body_statement|body)$")
# Braces around a single statement and parentheses around an expression are a matter of style.
_TRANSPARENT = re.compile(
    r"^parenthesized|^(?:expression_list|pattern_list|block|statement_block|compound_statement|statement_list)$"
)
_VARIABLE_MODIFIERS = re.compile(r"param|local_variable|for_statement|resource")
_DECLARATION = re.compile(r"^(?:lexical_declaration|variable_declaration|for_in_statement)$")
_LOCAL_LEAVES = frozenset({"identifier", "simple_identifier", "variable_name"})
_NAME_LEAVES = re.compile(r"identifier|^constant$|^name$")
_QUOTE = re.compile(r"^[A-Za-z]{0,2}'{1,3}$")
_LEAVES = re.compile(r"^(?:return|raise|throw|break|continue|goto|yield|defer|panic)$")
_LOOP = re.compile(r"for_|^for|while|loop|range|_do|^do_|repeat|comprehension|generator")
_FUNCTION = re.compile(r"lambda|closure|arrow_function|function_expression|func_literal|anonymous|^block$|do_block")
_STABLE_NODE = re.compile(
    r"^(?:attribute|member_expression|selector_expression|field_expression|field_access)$|^binary_|^unary_"
)
_DECLARED_NODE = re.compile(r"declarator$|^let_|^short_var|^variable_|^assignment$|_spec$")
_OPERATION = re.compile(
    r"binary|compar|unary|argument|^(?:not|and|or)$|call|invocation|subscript|return|boolean|assign"
)
_CHOICE_WORDS = frozenset({"if", "elif", "elsif", "else", "unless", "then", "end", "?", ":"})
_TEXT_NODE = re.compile(r"content|fragment|specifier$|^template_string$")
_CHOICE = re.compile(r"^(?:if|unless|elif|elsif|conditional|ternary)(?:_statement|_expression|_clause|_modifier)?$")
_SAME_KINDS = {"lexical_declaration": "variable_declaration", "inferred_parameters": "formal_parameters"}
_CALLS = re.compile(r"call|invocation|creation|^new_|await|macro_inv")


class Name(NamedTuple):
    """An identifier; a local one may be renamed without any effect."""

    text: str
    is_local: bool


class Branch(NamedTuple):
    """An inner node with its children, without punctuation and comments."""

    kind: str
    children: "tuple[Tree, ...]"
    written: frozenset[str] = frozenset()
    """Names that this node itself assigns."""
    value: "Tree | None" = None
    """What it assigns, if it assigns one local name."""


Tree = Name | Branch | str


class _Binding(NamedTuple):
    is_bound: bool = False
    """Whether an identifier in this place is given its value here."""
    is_parameter: bool = False


def build_tree(file: ParsedFile, definition: Definition, *, has_header_types: bool = True) -> Branch | None:
    """The canonical tree of a definition without its members and its own name; None if it is too large."""
    key = (definition, has_header_types)
    if key not in file.trees:
        file.trees[key] = _build_definition(file, definition, has_header_types)
    tree = file.trees[key]
    return tree if isinstance(tree, Branch) else None


def _build_definition(file: ParsedFile, definition: Definition, has_header_types: bool) -> Branch | None:
    builder = _Builder(file, definition, has_header_types)
    top = list(_list_nodes(file.root, definition.start, definition.end))
    if definition.kind in MEMBERLESS_KINDS:
        for node in top:
            builder.collect_locals(node)
    trees = [tree for node in top if (tree := builder.build(node, "", 0)) is not None]
    return Branch("definition", tuple(trees)) if builder.node_count <= MAX_NODES else None


def _list_nodes(root: Node, start: int, end: int) -> Iterator[Node]:
    """Yield the largest nodes inside a span, in order; attributes above a definition are nodes of their own."""
    pending = [root]
    while pending:
        node = pending.pop()
        if start <= node.start_byte and node.end_byte <= max(end, start + 1) and node is not root:
            yield node
        elif node.start_byte < end and start < node.end_byte:
            pending.extend(reversed(node.children))


class _Builder:
    """Builds the tree of one definition."""

    def __init__(self, file: ParsedFile, definition: Definition, has_header_types: bool) -> None:
        self.grammar, self.definition, self.source = file.grammar, definition, file.source
        members = [file.definitions[member] for member in definition.members]
        self.ignored = file.ignored
        # Ends are not compared exactly: those of definitions are cut at trailing white space.
        self.member_ends = {member.start: member.end for member in members}
        self.has_header_types = has_header_types
        self.locals: set[str] = set()
        self.node_count = 0

    def collect_locals(self, top: Node) -> None:
        """Collect the names that are bound inside the definition: parameters and variables."""
        pending = [(top, _Binding())]
        while pending:
            node, binding = pending.pop()
            if binding.is_bound and node.type in _LOCAL_LEAVES and not self._is_contract(node, binding):
                self.locals.add(_text(node))
            for position, child in enumerate(node.children):
                field = node.field_name_for_child(position) or ""
                pending.append((child, _bind(node, field, binding)))

    def _is_contract(self, node: Node, binding: _Binding) -> bool:
        """Whether callers can see a name: a parameter of the definition itself, if arguments may be named."""
        is_own = node.start_byte < self.definition.body_start
        return is_own and binding.is_parameter and self.grammar.has_named_arguments

    def build(self, node: Node, field: str, depth: int, parent: str = "") -> Tree | None:
        """The canonical tree of a node; None if it has no meaning of its own."""
        self.node_count += 1
        span = (node.start_byte, node.end_byte)
        if span in self.ignored or self.node_count > MAX_NODES or self._is_member(node):
            return None
        if _is_rebinding_word(node, parent) and self.definition.kind in MEMBERLESS_KINDS:
            return None
        if span == self.definition.name_span:
            return Name("", is_local=False)
        if node.child_count == 0 or depth > MAX_DEPTH or node.type == "variable_name":
            return self._build_leaf(node, field, parent)
        return self._build_branch(node, depth)

    def _is_member(self, node: Node) -> bool:
        end = self.member_ends.get(node.start_byte)
        return end is not None and node.is_named and 0 <= node.end_byte - end <= 2

    def _is_erased(self, parent: Node, node: Node, field: str) -> bool:
        """Whether a node says only which type a variable inside of a body has, and that has no effect."""
        if is_lambda_type(parent, field):
            return True
        if not self.grammar.has_erased_types:
            return False
        if node.start_byte < self.definition.body_start:
            return not self.has_header_types and (field in _TYPE_FIELDS or _is_type_sign(parent, node))
        is_type = (field == "type" and _VARIABLE_NODE.search(parent.type)) or _ERASED_NODE.search(node.type)
        # The types in a class body are its contract.
        return bool(is_type) and (self.definition.kind in MEMBERLESS_KINDS or is_class_variable(node, field))

    def _build_leaf(self, node: Node, field: str, parent: str) -> Tree | None:
        text = _text(node)
        is_text = "string" in node.type or "content" in node.type
        if text in _PUNCTUATION or text.encode() in self.grammar.noise or not (is_text or text.strip()):
            return None
        if node.type in _LOCAL_LEAVES or _NAME_LEAVES.search(node.type):
            is_member = field in _MEMBER_FIELDS or (field == "name" and not _BINDING_NODE.search(parent))
            return Name(text, is_local=node.type in _LOCAL_LEAVES and not is_member and text in self.locals)
        if self.grammar.alike and _QUOTE.match(text):
            return text.replace("'", '"')
        return text if is_text else " ".join(text.split())

    def _build_branch(self, node: Node, depth: int) -> Tree | None:
        if self.grammar.has_erased_types and (value := find_cast_value(node, self.source)) is not None:
            return self.build(value, "", depth + 1, node.type)
        children: list[Tree] = []
        targets: list[Tree] = []
        values: list[Tree] = []
        parts: list[tuple[str, Tree]] = []
        end = node.start_byte
        for position, child in enumerate(node.children):
            field = node.field_name_for_child(position) or ""
            # Some grammars have no node for the text between two others, such as two escapes of a string.
            children += self._build_gap(node, end, child.start_byte)
            end = child.end_byte
            if self._is_erased(node, child, field):
                continue
            tree = self.build(child, field, depth + 1, node.type)
            # The colon before a type that is left out, and nothing else, has no meaning without it.
            if tree is None or (tree == ":" and _VARIABLE_NODE.search(node.type)):
                continue
            children.append(tree)
            parts.append((field, tree))
            if _is_target(node, field):
                targets.append(tree)
            elif field in ("right", "value"):
                values.append(tree)
        children += self._build_gap(node, end, node.end_byte)
        if _CHOICE.search(node.type) and (choice := _build_choice(node.type, parts)) is not None:
            return choice
        if node.type == "concatenated_string" and (joined := _join_strings(children)) is not None:
            return joined
        # A parameter of a lambda without its type.
        if node.type == "formal_parameter" and len(children) == 1 and is_lambda_type(node, ""):
            return children[0]
        is_cast = self.grammar.has_erased_types and _CAST_NODE.search(node.type)
        if children and (is_cast or (len(children) == 1 and _TRANSPARENT.search(node.type))):
            return children[0]
        written_names = frozenset(name for target in targets for name in _list_written(target))
        is_single = len(targets) == len(values) == 1 and isinstance(targets[0], Name) and targets[0].is_local
        # Neither `total += 1`, which also reads, nor a loop, which assigns many values.
        is_plain = ("=" in children or ":=" in children) and not _LOOP.search(node.type)
        if not self.has_header_types and node.type.startswith("typed_"):
            if len(children) == 1:
                return children[0]
            return Branch("default_parameter", tuple(children), written_names)
        # Parentheses around a tuple are a matter of style, except around a single element.
        kind = "expression_list" if node.type == "tuple" and len(children) > 1 else node.type
        kind = _SAME_KINDS.get(kind, kind)
        return Branch(kind, tuple(children), written_names, values[0] if is_single and is_plain else None)

    def _build_gap(self, node: Node, start: int, end: int) -> list[Tree]:
        text = self.source[start:end].decode("utf-8", "replace") if start < end else ""
        is_text = _TEXT_NODE.search(node.type) is not None
        # A backslash at the end of a line has no meaning of its own.
        visible_text = text if is_text else text.replace("\\\n", "").strip(" \t\r\n\f\\")
        return [visible_text] if visible_text.strip() or (is_text and text) else []


def _build_choice(kind: str, parts: Sequence[tuple[str, Tree]]) -> Branch | None:
    """An if, whatever its syntax, as its condition and one or two branches; None if it has another shape."""
    by_field = {field: tree for field, tree in parts if field and field != "alternative"}
    alternatives = [tree for field, tree in parts if field == "alternative"]
    if kind == "conditional_expression" and not by_field and len(parts) == 5:
        (_, then), _, (_, condition), _, (_, otherwise) = parts
        return Branch("if", (condition, then, otherwise))
    condition_tree = by_field.get("condition")
    body = by_field.get("consequence", by_field.get("body"))
    # In some grammars the branches have no fields; nothing may be left out.
    if condition_tree is None or any(not field and tree not in _CHOICE_WORDS for field, tree in parts):
        return None
    otherwise_tree: Tree | None = None
    # `elif` is an if inside of the else before it.
    for alternative in reversed(alternatives):
        inner = _strip_words(alternative)
        if isinstance(inner, Branch) and inner.kind == "if" and otherwise_tree is not None:
            inner = inner._replace(children=(*inner.children[:2], otherwise_tree))
        otherwise_tree = inner
    then_tree = _strip_words(body) if body is not None else Branch("block", ())
    condition_tree = Branch("not", (condition_tree,)) if kind.startswith("unless") else condition_tree
    children = (condition_tree, then_tree) if otherwise_tree is None else (condition_tree, then_tree, otherwise_tree)
    choice, initializer = Branch("if", children), by_field.get("initializer")
    return choice if initializer is None else Branch("initialised_if", (initializer, choice))


def _strip_words(tree: Tree) -> Tree:
    """The statements of a branch without `else` and `then`."""
    if not isinstance(tree, Branch) or not re.search(r"^(?:else|then)", tree.kind):
        return tree
    children = tuple(child for child in tree.children if child not in ("else", "then", ":"))
    return children[0] if len(children) == 1 else Branch("block", children)


def _join_strings(strings: Sequence[Tree]) -> Branch | None:
    """Strings that stand beside each other as one; None if they are not plain, or have different prefixes."""
    parts = [string.children for string in strings if isinstance(string, Branch) and len(string.children) == 3]
    if len(parts) != len(strings) or len({(first, last) for first, _, last in parts}) != 1:
        return None
    texts = [text for _, text, _ in parts if isinstance(text, str)]
    first, _, last = parts[0]
    kind = next(string.kind for string in strings if isinstance(string, Branch))
    return Branch(kind, (first, "".join(texts), last)) if len(texts) == len(parts) else None


def _bind(parent: Node, field: str, outer: _Binding) -> _Binding:
    """Whether a child of this node, in this field, is bound to a value there."""
    kind = parent.type
    is_parameter = outer.is_parameter or bool(_PARAMETERS.search(kind))
    if field in _VALUE_FIELDS:
        return _Binding()
    if _is_target(parent, field) or (_PARAMETERS.search(kind) and field in ("", "name", "pattern")):
        return _Binding(is_bound=True, is_parameter=is_parameter)
    is_inherited = (
        outer.is_bound and bool(_PATTERN_NODE.search(kind)) and field not in ("right", "property", "attribute")
    )
    return _Binding(is_bound=is_inherited, is_parameter=is_parameter and is_inherited)


def _is_target(parent: Node, field: str) -> bool:
    if field == "left":
        return _ASSIGNMENT_NODE.search(parent.type) is not None
    return field in _BINDING_FIELDS and _BINDING_NODE.search(parent.type) is not None


def _list_written(target: Tree) -> Iterator[str]:
    """Yield the names that an assignment to this target changes."""
    if isinstance(target, Name):
        yield target.text
    elif isinstance(target, Branch):
        names = [name.text for name in iter_names(target)]
        # `self.total = …` changes `total`; it only reads `self`.
        yield from names[1:] if len(names) > 1 and _MEMBER_NODE.search(target.kind) else names


def _is_type_sign(parent: Node, node: Node) -> bool:
    return node.type == "->" or (node.type == ":" and parent.type.startswith("typed_"))


def list_header_types(file: ParsedFile, definition: Definition) -> dict[str, bytes]:
    """The types that a header declares, by the name of the parameter; that of the result by no name."""
    types: dict[str, bytes] = {}
    pending = [*_list_nodes(file.root, definition.start, definition.end)]
    while pending:
        node = pending.pop()
        for position, child in enumerate(node.children):
            field = node.field_name_for_child(position) or ""
            if field in _TYPE_FIELDS:
                name = "" if field == "return_type" else _text(node.children[0])
                types[name] = b"".join((child.text or b"").split())
            elif child.start_byte < definition.body_start:
                pending.append(child)
    return types


def _is_rebinding_word(node: Node, parent: str) -> bool:
    """Whether a word says only if a local variable may be assigned twice, which has no effect on code that runs."""
    if node.type in ("const", "let", "var"):
        return _DECLARATION.search(parent) is not None
    is_final = node.type == "modifiers" and _text(node) == "final" and _VARIABLE_MODIFIERS.search(parent)
    return bool(is_final) or (node.type == "mutable_specifier" and parent in ("let_declaration", "parameter"))


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def iter_names(tree: Tree) -> Iterator[Name]:
    """Yield all names in a tree, in order."""
    if isinstance(tree, Name):
        yield tree
    elif isinstance(tree, Branch):
        for child in tree.children:
            yield from iter_names(child)


def iter_branches(tree: Tree) -> Iterator[Branch]:
    """Yield all inner nodes of a tree, from the outside in."""
    if isinstance(tree, Branch):
        yield tree
        for child in tree.children:
            yield from iter_branches(child)


def iter_tokens(tree: Tree) -> Iterator[str]:
    """Yield the text of all leaves, in order."""
    if isinstance(tree, Branch):
        for child in tree.children:
            yield from iter_tokens(child)
    else:
        yield tree.text if isinstance(tree, Name) else tree


def holds_statements(branch: Branch) -> bool:
    """Whether the children of a node are statements, which run one after the other."""
    return _STATEMENTS.search(branch.kind) is not None and "class" not in branch.kind and "enum" not in branch.kind


def are_independent(first: Tree, second: Tree) -> bool:
    """Whether two statements do the same in either order, as far as their names show."""
    first_written, second_written = _collect_written(first), _collect_written(second)
    first_names = {name.text for name in iter_names(first)}
    second_names = {name.text for name in iter_names(second)}
    if first_written & second_names or second_written & first_names:
        return False
    # A declaration may move past a statement that leaves the block; it is not needed there.
    declares = _only_declares(first, first_written) or _only_declares(second, second_written)
    if not declares and (_leaves(first) or _leaves(second)):
        return False
    # Two calls for their effect may depend on each other in ways that names do not show.
    return bool(first_written and second_written) or not (_calls(first) and _calls(second))


def _collect_written(tree: Tree) -> set[str]:
    return {name for branch in iter_branches(tree) for name in branch.written}


def _only_declares(tree: Tree, written_names: set[str]) -> bool:
    """Whether a statement does nothing but give local names their value."""
    local_names = {name.text for name in iter_names(tree) if name.is_local}
    is_assignment = isinstance(tree, Branch) and re.search(r"declaration|assign|expression_statement", tree.kind)
    return bool(is_assignment and written_names) and written_names <= local_names and not _leaves(tree)


def _leaves(tree: Tree) -> bool:
    return any(_LEAVES.match(token) for token in iter_tokens(tree))


def _calls(tree: Tree) -> bool:
    return any(_CALLS.search(branch.kind) for branch in iter_branches(tree))


def inline_variables(tree: Tree) -> Tree:
    """The tree with locals replaced by their value: those used once, in the same loop, and names for a stable value."""
    places: dict[str, list[tuple[int, ...]]] = defaultdict(list)
    for name, loops in _iter_places(tree, (), count()):
        places[name].append(loops)
    writes = Counter(name for branch in iter_branches(tree) for name in branch.written)
    values = {}
    for branch, is_first in _iter_assignments(tree):
        (name,) = branch.written
        is_used_once = len(places[name]) == 2 and places[name][0] == places[name][1]
        # Without a declaration, what is assigned may be a field.
        is_declared = is_first and _DECLARED_NODE.search(branch.kind) is not None
        is_named_value = is_declared and branch.value is not None and _is_stable(branch.value, name, writes)
        if writes[name] == 1 and branch.value is not None and (is_used_once or is_named_value):
            values[name] = branch.value
    return substitute(tree, values)


def _iter_assignments(tree: Tree) -> Iterator[tuple[Branch, bool]]:
    """Yield the statements that assign one local each, and whether its name occurs there for the first time."""
    names: set[str] = set()
    pending: list[tuple[Tree, str]] = [(tree, "")]
    while pending:
        part, parent_kind = pending.pop()
        if isinstance(part, Name):
            names.add(part.text)
        elif isinstance(part, Branch):
            # In `(n = read()) > 0` the assignment is also a value.
            if part.value is not None and len(part.written) == 1 and not _OPERATION.search(parent_kind):
                yield part, not part.written & names
            pending.extend((child, part.kind) for child in reversed(part.children))


def _is_stable(value: Tree, variable: str, writes: Mapping[str, int]) -> bool:
    """Whether the value of a variable is the same wherever in a function it is computed, as far as names show."""
    # Calls may return something else each time; lists and objects would be other ones.
    if any(not _STABLE_NODE.search(branch.kind) for branch in iter_branches(value)):
        return False
    # In `user = self.user` the variable itself is the one that is written.
    return all(writes.get(name.text, 0) <= (name.text == variable and not name.is_local) for name in iter_names(value))


def _iter_places(tree: Tree, loops: tuple[int, ...], numbers: Iterator[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each local name with the loops and functions around it, which may run more than once."""
    if isinstance(tree, Name) and tree.is_local:
        yield tree.text, loops
    elif isinstance(tree, Branch):
        inner_loops = (*loops, next(numbers)) if _LOOP.search(tree.kind) or _FUNCTION.search(tree.kind) else loops
        for child in tree.children:
            yield from _iter_places(child, inner_loops, numbers)


def substitute(tree: Tree, values: Mapping[str, Tree], depth: int = 0) -> Tree:
    """The tree with names replaced by their values; a statement that only assigns one of them is left out."""
    if not values:
        return tree
    if isinstance(tree, Name) and tree.text in values and depth <= MAX_DEPTH:
        # Without the name itself: `line = strip(line)` would be replaced for ever.
        other_values = {name: value for name, value in values.items() if name != tree.text}
        return substitute(values[tree.text], other_values, depth + 1)
    if not isinstance(tree, Branch):
        return tree
    match tree:
        # A constant of another package: `http.StatusOK`.
        case Branch(_, (Name() as package, _, Name(name))) if _MEMBER_NODE.search(tree.kind) and name in values:
            if not package.is_local and isinstance(values[name], str):
                return values[name]
    children = tuple(
        # The branches of an if are told apart by their position.
        Branch("block", ()) if is_left_out else substitute(child, values, depth + 1)
        for child in tree.children
        if not (is_left_out := _is_assignment_of(child, values)) or tree.kind == "if"
    )
    if len(children) == 1 and _TRANSPARENT.search(tree.kind):
        return children[0]
    return tree._replace(children=children)


def _is_assignment_of(tree: Tree, values: Mapping[str, Tree]) -> bool:
    """Whether a statement does nothing but assign one of these variables."""
    while isinstance(tree, Branch):
        if tree.value is not None and tree.written and tree.written <= values.keys():
            return True
        inner = [child for child in tree.children if isinstance(child, Branch) and child.written]
        if len(inner) != 1 or not re.search(r"declaration|^expression_statement$|assign", tree.kind):
            return False
        tree = inner[0]
    return False
