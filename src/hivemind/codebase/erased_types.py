"""Find types in the body of code that have no effect: those of lambdas, casts and class variables."""

import re

from tree_sitter import Node

_TYPING_CAST = re.compile(rb"(?:t|typing)\.cast")
_CAST_IMPORT = re.compile(
    rb"^\s*from typing import [^\n]*\bcast\b|^\s*from typing import \([^)]*\bcast\b", re.MULTILINE
)
_CLASS_VARIABLE = re.compile(rb"(?:(?:t|typing)\.)?ClassVar\b")


def find_cast_value(node: Node, source: bytes) -> Node | None:
    """The value of `typing.cast(Type, value)`; None if the node is anything else."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if node.type != "call" or function is None or arguments is None or len(arguments.named_children) != 2:
        return None
    name = function.text or b""
    # Other libraries have a `cast` that does something.
    is_cast = _TYPING_CAST.fullmatch(name) or (name == b"cast" and _CAST_IMPORT.search(source))
    return arguments.named_children[1] if is_cast else None


def is_lambda_type(parent: Node, field: str) -> bool:
    """Whether a node is the type of a lambda's parameter, which the compiler would infer."""
    parameters = parent.parent if parent.type == "formal_parameter" and field != "name" else None
    around = parameters.parent if parameters else None
    return around is not None and around.type == "lambda_expression"


def is_class_variable(node: Node, field: str) -> bool:
    """Whether a node only says that a variable belongs to the class, which it also does without."""
    return field == "type" and _CLASS_VARIABLE.match(node.text or b"") is not None
