"""Which edits of a definition ask to verify what was said about it, and which do not."""

from typing import TYPE_CHECKING

import pytest

from hivemind.codebase.comparison import CodeDifference, compare_versions
from hivemind.codebase.extraction import NOTHING_AROUND, Surroundings, Version
from hivemind.codebase.symbols import parse_file
from hivemind.model.code import LineChange

if TYPE_CHECKING:
    from tests.codebase.conftest import Workspace

SOURCES = {
    "a.py": """
@cached
def pay(cart, limit=5):
    total = 0
    tax = 19
    for item in cart.items:
        if item.price > limit and item.valid:
            total += round_up(item.price, tax)
    pair = (
        total,
    )
    names = [item.name for item in cart.items]
    if not names:
        raise EmptyCart(cart)
    return charge(total, dry=False)
""",
    "a.ts": """
export function pay(cart: Cart, limit = 5): number {
  let total = 0;
  const tax = 19;
  for (const item of cart.items) {
    if (item.price > limit && item.valid) total += roundUp(item.price, tax);
  }
  if (!total) throw new EmptyCart(cart);
  return charge(total, false);
}
""",
    "a.go": """
package shop

func Pay(cart *Cart, limit int) (int, error) {
	total := 0
	tax := 19
	for _, item := range cart.Items {
		if item.Price > limit && item.Valid {
			total += roundUp(item.Price, tax)
		}
	}
	if total == 0 {
		return 0, ErrEmpty
	}
	return charge(total, false)
}
""",
    "A.java": """
class Shop {
    int pay(Cart cart, int limit) {
        int total = 0;
        int tax = 19;
        for (Item item : cart.items()) {
            if (item.price() > limit && item.valid) total += roundUp(item.price(), tax);
        }
        if (total == 0) throw new EmptyCart(cart);
        return charge(total, false);
    }
}
""",
    "a.rs": """
#[inline]
fn pay(cart: &Cart, limit: u32) -> Result<u32, Error> {
    let mut total = 0;
    let tax = 19;
    for item in cart.items() {
        if item.price > limit && item.valid {
            total += round_up(item.price, tax);
        }
    }
    if total == 0 {
        return Err(Error::Empty);
    }
    charge(total, false)
}
""",
    "a.c": """
int pay(struct cart *cart, int limit) {
    int total = 0;
    int tax = 19;
    for (int i = 0; i < cart->length; i++) {
        if (cart->items[i].price > limit && cart->items[i].valid)
            total += round_up(cart->items[i].price, tax);
    }
    if (total == 0)
        return EMPTY;
    return charge(total, false);
}
""",
}
NAMES = {"a.go": "Pay", "A.java": "Shop.pay"}

BEHAVIOUR = [
    ("19", "20"),
    ("> limit", ">= limit"),
    ("charge(total", "refund(total"),
    ("total += ", "total -= "),
    ("charge(total", "charge(tax"),
]
PYTHON_BEHAVIOUR = [
    ("limit=5", "limit=7"),
    ("dry=False", "dry=True"),
    (" and ", " or "),
    ("raise EmptyCart(cart)", "raise BrokenCart(cart)"),
    ("@cached\n", ""),
    ("if not names", "if names"),
    ("        total,\n", "        total\n"),
    ("(item.price, tax)", "(tax, item.price)"),
    ("def pay(cart,", "def pay(basket,"),
    ("            total += round_up", "        total += round_up"),
]
SAME = [
    ("total", "amount"),
    ("tax", "vat"),
]


def compare(path: str, old: str, new: str, name: str) -> CodeDifference:
    files = [parse_file(path, text.encode()) for text in (old, new)]
    versions = [
        Version(file, definition)
        for file in files
        if file
        for definition in file.definitions
        if definition.qualified == name
    ]
    return compare_versions(versions[0], versions[1], NOTHING_AROUND)


def edit(path: str, old: str, new: str) -> CodeDifference:
    source = SOURCES[path]
    assert old in source
    return compare(path, source, source.replace(old, new), NAMES.get(path, "pay"))


@pytest.mark.parametrize("path", SOURCES)
@pytest.mark.parametrize(("old", "new"), BEHAVIOUR)
def test_a_changed_literal_operator_or_call_is_a_difference_in_every_language(path: str, old: str, new: str) -> None:
    assert edit(path, old, new).is_own


@pytest.mark.parametrize(("old", "new"), PYTHON_BEHAVIOUR)
def test_what_changes_behaviour_or_contract_is_a_difference(old: str, new: str) -> None:
    assert edit("a.py", old, new).is_own


@pytest.mark.parametrize("path", SOURCES)
@pytest.mark.parametrize(("old", "new"), SAME)
def test_a_consistent_new_name_of_a_local_is_none(path: str, old: str, new: str) -> None:
    assert not edit(path, old, new).exists


@pytest.mark.parametrize("path", SOURCES)
def test_a_name_that_is_not_consistent_is_a_difference(path: str) -> None:
    source = SOURCES[path]
    first = source.index("tax")

    edited = source[:first] + "vat" + source[first + 3 :]

    assert compare(path, source, edited, NAMES.get(path, "pay")).is_own


@pytest.mark.parametrize("path", SOURCES)
def test_independent_lines_may_change_places(path: str) -> None:
    source = SOURCES[path]
    lines = source.splitlines()
    at = next(number for number, line in enumerate(lines) if "total" in line)
    lines[at : at + 2] = lines[at + 1], lines[at]

    assert not compare(path, source, "\n".join(lines), NAMES.get(path, "pay")).exists


def test_dependent_lines_may_not_change_places() -> None:
    old = "def f(a):\n    b = a + 1\n    c = b * 2\n    return c, b, c\n"
    new = "def f(a):\n    c = b * 2\n    b = a + 1\n    return c, b, c\n"

    assert compare("a.py", old, new, "f").is_own


def test_a_declaration_may_move_to_where_it_is_used() -> None:
    old = "def f(a):\n    b = []\n    if not a:\n        return None\n    b.append(a)\n    return b\n"
    new = "def f(a):\n    if not a:\n        return None\n    b = []\n    b.append(a)\n    return b\n"

    assert not compare("a.py", old, new, "f").exists
    assert compare("a.py", old.replace("b = []", "a.b = []"), new.replace("b = []", "a.b = []"), "f").is_own


def test_two_calls_for_their_effect_may_not_change_places() -> None:
    old = "def f(a):\n    lock(a)\n    write(a)\n    close(a)\n"
    new = "def f(a):\n    write(a)\n    lock(a)\n    close(a)\n"

    assert compare("a.py", old, new, "f").is_own


def test_a_variable_that_is_used_once_may_be_written_in_place() -> None:
    old = "def f(a):\n    rate = find_rate(a)\n    return a * rate\n"
    new = "def f(a):\n    return a * find_rate(a)\n"

    assert not compare("a.py", old, new, "f").exists
    assert compare("a.py", old, new.replace("find_rate", "load_rate"), "f").is_own


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", "    n += 5\n    return n\n", "    n = 5\n    return n\n"),
        ("a.py", "    for b in a:\n        log(b)\n", "    for b in a:\n        save(b)\n"),
        ("a.py", "    b = next(a)\n    for c in a:\n        use(b)\n", "    for c in a:\n        use(next(a))\n"),
        ("a.py", "    b = read(a)\n    return lambda: b\n", "    return lambda: read(a)\n"),
        ("a.go", "\tfor i := range a {\n\t\tlog(i)\n\t}\n", "\tfor i := range a {\n\t\tsave(i)\n\t}\n"),
    ],
)
def test_a_variable_of_a_loop_or_with_two_values_is_not_written_in_place(path: str, old: str, new: str) -> None:
    head, tail = ("def f(a):\n", "") if path == "a.py" else ("package p\n\nfunc f(a []int) {\n", "}\n")

    assert compare(path, head + old + tail, head + new + tail, "f").is_own


def test_a_variable_that_is_assigned_from_itself_is_compared_in_finite_time() -> None:
    old = "def f(a):\n    for b in a:\n        b2 = strip(b2)\n    return 1\n"

    assert compare("a.py", old, old.replace("1", "2"), "f").is_own


def test_a_part_may_become_a_function_of_its_own_and_back() -> None:
    whole = "def f(a):\n    b = a.load(3)\n    if b > 9:\n        raise TooBig(b)\n    return b\n"
    helper = "def check(b):\n    if b > 9:\n        raise TooBig(b)\n    return b\n"
    parts = f"def f(a):\n    return check(a.load(3))\n\n\n{helper}"

    assert not compare("a.py", whole, parts, "f").exists
    assert not compare("a.py", parts, whole, "f").exists
    assert compare("a.py", whole, parts.replace("9", "8"), "f").is_own
    # A function that was there before may be used instead, if it does the same.
    assert not compare("a.py", whole + helper, parts, "f").exists
    assert compare("a.py", whole + helper.replace("9", "8"), parts.replace("9", "8"), "f").is_own
    # Nothing was taken out of the first version: a call was added.
    added = whole.replace("    return b", "    check(b)\n    return b")
    assert compare("a.py", whole + "def check(b):\n    pass\n", added + "def check(b):\n    pass\n", "f").is_own


def test_a_value_may_get_a_name() -> None:
    plain = "def f(a):\n    return a > 9\n"
    named = "LIMIT = 9\n\n\ndef f(a):\n    return a > LIMIT\n"

    assert not compare("a.py", plain, named, "f").exists
    assert not compare("a.py", named, plain, "f").exists
    assert compare("a.py", plain, named.replace("9", "8"), "f").is_own


def test_a_constructor_is_renamed_with_its_class() -> None:
    old = "class Shop {\n  int a;\n  Shop(int b) { a = b; }\n}\n"
    files = [parse_file("A.java", text.encode()) for text in (old, old.replace("Shop", "Store"))]
    versions = [Version(file, file.definitions[1]) for file in files if file]
    other = parse_file("A.java", old.replace("Shop", "Store").replace("a = b", "a = 0").encode())
    assert other

    assert not compare_versions(versions[0], versions[1], NOTHING_AROUND).exists
    assert compare_versions(versions[0], Version(other, other.definitions[1]), NOTHING_AROUND).members


def test_a_constant_or_a_helper_may_be_in_another_file() -> None:
    old, new = (
        "package p\n\nfunc f(a int) int {\n\tif a > 500 {\n\t\treturn 0\n\t}\n\treturn a\n}\n",
        "package p\n\nfunc f(a int) int {\n\tif a > lib.Limit {\n\t\treturn 0\n\t}\n\treturn a\n}\n",
    )
    files = [parse_file("a.go", text.encode()) for text in (old, new)]
    versions = [Version(file, file.definitions[1]) for file in files if file]

    def find(value: str) -> Surroundings:
        library = parse_file("lib.go", f"package lib\n\nconst Limit = {value}\n".encode())
        definitions = (
            [Version(library, each) for each in library.definitions if each.name == "Limit"] if library else []
        )
        return NOTHING_AROUND._replace(find_new=lambda name: definitions if name == "Limit" else [])

    assert not compare_versions(versions[0], versions[1], find("500")).exists
    assert compare_versions(versions[0], versions[1], find("501")).is_own


def test_annotations_that_silence_warnings_are_like_comments() -> None:
    java = 'class A {\n  @SuppressWarnings("x")\n  int f() { return 1; }\n}\n'
    rust = "#[allow(dead_code)]\n#[cfg(unix)]\nfn f() -> u8 { 1 }\n"

    assert not compare("A.java", java, java.replace('@SuppressWarnings("x")\n', "\n"), "A.f").exists
    assert compare("A.java", java, java.replace('@SuppressWarnings("x")', "@Deprecated"), "A.f").is_own
    assert not compare("a.rs", rust, rust.replace("#[allow(dead_code)]\n", ""), "f").exists
    assert compare("a.rs", rust, rust.replace("unix", "windows"), "f").is_own


def test_parentheses_braces_quotes_and_types_of_variables_are_style() -> None:
    assert not edit("a.py", "if not names", "if (not names)").exists
    assert not edit("a.py", "    tax = 19", "    tax: int = 19").exists
    assert not edit(
        "a.ts", "if (!total) throw new EmptyCart(cart);", "if (!total) { throw new EmptyCart(cart) }"
    ).exists


@pytest.mark.parametrize(
    ("path", "old", "new", "is_difference"),
    [
        ("a.py", "def f(a, b):\n    return (a, b)\n", "def f(a, b):\n    return a, b\n", False),
        ("a.py", "def f(a, b):\n    return (a, b)\n", "def f(a, b):\n    return b, a\n", True),
        ("a.py", "def f(a):\n    return (a,)\n", "def f(a):\n    return (a)\n", True),
        ("a.py", 'def f():\n    return "one two"\n', 'def f():\n    return ("one "\n      "two")\n', False),
        ("a.py", 'def f():\n    return "one two"\n', 'def f():\n    return ("one"\n      "two")\n', True),
        ("a.py", 'def f():\n    return "one {a}"\n', 'def f():\n    return ("one "\n      f"{a}")\n', True),
        ("a.c", 'char *f() { return "one two"; }', 'char *f() { return "one "\n "two"; }', False),
        ("A.java", "class A { int f(int a) { return a; } }", "class A { int f(final int a) { return a; } }", False),
        ("A.java", "class A { int f(int a) { return a; } }", "class A { final int f(int a) { return a; } }", True),
    ],
)
def test_the_layout_of_tuples_strings_and_final_variables_is_style(
    path: str, old: str, new: str, is_difference: bool
) -> None:
    name = "A.f" if path == "A.java" else "f"
    assert compare(path, old, new, name).exists is is_difference


@pytest.mark.parametrize(
    ("path", "old", "new", "is_difference"),
    [
        ("a.py", "def f(a):\n    return a + 1\n", "def f(a):\n    return t.cast(int, a) + 1\n", False),
        ("a.py", "def f(a):\n    return a + 1\n", "def f(a):\n    return t.cast(int, b) + 1\n", True),
        # Without an import from typing it is another function.
        ("a.py", "def f(a):\n    return cast(a, Text)\n", "def f(a):\n    return cast(b, Text)\n", True),
        ("a.py", 'class f:\n    name = "zsh"\n', 'class f:\n    name: ClassVar[str] = "zsh"\n', False),
        ("a.py", 'class f:\n    name = "zsh"\n', 'class f:\n    name: ClassVar[str] = "bash"\n', True),
        # A type makes it a field of a data class.
        ("a.py", 'class f:\n    name = "zsh"\n', 'class f:\n    name: str = "zsh"\n', True),
        ("A.java", "class A { int f() { return g((a, b) -> a); } }",
         "class A { int f() { return g((K a, @Nullable V b) -> a); } }", False),
        ("A.java", "class A { int f() { return g((a, b) -> a); } }",
         "class A { int f() { return g((K a, @Nullable V b) -> b); } }", True),
        ("A.java", "class A { int f(int a) { return a; } }", "class A { int f(long a) { return a; } }", True),
    ],
)  # fmt: skip
def test_types_without_an_effect_are_style(path: str, old: str, new: str, is_difference: bool) -> None:
    assert compare(path, old, new, "A.f" if path == "A.java" else "f").exists is is_difference


def test_a_local_function_may_become_one_of_its_own() -> None:
    inner = "func(b []byte) bool {\n\treturn len(b) == 0\n}\n"
    old = f"package a\n\nfunc f(b []byte) bool {{\n\tisEmpty := {inner}\n\treturn isEmpty(b)\n}}\n"
    new = f"package a\n\nfunc f(b []byte) bool {{\n\treturn isEmpty(b)\n}}\n\n{inner.replace('func', 'func isEmpty')}"
    assert not compare("a.go", old, new, "f").exists
    assert compare("a.go", old, new.replace("== 0", "== 1"), "f").exists


def test_a_field_that_is_assigned_later_is_no_constant() -> None:
    source = "class Reader {{\n  {field}\n  void clear() {{\n    {line}\n    list.clear();\n  }}\n}}\n"
    old = source.format(field="long seen = 0L;", line="seen = 0L;")
    assert compare("Reader.java", old, source.format(field="", line=""), "Reader.clear").exists
    constant = source.format(field="static final long SIZE = 8L;", line="grow(SIZE);")
    assert not compare("Reader.java", constant, source.format(field="", line="grow(8L);"), "Reader.clear").exists


def test_a_precedence_that_parentheses_change_is_a_difference() -> None:
    assert compare("a.py", "def f(a):\n    return a + a * a\n", "def f(a):\n    return (a + a) * a\n", "f").is_own


def test_the_lines_and_the_tokens_that_changed_are_reported() -> None:
    difference = edit("a.py", "tax = 19", "tax = 7")

    assert difference.lines == (LineChange(old="tax = 19", new="tax = 7"),)
    assert difference.replaced == (("19", "7"),)


CONTAINERS = [
    ("a.c", "struct pool {\n    int size;\n    char *name;\n};\n", "pool", "int size", "long size", ()),
    ("a.go", "package a\n\ntype Reader interface {\n\tRead(n int) error\n}\n", "Reader", "n int", "n int64", ("Read",)),
    ("a.go", "package a\n\ntype Pool struct {\n\tSize int\n}\n", "Pool", "Size int", "Size int64", ()),
    ("a.py", "class A:\n    def f(self):\n        return 1\n", "A", "return 1", "return 2", ("f",)),
    ("a.py", "class A:\n    size = 1\n", "A", "size = 1", "size = 2", ()),
    ("a.ts", "interface A {\n  size: number;\n}\n", "A", "size", "length", ()),
    ("a.rs", "enum A {\n    Open,\n    Closed,\n}\n", "A", "Closed", "Shut", ()),
    ("A.java", "class A {\n    int size = 1;\n    int f() { return 1; }\n}\n", "A", "size = 1", "size = 2", ("size",)),
]


@pytest.mark.parametrize(("path", "source", "name", "old", "new", "members"), CONTAINERS)
def test_a_changed_member_is_a_difference_of_its_container(
    path: str, source: str, name: str, old: str, new: str, members: tuple[str, ...]
) -> None:
    difference = compare(path, source, source.replace(old, new), name)

    assert difference.exists
    assert tuple(member.name for member in difference.members) == members
    assert difference.lines
    assert not compare(path, source, source.replace("\n", "\n\n"), name).exists


def test_added_and_removed_members_are_named() -> None:
    old = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"

    difference = compare("a.py", old, old.replace("def g", "def h"), "A")

    assert [(member.name, member.verb) for member in difference.members] == [("g", "removed"), ("h", "added")]


def test_a_build_directive_belongs_to_what_follows_it(workspace: "Workspace") -> None:
    workspace.write("logo.go", "package a\n\n// The logo.\n//go:embed old.png\nvar logo []byte\n")
    anchor = workspace.anchor("logo.go::logo")

    workspace.replace("logo.go", "The logo", "Our logo")
    documented = workspace.judge(anchor)
    workspace.replace("logo.go", "old.png", "new.png")

    assert not documented.must_verify
    assert workspace.judge(anchor).must_verify


def test_a_symbol_renamed_in_the_whole_tree_changes_nothing_for_its_callers(workspace: "Workspace") -> None:
    workspace.write("rates.py", "def find_rate(a):\n    return a * 3\n\n\ndef load_rate(a):\n    return a\n")
    workspace.write("shop.py", "def pay(a):\n    return a + find_rate(a)\n")
    workspace.commit()
    workspace.index.refresh()
    anchor = workspace.anchor("shop.py::pay")

    workspace.replace("shop.py", "find_rate", "load_rate")
    switched = workspace.judge(anchor)
    workspace.replace("shop.py", "load_rate", "look_up_rate")
    workspace.replace("rates.py", "find_rate", "look_up_rate")
    workspace.index.refresh()

    assert switched.must_verify
    assert not workspace.judge(anchor).must_verify


def test_a_field_replaced_in_all_files_changes_nothing_for_those_who_read_it(workspace: "Workspace") -> None:
    workspace.write("node.ts", "export interface Node {\n  isOnce: boolean;\n  isLast: boolean;\n}\n")
    workspace.write("gen.ts", "export function gen(node: Node): number {\n  return node.isOnce ? 1 : 2;\n}\n")
    workspace.commit()
    workspace.index.refresh()
    anchor = workspace.anchor("gen.ts::gen")

    workspace.replace("gen.ts", "isOnce", "isLast")
    switched = workspace.judge(anchor)
    workspace.replace("gen.ts", "isLast", "isCached")
    unknown = workspace.judge(anchor)
    workspace.replace("node.ts", "isOnce", "isCached")

    assert switched.must_verify
    assert unknown.must_verify
    assert not workspace.judge(anchor).must_verify


def test_code_that_was_committed_after_the_memory_is_found(workspace: "Workspace") -> None:
    workspace.write("shop.py", "def pay(a):\n    return a\n")
    workspace.commit()
    workspace.write("shop.py", "def pay(a):\n    rate = 3\n    return a * rate * rate\n")
    anchor = workspace.anchor("shop.py::pay")
    workspace.commit()

    workspace.replace("shop.py", "rate", "factor")

    assert not workspace.judge(anchor).must_verify
    workspace.replace("shop.py", "3", "4")
    assert ("3", "4") in workspace.judge(anchor).replaced


def test_without_the_old_code_every_change_of_tokens_asks_to_verify(workspace: "Workspace") -> None:
    workspace.write("shop.py", "def pay(a):\n    rate = 3\n    return a * rate * rate\n")
    anchor = workspace.anchor("shop.py::pay")

    workspace.replace("shop.py", "return a", "return  a")
    spaced = workspace.judge(anchor)
    workspace.replace("shop.py", "3", "4")

    assert not spaced.must_verify
    assert workspace.judge(anchor).must_verify
