"""Names and sizes stay readable: limits on the package, so that it does not drift back."""

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import hivemind

SOURCE = Path(hivemind.__file__).parent
MODULES = {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}

IRREGULAR_PARTICIPLE = re.compile(
    "become|begun|built|chosen|cut|done|drawn|found|given|gone|heard|held|hidden|kept|known|left|lost|made|meant|said|seen|"
    "sent|shown|spent|split|spoken|taken|told|written"
)
PRONOUN = re.compile("both|one|others|rest|some|things?|those")
NOUN_IN_ED = re.compile("embed|feed|indeed|need|seed|speed|added|changed|deleted|updated")
"""The last four are the parts of a difference, and named so everywhere."""

MAX_VAGUE_VARIABLES_PERCENT = 1
MAX_VAGUE_FUNCTIONS_PERCENT = 0.5
MAX_MODULE_LINES = 500
MIN_COMMENTS_PER_100_LINES = 3.1
LONG_MODULES = {
    "sessions/redact.py": "the hook loads it at every step, and each further file costs start-up time",
}


def is_participle(name: str) -> bool:
    """Return whether a name is nothing but a participle: it says what happened to a value, not what it is."""
    word = name.lstrip("_")
    is_regular = re.fullmatch("[a-z]+ed", word) and not NOUN_IN_ED.fullmatch(word)
    return bool(IRREGULAR_PARTICIPLE.fullmatch(word) or is_regular)


def list_variables(tree: ast.AST) -> Iterator[str]:
    """Yield the name of every assignment and parameter."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name not in ("self", "cls"):
                yield name


def list_functions(tree: ast.AST) -> list[str]:
    return [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def list_classes(tree: ast.Module) -> list[str]:
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def count_code_lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))


def count_comments(text: str) -> int:
    """Count comments that are meant for readers, not for tools."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return sum(not re.match(r"#\s*(noqa|fmt|type|pragma)\b", comment) for comment in comments)


def most_common(names: list[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in Counter(names).most_common(20))


def test_variables_are_named_by_nouns() -> None:
    names = [name for text in MODULES.values() for name in list_variables(ast.parse(text))]
    vague = [name for name in names if is_participle(name) or PRONOUN.fullmatch(name)]

    assert len(names) > 5000
    assert 100 * len(vague) / len(names) < MAX_VAGUE_VARIABLES_PERCENT, most_common(vague)


def test_functions_are_named_by_verbs() -> None:
    names = [name for text in MODULES.values() for name in list_functions(ast.parse(text))]
    vague = [name for name in names if is_participle(name)]

    assert len(names) > 1000
    assert 100 * len(vague) / len(names) < MAX_VAGUE_FUNCTIONS_PERCENT, most_common(vague)


def test_a_class_name_stands_for_one_class() -> None:
    counts = Counter(name for text in MODULES.values() for name in list_classes(ast.parse(text)))

    assert counts["Hivemind"] == 1
    assert [name for name, count in counts.items() if count > 1] == []


def test_modules_stay_short_enough_to_read() -> None:
    lines = {name: count_code_lines(text) for name, text in MODULES.items()}

    assert {name for name, count in lines.items() if count > MAX_MODULE_LINES} <= set(LONG_MODULES)


def test_comments_give_reasons_often_enough() -> None:
    lines = sum(map(count_code_lines, MODULES.values()))
    comments = sum(map(count_comments, MODULES.values()))

    assert 100 * comments / lines >= MIN_COMMENTS_PER_100_LINES, f"{comments} comments in {lines} lines of code"


@pytest.mark.parametrize(("name", "expected"), [("found", True), ("_parsed", True), ("hits", False), ("seed", False)])
def test_a_bare_participle_is_recognised(name: str, expected: bool) -> None:
    assert is_participle(name) is expected


def test_names_and_comments_are_counted_as_written() -> None:
    tree = ast.parse("def f(self, hits):\n    for one in hits:\n        told: int = one\n")

    assert sorted(list_variables(tree)) == ["hits", "one", "told"]
    assert count_comments("x = 1  # a reason\ny = 2  # noqa: E501\n") == 1
    assert count_code_lines("# a reason\n\nx = 1\n") == 1
