"""Which edits of a definition ask to verify what was said about it, and which do not."""

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import apsw
import pytest

from hivemind.code.cache_database import remove, remove_kept_code
from hivemind.code.parsing import outline
from hivemind.code.versions import CodeDifference, compare_code, keep_code, select_lines
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


def compare(path: str, old: str, new: str, name: str) -> CodeDifference | None:
    sources = [text.encode() for text in (old, new)]
    symbols = [
        next(symbol for symbol in outline(path, source).symbols if symbol.qualified == name) for source in sources
    ]
    codes = [
        select_lines(source, symbol.line, symbol.end_line) for source, symbol in zip(sources, symbols, strict=True)
    ]
    return compare_code(symbols[0], codes[0], symbols[1], codes[1])


def edit(path: str, old: str, new: str) -> CodeDifference | None:
    source = SOURCES[path]
    assert old in source
    return compare(path, source, source.replace(old, new), NAMES.get(path, "pay"))


@pytest.mark.parametrize("path", SOURCES)
@pytest.mark.parametrize(("old", "new"), BEHAVIOUR)
def test_a_changed_literal_operator_or_call_is_a_difference_in_every_language(path: str, old: str, new: str) -> None:
    assert edit(path, old, new) is not None


@pytest.mark.parametrize(("old", "new"), PYTHON_BEHAVIOUR)
def test_what_changes_behaviour_or_contract_is_a_difference(old: str, new: str) -> None:
    assert edit("a.py", old, new) is not None


@pytest.mark.parametrize("path", SOURCES)
@pytest.mark.parametrize(("old", "new"), SAME)
def test_a_consistent_new_name_of_a_local_is_none(path: str, old: str, new: str) -> None:
    assert edit(path, old, new) is None


@pytest.mark.parametrize("path", SOURCES)
def test_a_name_that_is_not_consistent_is_a_difference(path: str) -> None:
    source = SOURCES[path]
    first = source.index("tax")

    edited = source[:first] + "vat" + source[first + 3 :]

    assert compare(path, source, edited, NAMES.get(path, "pay")) is not None


def test_two_calls_for_their_effect_may_not_change_places() -> None:
    old = "def f(a):\n    lock(a)\n    write(a)\n    close(a)\n"
    new = "def f(a):\n    write(a)\n    lock(a)\n    close(a)\n"

    assert compare("a.py", old, new, "f") is not None


def test_a_constructor_is_renamed_with_its_class() -> None:
    old = outline("A.java", b"class Shop {\n  int a;\n  Shop(int b) { a = b; }\n}\n").symbols[1]
    new = replace(old, name="Store", qualified="Store")
    code = "class Shop {\n  int a;\n  Shop(int b) { a = b; }\n}"

    assert compare_code(old, code, new, code.replace("Shop", "Store")) is None
    assert compare_code(old, code, new, code.replace("Shop", "Store").replace("a = b", "a = 0")) is not None


def test_annotations_that_silence_warnings_are_like_comments() -> None:
    java = 'class A {\n  @SuppressWarnings("x")\n  int f() { return 1; }\n}\n'
    rust = "#[allow(dead_code)]\n#[cfg(unix)]\nfn f() -> u8 { 1 }\n"

    assert compare("A.java", java, java.replace('@SuppressWarnings("x")\n', "\n"), "A.f") is None
    assert compare("A.java", java, java.replace('@SuppressWarnings("x")', "@Deprecated"), "A.f") is not None
    assert compare("a.rs", rust, rust.replace("#[allow(dead_code)]\n", ""), "f") is None
    assert compare("a.rs", rust, rust.replace("unix", "windows"), "f") is not None


def test_a_precedence_that_parentheses_change_is_a_difference() -> None:
    assert compare("a.py", "def f(a):\n    return a + a * a\n", "def f(a):\n    return (a + a) * a\n", "f") is not None


def test_the_lines_that_changed_and_those_that_did_not_are_reported() -> None:
    difference = edit("a.py", "tax = 19", "tax = 7")

    assert difference is not None
    assert difference.lines == (LineChange(old="tax = 19", new="tax = 7"),)
    assert "total = 0" in difference.kept
    assert "tax = 19" not in difference.kept


def test_a_line_is_paired_with_the_one_that_is_most_like_it() -> None:
    old = "def f(a):\n    b = a\n    raise PaymentFailed(a)\n"
    new = "def f(a):\n    b = a\n    sleep(3)\n    raise PaymentFailed(a, b)\n"

    difference = compare("a.py", old, new, "f")

    assert difference is not None
    assert difference.lines == (
        LineChange(old="", new="sleep(3)"),
        LineChange(old="raise PaymentFailed(a)", new="raise PaymentFailed(a, b)"),
    )


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("if total > 5_000:", "if total > 7_000:", "`5_000` → `7_000`"),
        ("retries = 3", "retries = 5", "`retries = 3` → `retries = 5`"),
        ("find(ids: string[], n)", "find(ids: Set<string>, n)", "`string[]` → `Set<string>`"),
        ("def f(user, pw):", "def f(user, pw, otp):", "`pw` → `pw, otp`"),
        ("return None", "", "removed `return None`"),
        ("", "return None", "added `return None`"),
    ],
)
def test_of_a_line_only_what_differs_is_shown(old: str, new: str, text: str) -> None:
    assert str(LineChange(old=old, new=new)) == text


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("return measure_all(rows) + 1", "return find_deadline(rows) - 1", "`measure_all…` → `find_deadli…`"),
        ("limit = count_all_rows(1)", "limit = count_all_rows(2)", "`1)` → `2)`"),
        ("f(abcdefghijklmnop, b)", "f(abcdefghijklmnop)", "removed `b`"),
        ("return a_long_sentence_of_words", "", "removed `return a_lo…`"),
        ("Optional[Sequence[str], int]", "Sequence[str] | int", "`Optional[Se…]` → `Sequence[st…]`"),
    ],
)
def test_where_there_is_little_room_both_sides_still_differ(old: str, new: str, text: str) -> None:
    assert LineChange(old=old, new=new).show(12) == text


CONTAINERS = [
    ("a.c", "struct pool {\n    int size;\n    char *name;\n};\n", "pool", "int size", "long size"),
    ("a.go", "package a\n\ntype Reader interface {\n\tRead(n int) error\n}\n", "Reader", "n int", "n int64"),
    ("a.go", "package a\n\ntype Pool struct {\n\tSize int\n}\n", "Pool", "Size int", "Size int64"),
    ("a.py", "class A:\n    def f(self):\n        return 1\n", "A", "return 1", "return 2"),
    ("a.py", "class A:\n    size = 1\n", "A", "size = 1", "size = 2"),
    ("a.ts", "interface A {\n  size: number;\n}\n", "A", "size", "length"),
    ("a.rs", "enum A {\n    Open,\n    Closed,\n}\n", "A", "Closed", "Shut"),
    ("a.php", "<?php\nclass A {\n    function f() { return 1; }\n}\n", "A", "return 1", "return 2"),
    ("A.java", "class A {\n    int size = 1;\n    int f() { return 1; }\n}\n", "A", "size = 1", "size = 2"),
]


@pytest.mark.parametrize(("path", "source", "name", "old", "new"), CONTAINERS)
def test_a_changed_member_is_a_difference_of_its_container(
    path: str, source: str, name: str, old: str, new: str
) -> None:
    difference = compare(path, source, source.replace(old, new), name)

    assert difference is not None
    assert difference.lines
    assert compare(path, source, source.replace("\n", "\n\n"), name) is None


def test_a_build_directive_belongs_to_what_follows_it(workspace: "Workspace") -> None:
    workspace.write("logo.go", "package a\n\n// The logo.\n//go:embed old.png\nvar logo []byte\n")
    anchor = workspace.anchor("logo.go::logo")

    workspace.replace("logo.go", "The logo", "Our logo")
    documented = workspace.judge(anchor)
    workspace.replace("logo.go", "old.png", "new.png")

    assert not documented.must_verify
    assert workspace.judge(anchor).must_verify


def test_code_that_was_committed_after_the_memory_is_found(workspace: "Workspace") -> None:
    workspace.write("shop.py", "def pay(a):\n    return a\n")
    workspace.commit()
    workspace.write("shop.py", "def pay(a):\n    rate = 3\n    return a * rate * rate\n")
    anchor = workspace.anchor("shop.py::pay")
    workspace.commit()

    workspace.replace("shop.py", "rate", "factor")

    assert not workspace.judge(anchor).must_verify
    workspace.replace("shop.py", "factor", "rate")
    workspace.replace("shop.py", "3", "4")
    assert "`rate = 3` → `rate = 4`" in workspace.judge(anchor).text


def test_without_the_old_code_every_change_of_tokens_asks_to_verify(workspace: "Workspace") -> None:
    workspace.write("shop.py", "def pay(a):\n    rate = 3\n    return a * rate * rate\n")
    anchor = workspace.anchor("shop.py::pay")

    workspace.replace("shop.py", "return a", "return  a")
    spaced = workspace.judge(anchor)
    workspace.replace("shop.py", "3", "4")

    assert not spaced.must_verify
    assert workspace.judge(anchor).must_verify


def test_the_old_code_is_kept_when_a_link_is_made(workspace: "Workspace") -> None:
    workspace.write("shop.py", "def pay(a):\n    rate = 3\n    return a * rate * rate\n")
    anchor = workspace.anchor("shop.py::pay")
    keep_code(workspace.index, [anchor])
    workspace.replace("shop.py", "rate = 3", "rate = 4")

    shown = workspace.judge(anchor)
    removed_count = remove_kept_code(workspace.cache, lambda code: "rate" in code)
    hidden = workspace.judge(anchor)

    assert shown.text == "changed: `rate = 3` → `rate = 4`"
    assert removed_count == 1
    assert hidden.lines == ()


@pytest.mark.parametrize("bit", [1, 4, 64])
def test_a_damaged_index_keeps_no_erased_code(workspace: "Workspace", bit: int) -> None:
    workspace.write("shop.py", "def pay(a):\n    rate = 31415\n    return a * rate\n")
    keep_code(workspace.index, [workspace.anchor("shop.py::pay")])
    workspace.index.close()
    (file,) = workspace.cache.glob("code-*.db")
    with closing(apsw.Connection(str(file))) as db:
        db.pragma("wal_checkpoint(TRUNCATE)")
    content = file.read_bytes()
    place = content.index(b"31415")
    page = place - place % 4096
    remaining = []

    # Bytes 3 and 4 count the rows: SQLite cannot tell that a smaller count is wrong without reading all of the file.
    for flipped in (*range(page, page + 3), *range(page + 5, page + 12), *range(place - 100, place)):
        damaged = bytearray(content)
        damaged[flipped] ^= bit
        file.write_bytes(damaged)
        remove_kept_code(workspace.cache, lambda code: "31415" in code)
        if any(b"31415" in left.read_bytes() for left in workspace.cache.iterdir()):
            remaining.append(flipped - page)
        # Another try must not read the pages of this one.
        remove(file)

    assert remaining == []
