"""Rewrite canonical trees so that different ways to write the same control flow become equal.

Each rule keeps what the code does, as far as syntax can tell. Rules go by the shape of nodes, not by language.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from string import Formatter

from hivemind.codebase.syntax import Branch, Name, Tree, holds_statements, iter_tokens

MAX_NESTED = 40
"""Statements after an early return are nested this deep at most, because Python limits recursion."""

_LEAVING = re.compile(r"^(?:return|raise|throw|break|continue|goto)(?:_|$)")
_BARE = re.compile(r"^(?:return|continue)(?:_statement|_expression)?$")
_RETURN = re.compile(r"^return(?:_statement|_expression)?$")
_ASSIGNMENT = re.compile(r"^(?:assignment|assignment_expression|assignment_statement)$")
_FUNCTION = re.compile(r"function|method_d|^method$|constructor|closure|arrow|lambda|func_literal")
_VALUE_FUNCTION = re.compile(r"closure|arrow|lambda|^function_item$|^method$")
"""Functions whose last expression is their value, without a `return`."""
_LOOP = re.compile(r"^(?:for|while|loop|do|enhanced_for|foreach)_|^(?:for|while|until)$")
_STRING = re.compile(r"^(?:string|string_literal|interpreted_string_literal|template_string)$")
_CONNECTIVES = {"and": "and", "&&": "and", "or": "or", "||": "or"}
_OPPOSITES = {"==": "!=", "===": "!==", "is": "is not", "in": "not in", "<": ">=", ">": "<="}
_OPPOSITES |= {negative: positive for positive, negative in _OPPOSITES.items()}
_NEGATIVE = frozenset({"!=", "!==", "is not", "not in", ">=", "<="})
_MIRRORED = {">": "<", ">=": "<="}
_COMPARING = re.compile(r"binary|compar|infix|equality|relational")
_NUMBER_OR_TEXT = re.compile(r"[\d'\"]")


def normalise(tree: Tree) -> Tree:
    """The tree with one form for conditions, early exits, assignments and texts with values inside."""
    if not isinstance(tree, Branch):
        return tree
    branch = tree._replace(children=tuple(map(normalise, tree.children)))
    result: Tree = branch
    for rule in _RULES:
        if isinstance(result, Branch):
            result = rule(result)
    return result


# --- conditions -------------------------------------------------------------------------------------------------------


def _rewrite_condition(branch: Branch) -> Tree:
    """Give an if, a ternary or a negation its normal form."""
    if branch.kind == "if":
        condition, then, *others = branch.children
        return _make_if(condition, then, others[0] if others else _make_block(()))
    return _negate(branch.children[0]) if branch.kind == "not" else branch


def _make_if(condition: Tree, then: Tree, otherwise: Tree) -> Tree:
    """An if in the orientation with fewer negations, joined with an if inside that shares a branch with it."""
    condition = _simplify(condition)
    opposite = _negate(condition)
    if _is_empty(then):
        if _is_empty(otherwise):
            return Branch("if", (condition, then))
        condition, opposite, then, otherwise = opposite, condition, otherwise, then
    if not _is_empty(otherwise) and _count_negations(opposite) < _count_negations(condition):
        condition, opposite, then, otherwise = opposite, condition, otherwise, then
    for outer, inner, other in ((condition, then, otherwise), (opposite, otherwise, then)):
        joined = _join_conditions(outer, inner, other)
        if joined is not None:
            return _make_if(*joined, other)
    return Branch("if", (condition, then) if _is_empty(otherwise) else (condition, then, otherwise))


def _join_conditions(condition: Tree, inner: Tree, other: Tree) -> tuple[Tree, Tree] | None:
    """`if a: (if b: X else: Y) else: Y` as the condition `a and b` and X; None if it has another shape."""
    if not isinstance(inner, Branch) or inner.kind != "if":
        return None
    inner_condition, then, *others = inner.children
    otherwise = others[0] if others else _make_block(())
    if otherwise == other:
        return _connect("and", (condition, inner_condition)), then
    if then == other:
        return _connect("and", (condition, _negate(inner_condition))), otherwise
    return None


def _simplify(condition: Tree) -> Tree:
    """A condition with negations at its atoms, and nested connectives of one kind as one."""
    if isinstance(condition, Branch):
        if condition.kind == "not":
            return _negate(condition.children[0])
        if condition.kind in ("and", "or"):
            return _connect(condition.kind, tuple(map(_simplify, condition.children)))
    return condition


def _negate(condition: Tree) -> Tree:
    if isinstance(condition, Branch):
        if condition.kind == "not":
            return _simplify(condition.children[0])
        if condition.kind in ("and", "or"):
            return _connect("or" if condition.kind == "and" else "and", tuple(map(_negate, condition.children)))
        if condition.kind == "comparison" and len(condition.children) == 3:
            left, operator, right = condition.children
            return _compare(left, _OPPOSITES[str(operator)], right)
    return Branch("not", (condition,))


def _connect(kind: str, conditions: Sequence[Tree]) -> Branch:
    flat: list[Tree] = []
    for condition in conditions:
        is_same = isinstance(condition, Branch) and condition.kind == kind
        flat += condition.children if is_same and isinstance(condition, Branch) else (condition,)
    return Branch(kind, tuple(flat))


def _count_negations(condition: Tree) -> tuple[int, int]:
    """How many negative atoms and alternatives a condition has; never the same for a condition and its opposite."""
    negative = alternatives = 0
    pending = [condition]
    while pending:
        part = pending.pop()
        if isinstance(part, Branch) and part.kind in ("and", "or"):
            alternatives += (len(part.children) - 1) * (part.kind == "or")
            pending += part.children
        elif isinstance(part, Branch):
            negative += part.kind == "not" or (part.kind == "comparison" and part.children[1] in _NEGATIVE)
    return negative, alternatives


def _rewrite_operator(branch: Branch) -> Tree:
    """Give negations, connectives and comparisons of all languages the same form."""
    children = branch.children
    if len(children) == 2 and children[0] in ("not", "!") and "macro" not in branch.kind:
        return Branch("not", children[1:])
    # Python compares with `not in` and `is not`, which are two tokens in some versions of its grammar.
    if len(children) == 4 and children[1:3] in (("not", "in"), ("is", "not")):
        children = (children[0], f"{children[1]} {children[2]}", children[3])
    if len(children) != 3 or not isinstance(children[1], str):
        return branch
    left, operator, right = children
    if operator in _CONNECTIVES:
        return _connect(_CONNECTIVES[str(operator)], (left, right))
    is_comparison = operator in _OPPOSITES and _COMPARING.search(branch.kind)
    return _compare(left, str(operator), right) if is_comparison else branch


def _compare(left: Tree, operator: str, right: Tree) -> Branch:
    """A comparison that looks to the left (`a < b`), with a literal in second place where the sides do not matter."""
    is_swapped = operator in ("==", "!=", "===", "!==") and _is_literal(left) and not _is_literal(right)
    if operator in _MIRRORED or is_swapped:
        left, operator, right = right, _MIRRORED.get(operator, operator), left
    return Branch("comparison", (left, operator, right))


def _is_literal(tree: Tree) -> bool:
    return isinstance(tree, str) or (isinstance(tree, Branch) and _STRING.search(tree.kind) is not None)


def _is_empty(tree: Tree) -> bool:
    return isinstance(tree, Branch) and tree.kind == "block" and not tree.children


# --- statements -------------------------------------------------------------------------------------------------------


def _make_block(statements: Sequence[Tree]) -> Tree:
    return statements[0] if len(statements) == 1 else Branch("block", tuple(statements))


def _list_statements(tree: Tree) -> tuple[Tree, ...]:
    return tree.children if isinstance(tree, Branch) and holds_statements(tree) else (tree,)


def _unwrap(tree: Tree) -> Tree:
    is_wrapper = isinstance(tree, Branch) and tree.kind == "expression_statement" and len(tree.children) == 1
    return tree.children[0] if is_wrapper and isinstance(tree, Branch) else tree


def _rewrite_statement(branch: Branch) -> Tree:
    """Move a choice between two values out of the statement that uses it; `return a if c else b` is an if."""
    inner = _unwrap(branch)
    if inner is not branch:
        # The value of any other expression may be that of the function around it.
        is_statement = isinstance(inner, Branch) and inner.kind in ("if", "step", "assignment", "assignment_expression")
        return inner if is_statement else branch
    is_user = _RETURN.search(branch.kind) or (_ASSIGNMENT.search(branch.kind) and "=" in branch.children)
    choice = branch.children[-1] if branch.children else ""
    if not is_user or not isinstance(choice, Branch) or choice.kind != "if" or len(choice.children) != 3:
        return branch
    condition, *values = choice.children
    # Without `value`: a variable with two values is not replaced by one of them.
    then, otherwise = (branch._replace(children=(*branch.children[:-1], value), value=None) for value in values)
    return _make_if(condition, then, otherwise)


def _rewrite_block(branch: Branch) -> Tree:
    """Put what follows an early exit into the other branch of its if."""
    if not holds_statements(branch):
        return branch
    statements = (part for child in branch.children for part in _flatten(child))
    return _make_block(_nest([*_collect_loops(statements)], 0))


def _flatten(statement: Tree) -> tuple[Tree, ...]:
    is_list = isinstance(statement, Branch) and statement.kind == "initialised_if"
    return statement.children if is_list and isinstance(statement, Branch) else (statement,)


def _nest(statements: Sequence[Tree], depth: int) -> list[Tree]:
    for position, statement in enumerate(statements[:-1]):
        if isinstance(statement, Branch) and statement.kind == "if" and depth < MAX_NESTED:
            condition, then, *others = statement.children
            otherwise = others[0] if others else _make_block(())
            later = statements[position + 1 :]
            if _leaves(then):
                otherwise = _make_block(_nest([*_list_statements(otherwise), *later], depth + 1))
            elif _leaves(otherwise):
                then = _make_block(_nest([*_list_statements(then), *later], depth + 1))
            else:
                continue
            return [*statements[:position], _make_if(condition, then, otherwise)]
    return [*statements]


def _leaves(tree: Tree) -> bool:
    """Whether a branch always ends with a return, an exception or a jump."""
    statements = _list_statements(tree)
    last = _unwrap(statements[-1]) if statements else ""
    if not isinstance(last, Branch):
        return False
    if last.kind == "if":
        return len(last.children) == 3 and all(map(_leaves, last.children[1:]))
    return _LEAVING.search(last.kind) is not None


def _collect_loops(statements: Iterator[Tree]) -> Iterator[Tree]:
    """Yield the statements, with a loop that fills a new list as a comprehension."""
    previous: Tree | None = None
    for statement in statements:
        collected = _collect_loop(previous, statement) if previous is not None else None
        if previous is not None and collected is None:
            yield previous
        previous = collected or statement
    if previous is not None:
        yield previous


def _collect_loop(assignment: Tree, loop: Tree) -> Tree | None:
    if not (isinstance(assignment, Branch) and isinstance(loop, Branch) and loop.kind == "for_statement"):
        return None
    match assignment.children, loop.children:
        case (Name() as target, "=", Branch("list", ())), ("for", variable, "in", source, ":", body):
            clauses: list[Tree] = [Branch("for_in_clause", ("for", variable, "in", source))]
            if isinstance(body, Branch) and body.kind == "if" and len(body.children) == 2:
                clauses.append(Branch("if_clause", ("if", body.children[0])))
                body = body.children[1]
            match _unwrap(body):
                case Branch(
                    "call", (Branch("attribute", (Name() as owner, ".", Name("append"))), Branch(_, (item,)))
                ) if owner == target:
                    value = Branch("list_comprehension", (item, *clauses))
                    return assignment._replace(children=(target, "=", value), value=value)
    return None


def _rewrite_tail(branch: Branch) -> Tree:
    """Leave out a bare `return` at the end of a function and a `continue` at the end of a loop."""
    if _LOOP.search(branch.kind):
        word = "continue"
    elif _FUNCTION.search(branch.kind):
        word = "return"
    else:
        return branch
    *before, last = branch.children or ("",)
    if last == "end" and before:
        return branch._replace(children=(*before[:-1], _strip_tail(before[-1], word, branch.kind), last))
    return branch._replace(children=(*before, _strip_tail(last, word, branch.kind)))


def _strip_tail(tree: Tree, word: str, kind: str) -> Tree:
    *before, last = _list_statements(tree) or (tree,)
    exit_statement = _unwrap(last)
    if not isinstance(exit_statement, Branch):
        return tree
    if _BARE.search(exit_statement.kind) and exit_statement.children == (word,):
        return _make_block(before)
    is_value = word == "return" and _VALUE_FUNCTION.search(kind)
    if is_value and _RETURN.search(exit_statement.kind) and len(exit_statement.children) == 2:
        value = exit_statement.children[1]
        is_list = isinstance(value, Branch) and value.kind == "argument_list" and len(value.children) == 1
        return _make_block([*before, value.children[0] if is_list and isinstance(value, Branch) else value])
    if exit_statement.kind == "if":
        condition, *branches = exit_statement.children
        then, otherwise = (_strip_tail(part, word, kind) for part in (*branches, _make_block(()))[:2])
        return _make_block([*before, _make_if(condition, then, otherwise)])
    return tree


def _rewrite_step(branch: Branch) -> Tree:
    """Write `count = count + 1` and `count++` like `count += 1`."""
    match branch.children:
        case (Name() as target, "=", Branch(_, (Name() as left, str() as operator, amount))) if target == left:
            pass
        case (Name() as target, str() as sign, amount) if len(sign) > 1 and sign[-1] == "=" and sign not in _OPPOSITES:
            operator = sign[:-1]
        case (Branch("update_expression", (Name() as target, ("++" | "--") as sign)),) if branch.kind != "if":
            operator, amount = sign[0], "1"
        case (Name() as target, ("++" | "--") as sign) if branch.kind in ("inc_statement", "dec_statement"):
            operator, amount = sign[0], "1"
        case _:
            return branch
    # Lists and other objects may be changed in place by one form and not by the other.
    is_plain = _is_literal(amount) and _NUMBER_OR_TEXT.match(next(iter_tokens(amount), ""))
    return Branch("step", (target, operator, amount), frozenset({target.text})) if is_plain else branch


# --- texts with values inside -----------------------------------------------------------------------------------------


def _rewrite_text(branch: Branch) -> Tree:
    """Write `"a" + b`, `"a{}".format(b)`, `"a%s" % b` and interpolation in one form."""
    pieces: Sequence[Tree] | None = None
    match branch.children:
        case (left, "+", right) if _is_text(left) or _is_text(right):
            pieces = [*_split_text(left), *_split_text(right)]
        case (left, "%", right) if _is_text(left):
            values = right.children if isinstance(right, Branch) and right.kind == "expression_list" else (right,)
            pieces = _fill_percent(left, values)
        case (Branch("attribute", (left, ".", Name("format"))), Branch("argument_list", values)) if _is_text(left):
            pieces = _fill_braces(left, values)
        case _ if _STRING.search(branch.kind) and any(_is_inserted(child) for child in branch.children):
            pieces = [*_split_text(branch)]
    return branch if pieces is None else _join_text(pieces)


def _is_text(tree: Tree) -> bool:
    return isinstance(tree, Branch) and (tree.kind == "text" or _STRING.search(tree.kind) is not None)


def _is_inserted(tree: Tree) -> bool:
    return isinstance(tree, Branch) and tree.kind in ("interpolation", "template_substitution")


def _split_text(tree: Tree) -> Iterator[Tree]:
    """Yield the pieces of a text: strings and inserted values."""
    if not isinstance(tree, Branch) or not _is_text(tree):
        yield Branch("inserted", (tree,))
    elif tree.kind == "text":
        yield from tree.children
    else:
        is_interpolated = any(_is_inserted(child) for child in tree.children)
        for child in tree.children[1:-1]:
            if isinstance(child, Branch) and _is_inserted(child):
                values = child.children[1:] if child.children[0] == "${" else child.children
                yield Branch("inserted", values)
            elif isinstance(child, str):
                yield child.replace("{{", "{").replace("}}", "}") if is_interpolated else child
            else:
                yield Branch("escape", (child,))


def _join_text(pieces: Sequence[Tree]) -> Tree:
    joined: list[Tree] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece != "":
            joined.append(piece)
    return Branch("text", tuple(joined))


def _get_plain_text(tree: Tree) -> str | None:
    """The text of a string without escapes and values; None if it has any, or a prefix that changes its meaning."""
    match tree:
        case Branch(_, (str() as start, str() as text, str())) if len(start) in (1, 3):
            return text
    return None


def _fill_percent(template: Tree, values: Sequence[Tree]) -> list[Tree] | None:
    text = _get_plain_text(template)
    parts = re.split(r"(%[sr%])", text or "")
    if text is None or "%" in "".join(parts[::2]) or sum(part in ("%s", "%r") for part in parts[1::2]) != len(values):
        return None
    remaining = iter(values)
    pieces: list[Tree] = []
    for part in parts:
        if part in ("%s", "%r"):
            pieces.append(Branch("inserted", (next(remaining), *(["!r"] if part == "%r" else []))))
        else:
            pieces.append("%" if part == "%%" else part)
    return pieces


def _fill_braces(template: Tree, arguments: Sequence[Tree]) -> list[Tree] | None:
    text = _get_plain_text(template)
    keywords: dict[str, Tree] = {}
    positional: list[Tree] = []
    for argument in arguments:
        match argument:
            case Branch("keyword_argument", (Name(name), _, value)):
                keywords[name] = value
            case _:
                positional.append(argument)
    try:
        fields = [*Formatter().parse(text or "")]
    except ValueError:
        return None
    pieces: list[Tree] = []
    numbers = count()
    for literal, field, specification, conversion in fields:
        pieces.append(literal)
        if field is None:
            continue
        name, *attributes = field.split(".")
        position = int(name) if name.isdecimal() else next(numbers) if not name else -1
        inserted = keywords.get(name) if position < 0 else next(iter(positional[position : position + 1]), None)
        if inserted is None or specification or "[" in field:
            return None
        for attribute in attributes:
            inserted = Branch("attribute", (inserted, ".", Name(attribute, is_local=False)))
        pieces.append(Branch("inserted", (inserted, *([f"!{conversion}"] if conversion else []))))
    return None if text is None else pieces


_RULES: tuple[Callable[[Branch], Tree], ...] = (
    _rewrite_operator, _rewrite_condition, _rewrite_step, _rewrite_text, _rewrite_statement, _rewrite_block,
    _rewrite_tail,
)  # fmt: skip
