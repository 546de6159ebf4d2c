"""From what people write to the symbols they mean."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hivemind.code.code_names import surely_names_code
from hivemind.code.index import MAX_AUTOMATIC_FILES, CodeIndex
from hivemind.code.links import find_anchors, find_mentions, find_symbols

if TYPE_CHECKING:
    from tests.code.conftest import Workspace


@pytest.fixture
def shop(workspace: "Workspace") -> "Workspace":
    workspace.write(
        "shop/basket.py",
        """
        LIMIT = 10

        class Basket:
            def pay(self, card):
                return charge_card(card)

            def empty(self):
                return None

        def charge_card(card):
            return card
        """,
    )
    workspace.write("shop/till.py", "class Till:\n    def pay(self, card):\n        return card\n")
    for number in range(6):
        workspace.write(f"plugins/p{number}/main.py", "def run_plugin():\n    return 1\n")
    workspace.write("docs/guide.md", "# Guide\n\n## charge card\n\ntext\n")
    workspace.commit()
    workspace.index.refresh()
    return workspace


def labels(workspace: "Workspace", link: str) -> list[str]:
    return [symbol.label for symbol in find_symbols(workspace.index, link)]


@pytest.mark.parametrize(
    ("link", "meant"),
    [
        ("shop/basket.py::Basket.pay", ["shop/basket.py::Basket.pay"]),
        ("./shop/basket.py::Basket::pay", ["shop/basket.py::Basket.pay"]),
        ("shop/basket.py::pay", ["shop/basket.py::Basket.pay"]),
        ("shop/basket.py::charge_card()", ["shop/basket.py::charge_card"]),
        ("shop/basket.py", ["shop/basket.py"]),
        ("basket.py", ["shop/basket.py"]),
        ("shop/basket.py:5", ["shop/basket.py::Basket.pay"]),
        ("shop/basket.py:3-8", ["shop/basket.py::Basket"]),
        ("shop/basket.py:4-8", ["shop/basket.py::Basket.pay", "shop/basket.py::Basket.empty"]),
        ("shop/basket.py:1-9", ["shop/basket.py::LIMIT", "shop/basket.py::Basket"]),
        ("shop/basket.py:2", ["shop/basket.py"]),
        ("charge_card", ["shop/basket.py::charge_card"]),
        ("Basket.pay", ["shop/basket.py::Basket.pay"]),
        ("pay", []),
        ("shop.basket.Basket.pay", ["shop/basket.py::Basket.pay"]),
        ("shop.basket:Basket.pay", ["shop/basket.py::Basket.pay"]),
        ("basket.charge_card", ["shop/basket.py::charge_card"]),
        ("tree/shop/basket.py::charge_card", ["shop/basket.py::charge_card"]),
        ("shop.basket", ["shop/basket.py"]),
        ("shop/basket", ["shop/basket.py"]),
        ("shop", ["shop"]),
        ("shop/", ["shop"]),
        ("plugins.p3.main.run_plugin", ["plugins/p3/main.py::run_plugin"]),
        ("p3.main", ["plugins/p3/main.py"]),
        ("plugins.p9.main.run_plugin", []),
        ("os.path.charge_card", []),
        ("shop.till.charge_card", []),
        ("docs/guide.md::charge card", ["docs/guide.md::Guide.charge card"]),
        ("run_plugin", []),
        ("main.py", []),
        ("shop/basket.py::nothing", []),
        ("nowhere.py", []),
        ("", []),
    ],
)
def test_a_link_means_the_one_place_that_fits_it_or_nothing(shop: "Workspace", link: str, meant: list[str]) -> None:
    assert labels(shop, link) == meant


def test_a_symbol_that_moved_since_the_index_looked_is_not_linked_where_it_was(shop: "Workspace") -> None:
    before = labels(shop, "charge_card")
    shop.replace("shop/basket.py", "def charge_card", "def debit_card")

    after = labels(shop, "charge_card")

    assert before == ["shop/basket.py::charge_card"]
    assert after == []


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Always call `charge_card` once", {"shop/basket.py::charge_card"}),
        ("charge_card() must be called once", {"shop/basket.py::charge_card"}),
        ("See shop/basket.py::Basket.pay, it retries", {"shop/basket.py::Basket.pay"}),
        ("shop/till.py is generated", {"shop/till.py"}),
        ("the bug was in shop/basket.py:9-11.", {"shop/basket.py::charge_card"}),
        ("In shop/till.py the method `pay` rounds up", {"shop/till.py::Till.pay"}),
        ("`Basket.empty` returns nothing", {"shop/basket.py::Basket.empty"}),
        ("We pay with a card and empty the basket", set()),
        ("`run_plugin` is everywhere", set()),
        ("visit https://example.com/shop/basket.html today", set()),
        ("nothing at all", set()),
    ],
)
def test_a_text_is_linked_to_what_it_names_and_no_more(shop: "Workspace", text: str, meant: set[str]) -> None:
    assert {anchor.label for anchor in find_mentions(shop.index, text)} == meant


RUST_TYPE = "pub struct Pool { size: u32 }\n" + "".join(
    f"impl From<T{number}> for Pool {{ fn from(_: T{number}) -> Self {{ Pool {{ size: {number} }} }} }}\n"
    for number in range(9)
)

SENTENCES = [
    ("TypeAdapter.validate_python accepts strings", ["core/adapter.py::TypeAdapter.validate_python"]),
    ("`TypeAdapter.validate_python` accepts strings", ["core/adapter.py::TypeAdapter.validate_python"]),
    ("adapter.validate_python() accepts strings", ["core/adapter.py::TypeAdapter.validate_python"]),
    ("TypeAdapter::validate_python accepts strings", ["core/adapter.py::TypeAdapter.validate_python"]),
    ("FieldInfo._copy is shallow", ["core/adapter.py::FieldInfo._copy"]),
    ("_load_cache is slow", ["core/adapter.py::_load_cache"]),
    ("_Registry holds plugins", ["core/adapter.py::_Registry"]),
    ("core.adapter.build_adapter is public", ["core/adapter.py::build_adapter"]),
    ("store.NewPool opens connections", ["store/pool.go::NewPool"]),
    ("`store.Pool.Close` waits", ["store/pool.go::Pool.Close"]),
    ("Pool#Close waits", ["store/pool.go::Pool.Close"]),
    ("Keep adapter.py free of I/O", ["core/adapter.py"]),
    ("Everything works.Then it fails", []),
    ("json.dumps is slow", []),
    ("other.validate_python is unrelated", []),
]


@pytest.fixture
def library(workspace: "Workspace") -> "Workspace":
    workspace.write(
        "core/adapter.py",
        """
        class TypeAdapter:
            def validate_python(self, value):
                return value

        class FieldInfo:
            def _copy(self):
                return self

        class _Registry:
            pass

        def _load_cache():
            return {}

        def build_adapter():
            return TypeAdapter()
        """,
    )
    workspace.write("core/model.py", "class Model:\n    def validate_python(self, value):\n        return 1\n")
    workspace.write(
        "tests/test_adapter.py", "class TypeAdapter:\n    def validate_python(self, value):\n        return 2\n"
    )
    workspace.write(
        "store/pool.go",
        "package store\n\ntype Pool struct{}\n\nfunc NewPool() *Pool { return nil }\n\nfunc (p *Pool) Close() {}\n",
    )
    workspace.write("src/pool.rs", RUST_TYPE)
    workspace.commit()
    return workspace


@pytest.mark.parametrize("is_indexed", [True, False], ids=["indexed", "not indexed"])
@pytest.mark.parametrize(("sentence", "expected_labels"), SENTENCES)
def test_names_are_understood_as_people_write_them(
    library: "Workspace", sentence: str, expected_labels: list[str], is_indexed: bool
) -> None:
    if is_indexed:
        library.index.refresh()

    anchors = find_anchors(library.index, (), (), sentence, "")

    assert [anchor.label for anchor in anchors] == expected_labels


def test_a_type_with_many_implementations_is_linked_with_its_definition_first(library: "Workspace") -> None:
    symbols = find_symbols(library.index, "src/pool.rs::Pool")

    assert symbols[0].kind == "struct"
    assert {symbol.label for symbol in symbols} == {"src/pool.rs::Pool"}


def test_overloads_are_one_place(workspace: "Workspace") -> None:
    overloads = " ".join(f"static int check(int{'[]' * number} a) {{ return {number}; }}" for number in range(4))
    for folder in ("main", "android"):
        workspace.write(f"{folder}/Preconditions.java", f"class Preconditions {{ {overloads} }}\n")
    for folder in ("one", "two", "three", "four"):
        workspace.write(f"{folder}/Till.java", "class Till { int ring() { return 1; } }\n")
    workspace.index.refresh()

    linked = find_mentions(workspace.index, "`check` must not be called in a loop")
    ambiguous = find_mentions(workspace.index, "`ring` must not be called in a loop")

    assert {anchor.label for anchor in linked} == {
        f"{folder}/Preconditions.java::Preconditions.check" for folder in ("main", "android")
    }
    assert (len(linked), ambiguous) == (8, [])


def test_a_name_in_a_large_tree_that_was_never_indexed_is_found(library: "Workspace") -> None:
    for number in range(MAX_AUTOMATIC_FILES + 1):
        library.write(f"data/f{number}.py", "VALUE = 1\n")
    library.write("billing/invoice.py", "def settle_invoice(total):\n    return total\n")
    library.write("billing/report.py", "from billing.invoice import settle_invoice\n\nprint(settle_invoice(3))\n")

    anchors = find_anchors(library.index, (), (), "settle_invoice doubles above 5", "")

    assert [anchor.label for anchor in anchors] == ["billing/invoice.py::settle_invoice"]
    assert not library.index.is_built


def test_a_name_is_found_without_git(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "invoice.py").write_text("def settle_invoice(total):\n    return total\n")

    with CodeIndex.open(tmp_path / "plain", tmp_path / "cache") as index:
        anchors = find_anchors(index, (), (), "settle_invoice doubles above 5", "")

    assert [anchor.label for anchor in anchors] == ["invoice.py::settle_invoice"]


@pytest.mark.parametrize(
    ("text", "names_code"),
    [
        ("settle_invoice doubles above 5", True),
        ("Basket.empty forgets the coupon", True),
        ("Till::ring is slow", True),
        ("run() is slow", True),
        ("`run` is slow", True),
        ("checkNotNull is slow", True),
        ("The iPhone app, gRPC and openSUSE", False),
        ("We use TypeScript, Next.js and PostgreSQL", False),
        ("The CI/CD pipeline runs on GitHub", False),
        ("See example.com", False),
    ],
)
def test_products_are_not_taken_for_code_that_is_missing(text: str, names_code: bool) -> None:
    assert surely_names_code(text) is names_code
