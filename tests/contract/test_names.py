"""Names and sizes stay readable: limits on the package, so that it does not drift back."""

import ast
import builtins
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

import hivemind

SOURCE = Path(hivemind.__file__).parent
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
MODULES = {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}
TREES = {name: ast.parse(text) for name, text in MODULES.items()}

IRREGULAR_PARTICIPLE = re.compile(
    "become|begun|built|chosen|cut|done|drawn|found|given|gone|heard|held|hidden|kept|known|left|lost|made|meant|said|seen|"
    "sent|shown|spent|split|spoken|taken|told|written"
)
PRONOUN = re.compile("both|one|others|rest|some|things?|those")
NOUN_IN_ED = re.compile("embed|feed|indeed|need|seed|speed|added|changed|deleted|updated")
"""The last four are the parts of a difference, and named so everywhere."""

VERBS = """
    accept acknowledge act add adjust admit adopt advance advise align anchor annotate announce answer append
    apply approve arrange ask assess assign assume attach attend attribute audit authenticate authorize average
    begin bind blank borrow break brief build cache call capitalise capture carry catch change chart check
    checkpoint choose claim classify clean clear close collect combine commit compact compare compile complain
    complete compute confirm connect continue convert copy correct corroborate count create cut date decide
    decode deduplicate define delete derive describe detect diff digest disable discard dispute do doubt draw
    drop dump edit embed emit encode end ensure enter enumerate erase escape estimate examine excerpt exchange
    exclude execute exit expand expect expire explain explore export extract fetch fill filter find fingerprint
    finish fit fix flush fold follow forget format free fuse get give grade greet group guard guess handle hash
    hide hold identify import indent index infer inflect insert invoke isolate issue iterate join judge keep
    label lay learn leave level link list listen load locate lock log look lower maintain make map mark match
    measure mend merge migrate move name nest neutralise normalise note number observe offer open outline
    overwrite pack pair parse pause perform pick place plan play post postpone prefer prepare prepend preview
    print promote propose prune publish pull push put query quote raise rank rate read rebuild recall receive
    recheck recognise reconcile record redact redeem redirect reduce refold refresh refuse register reject
    release relink remember remove rename render renew repair reparse repeat replace replay reply report request
    require rescale reserve reset resolve restore resume retract retry return review revise revoke rotate round
    route run salvage save say score seal search select send separate serve set settle shadow shake share
    shorten show sign simplify sketch skip sort spell split spool squeeze stack stamp start stem step stop store
    stream strip suggest sum summarise supersede sync synchronise tag take tell test tokenise tokenize trace
    track translate treat trim truncate try turn uncount undo unescape unlink unlock unmark unpack unseal unset
    update upgrade use vacuum validate verify wait walk warn watch weigh widen withdraw work wrap write
"""
CLAIMS = """
    affects are asks belongs can contains continues corrects did differ differs does ends exists forgets gives
    had has have is looks matches may must names needs occurs overlaps owns refers says shares stands starts
    states waits wants was were
"""
"""First words of functions that return whether something is so."""
CONVERSIONS = "as by from new of on to with without"
"""First words of functions that make one value of another, as ``from_plain`` does."""
FIRST_WORDS = frozenset(f"{VERBS} {CLAIMS} {CONVERSIONS}".split())
NOT_VERBS = re.compile(r"(cached_)?property|.+\.(setter|command|group|get|post|delete)\b.*|.*contextmanager")
"""Decorators of functions that are nouns: a property, a command as people type it, and what stands after ``with``."""
NAME_IN_DOCS = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(\))?")
FILE_IN_DOCS = re.compile(r"[\w./-]+/[\w.-]*\.[a-z]+")
EXAMPLES = """
    Freitag Freitags Produktivdatenbank IPs ip clientIp client_ip error_fix file_path getUserById get_user_by_id pytest
    redacted_github
"""
"""Names in docstrings that stand for what other people write."""
NAMES_ELSEWHERE = "EVENT ef_search json_each json_extract rolled_back with"
"""Names of Python, SQLite, pgvector, the log, and one that stands for any event."""

MAX_VAGUE_VARIABLES_PERCENT = 1
MAX_VAGUE_FUNCTIONS_PERCENT = 0.5
MAX_NOUN_FUNCTIONS_PERCENT = 4
"""Most of them are in the documented Python API, or override what others named."""
MAX_MODULE_LINES = 500
MIN_COMMENTS_PER_100_LINES = 3.1


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
    return [node.name for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]


def list_functions_that_act(trees: Iterable[ast.Module]) -> Iterator[str]:
    """Yield the names of functions that should begin with a verb."""
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]
    # ``@limit_option(10)`` reads like the option it adds.
    decorators = {ast.unparse(decorator).partition("(")[0] for node in functions for decorator in node.decorator_list}
    for node in functions:
        is_noun = any(NOT_VERBS.fullmatch(ast.unparse(decorator)) for decorator in node.decorator_list)
        if not is_noun and not node.name.startswith("__") and node.name not in decorators:
            yield node.name


def starts_with_verb(name: str) -> bool:
    return name.strip("_").partition("_")[0] in FIRST_WORDS


def list_docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield docstrings, also those of values."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str()) as docstring):
                yield docstring


def list_definitions(tree: ast.Module) -> Iterator[str]:
    """Yield functions, classes, and values of the module and of classes."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            yield node.name
    bodies = [tree.body, *(node.body for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    for statement in (statement for body in bodies for statement in body):
        targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
        yield from (node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name))


def list_words(tree: ast.Module) -> Iterator[str]:
    """Yield every name that a module uses, and the words of its texts, such as SQL; not those of docstrings."""
    docstrings = set(list_docstrings(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                yield name
            case ast.alias(name=name) | ast.ImportFrom(module=str(name)):
                yield from name.split(".")
            case ast.Constant(value=str(text)) if node not in docstrings:
                yield from re.findall(r"\w+", text)


def find_missing_names(trees: Mapping[str, ast.Module]) -> Iterator[str]:
    """Yield what docstrings put between double backticks that looks like a name or a file of ours and is none."""
    names = {*dir(builtins), *sys.stdlib_module_names, *EXAMPLES.split(), *NAMES_ELSEWHERE.split()}
    names |= {name for tree in trees.values() for name in list_definitions(tree)}
    names |= {part for file in trees for part in Path(file).with_suffix("").parts}
    for file, tree in trees.items():
        own_names = names | set(list_words(tree))
        for docstring in list_docstrings(tree):
            for quote in re.findall("``([^`]+)``", str(docstring.value)):
                if FILE_IN_DOCS.fullmatch(quote):
                    places = (SOURCE / quote, (SOURCE / file).parent / quote, SOURCE.parents[1] / quote)
                    is_missing = not any(map(Path.exists, places))
                elif re.fullmatch(r"\w+\.py", quote):
                    is_missing = not any(Path(other).name == quote for other in trees)
                elif NAME_IN_DOCS.fullmatch(quote):
                    is_missing = not own_names.issuperset(quote.removesuffix("()").split("."))
                else:
                    continue
                if is_missing:
                    yield f"{file}:{docstring.lineno} {quote}"


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
    names = [name for tree in TREES.values() for name in list_variables(tree)]
    vague = [name for name in names if is_participle(name) or PRONOUN.fullmatch(name)]

    assert len(names) > 5000
    assert 100 * len(vague) / len(names) < MAX_VAGUE_VARIABLES_PERCENT, most_common(vague)


def test_functions_are_named_by_verbs() -> None:
    names = [name for tree in TREES.values() for name in list_functions(tree)]
    vague = [name for name in names if is_participle(name)]

    assert len(names) > 1000
    assert 100 * len(vague) / len(names) < MAX_VAGUE_FUNCTIONS_PERCENT, most_common(vague)


def test_functions_begin_with_a_verb() -> None:
    names = list(list_functions_that_act(TREES.values()))
    nouns = [name for name in names if not starts_with_verb(name)]

    assert len(names) > 2000
    assert 100 * len(nouns) / len(names) < MAX_NOUN_FUNCTIONS_PERCENT, most_common(nouns)


def test_docstrings_name_only_what_exists() -> None:
    assert list(find_missing_names(TREES)) == []


def test_a_class_name_stands_for_one_class() -> None:
    counts = Counter(name for tree in TREES.values() for name in list_classes(tree))

    assert counts["Hivemind"] == 1
    assert [name for name, count in counts.items() if count > 1] == []


def test_modules_stay_short_enough_to_read() -> None:
    lines = {name: count_code_lines(text) for name, text in MODULES.items()}

    assert not {name for name, count in lines.items() if count > MAX_MODULE_LINES}


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


def test_only_functions_that_act_need_a_verb() -> None:
    tree = ast.parse(
        "@property\ndef size(self): ...\n@commands.command('x')\ndef thing(): ...\n@option(1)\ndef find(): ...\n"
        "def option(n): ...\ndef __len__(self): ...\ndef _deadline(): ..."
    )

    assert list(list_functions_that_act([tree])) == ["find", "_deadline"]
    assert starts_with_verb("_find")
    assert starts_with_verb("is_open")
    assert not starts_with_verb("_deadline")


@pytest.mark.parametrize(
    ("quote", "is_missing"),
    [
        ("start", False), ("Engine.start", False), ("speed", False), ("fuel", False), ("torque", False), ("len", False),
        ("engines/motor.py", True), ("motor.py", False), ("brake.py", True), ("stop", True), ("Engine.stop()", True),
        ("a sentence about stop", False),
    ],
)  # fmt: skip
def test_a_name_in_a_docstring_that_does_not_exist_is_found(quote: str, is_missing: bool) -> None:
    module = f'''"""About ``{quote}``."""\nclass Engine:\n    speed = 1\n    def start(self, fuel): query("torque")\n'''

    assert bool(list(find_missing_names({"motor.py": ast.parse(module)}))) is is_missing
