"""Which edits of a definition ask to verify what was said about it, and which do not."""

from typing import TYPE_CHECKING

import pytest

from hivemind.code.parsing import parse_file
from hivemind.code.versions import CodeDifference, Version, compare_versions
from hivemind.model.code import LineChange

if TYPE_CHECKING:
    from tests.code.conftest import Workspace

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


def never_renamed(old_name: str, new_name: str) -> bool:
    return False


def compare(path: str, old: str, new: str, name: str) -> CodeDifference:
    files = [parse_file(path, text.encode()) for text in (old, new)]
    versions = [
        Version(file, definition)
        for file in files
        if file
        for definition in file.definitions
        if definition.qualified == name
    ]
    return compare_versions(versions[0], versions[1], never_renamed)


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


def test_two_calls_for_their_effect_may_not_change_places() -> None:
    old = "def f(a):\n    lock(a)\n    write(a)\n    close(a)\n"
    new = "def f(a):\n    write(a)\n    lock(a)\n    close(a)\n"

    assert compare("a.py", old, new, "f").is_own


def test_a_constructor_is_renamed_with_its_class() -> None:
    old = "class Shop {\n  int a;\n  Shop(int b) { a = b; }\n}\n"
    files = [parse_file("A.java", text.encode()) for text in (old, old.replace("Shop", "Store"))]
    versions = [Version(file, file.definitions[1]) for file in files if file]
    other = parse_file("A.java", old.replace("Shop", "Store").replace("a = b", "a = 0").encode())
    assert other

    assert not compare_versions(versions[0], versions[1], never_renamed).exists
    assert compare_versions(versions[0], Version(other, other.definitions[1]), never_renamed).members


def test_annotations_that_silence_warnings_are_like_comments() -> None:
    java = 'class A {\n  @SuppressWarnings("x")\n  int f() { return 1; }\n}\n'
    rust = "#[allow(dead_code)]\n#[cfg(unix)]\nfn f() -> u8 { 1 }\n"

    assert not compare("A.java", java, java.replace('@SuppressWarnings("x")\n', "\n"), "A.f").exists
    assert compare("A.java", java, java.replace('@SuppressWarnings("x")', "@Deprecated"), "A.f").is_own
    assert not compare("a.rs", rust, rust.replace("#[allow(dead_code)]\n", ""), "f").exists
    assert compare("a.rs", rust, rust.replace("unix", "windows"), "f").is_own


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
