"""From what people write to the symbols they mean."""

from typing import TYPE_CHECKING

import pytest

from hivemind.codebase.links import find, find_mentions

if TYPE_CHECKING:
    from tests.codebase.conftest import Workspace


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
    return [symbol.label for symbol in find(workspace.index, link)]


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
        ("shop/basket.py:4-8", ["shop/basket.py::Basket"]),
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
