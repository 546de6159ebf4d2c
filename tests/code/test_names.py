"""Names as each language writes them, and the one place in the tree that they mean."""

from typing import TYPE_CHECKING

import pytest

from hivemind.code.code_names import find_named_files
from hivemind.code.index import MAX_AUTOMATIC_FILES
from hivemind.code.links import find_mentions, find_symbols, resolve_link, suggest_labels
from hivemind.model.code import Anchor, SymbolChange

if TYPE_CHECKING:
    from tests.code.conftest import Workspace

FILES = {
    "auth/__init__.py": "",
    "auth/service.py": """
        class Session:
            def close(self):
                pass

        def authenticate_user(user):
            return user
        """,
    "server/src/main/java/com/acme/shop/Basket.java": """
        package com.acme.shop;
        public class Basket {
            public void pay(String card) {}
            public void pay(String card, int cents) {}
            static class Line { int total() { return 1; } }
        }
        """,
    "server/src/main/kotlin/orders/Order.kt": """
        package com.acme.orders
        class Order { fun ship(): Boolean = true }
        fun countOrders(): Int = 1
        """,
    "jobs/Nightly.scala": """
        package com.acme.jobs
        object Nightly { def start(): Unit = () }
        """,
    "services/Billing.cs": """
        namespace Acme.Billing;
        public class Invoice { public void Send() {} }
        """,
    "services/Mail.cs": """
        namespace Acme.Mail { public class Sender { public void Deliver() {} } }
        """,
    "store/basket.go": """
        package store

        type Basket struct{}

        func (b *Basket) Pay(card string) error { return nil }

        func Total(prices ...int) int { return 0 }
        """,
    "crates/my-shop/src/till.rs": """
        pub struct Till;
        impl Till { pub fn ring(&self) {} }
        pub fn open_till() {}
        """,
    "src/lib.rs": "pub fn run_shop() {}\n",
    "lib/users.rb": """
        module Admin
          class User
            def rename(name) = name
          end
        end
        class Admin::Robot
          def obey; end
        end
        """,
    "src/Models/Customer.php": """
        <?php
        namespace App\\Models;
        class Customer { public function saveAll() { return 1; } }
        """,
    "src/Kernel.php": "<?php\nnamespace App;\nclass Kernel { public function boot() { return 1; } }\n",
    "web/session.ts": "export class Client { refresh(): void {} }\nexport function signOut(): void {}\n",
    "web/components/Button/index.tsx": "export function Button() { return null }\n",
    "native/price.hpp": "namespace pricing {\nint round_up(int cents);\n}\n",
    "native/price.cpp": "namespace pricing {\nint round_up(int cents) { return cents; }\n}\n",
}

BASKET = "server/src/main/java/com/acme/shop/Basket.java"
NAMES = [
    ("auth.service.authenticate_user", "auth/service.py::authenticate_user"),
    ("auth/service.py::authenticate_user", "auth/service.py::authenticate_user"),
    ("auth.service:authenticate_user", "auth/service.py::authenticate_user"),
    ("service.py::authenticate_user", "auth/service.py::authenticate_user"),
    ("auth/service.authenticate_user()", "auth/service.py::authenticate_user"),
    ("auth.service.Session", "auth/service.py::Session"),
    ("auth.service.Session.close", "auth/service.py::Session.close"),
    ("auth.service", "auth/service.py"),
    ("auth", "auth"),
    ("com.acme.shop.Basket", f"{BASKET}::Basket"),
    ("com.acme.shop.Basket.pay", f"{BASKET}::Basket.pay"),
    ("com.acme.shop.Basket#pay(String, int)", f"{BASKET}::Basket.pay"),
    ("com.acme.shop.Basket.Line.total", f"{BASKET}::Basket.Line.total"),
    ("com.acme.shop", BASKET.rpartition("/")[0]),
    ("com.acme.orders.Order.ship", "server/src/main/kotlin/orders/Order.kt::Order.ship"),
    ("com.acme.orders.countOrders", "server/src/main/kotlin/orders/Order.kt::countOrders"),
    ("com.acme.jobs.Nightly.start", "jobs/Nightly.scala::Nightly.start"),
    ("Acme.Billing.Invoice.Send", "services/Billing.cs::Invoice.Send"),
    ("Acme.Mail.Sender.Deliver", "services/Mail.cs::Acme.Mail.Sender.Deliver"),
    ("Acme.Mail", "services/Mail.cs::Acme.Mail"),
    ("store.Total", "store/basket.go::Total"),
    ("store.Basket.Pay", "store/basket.go::Basket.Pay"),
    ("store.(*Basket).Pay", "store/basket.go::Basket.Pay"),
    ("github.com/acme/tree/store.Total", "store/basket.go::Total"),
    ("my_shop::till::Till::ring", "crates/my-shop/src/till.rs::Till.ring"),
    ("crate::till::Till::ring", "crates/my-shop/src/till.rs::Till.ring"),
    ("my_shop::till", "crates/my-shop/src/till.rs"),
    ("crate::run_shop", "src/lib.rs::run_shop"),
    ("Admin::User#rename", "lib/users.rb::Admin.User.rename"),
    ("Admin::Robot", "lib/users.rb::Admin::Robot"),
    ("Admin::Robot#obey", "lib/users.rb::Admin::Robot.obey"),
    ("App\\Models\\Customer::saveAll", "src/Models/Customer.php::Customer.saveAll"),
    ("App\\Kernel::boot", "src/Kernel.php::Kernel.boot"),
    ("web/session.signOut", "web/session.ts::signOut"),
    ("session.Client.refresh", "web/session.ts::Client.refresh"),
    ("Client.refresh", "web/session.ts::Client.refresh"),
    ("@/session.signOut", "web/session.ts::signOut"),
    ("web/components/Button", "web/components/Button"),
    ("components/Button/index.tsx", "web/components/Button/index.tsx"),
    ("components/Button/index", "web/components/Button/index.tsx"),
    ("pricing::round_up", "native/price.cpp::pricing.round_up"),
]


@pytest.fixture
def polyglot(workspace: "Workspace") -> "Workspace":
    for path, text in FILES.items():
        workspace.write(path, text)
    return workspace


def labels(anchors: list[Anchor]) -> set[str]:
    return {anchor.label for anchor in anchors}


def test_every_language_finds_its_names_in_a_tree_not_indexed_before(polyglot: "Workspace") -> None:
    found = {name: labels(resolve_link(polyglot.index, name)) for name, _ in NAMES}

    assert found == {name: {label} for name, label in NAMES}


@pytest.mark.parametrize("is_committed", [False, True])
def test_names_are_found_in_a_tree_too_large_to_index_in_passing(polyglot: "Workspace", is_committed: bool) -> None:
    for number in range(MAX_AUTOMATIC_FILES + 1):
        polyglot.write(f"generated/part{number}.txt", "x\n")
    if is_committed:
        polyglot.commit()

    found = {name: labels(resolve_link(polyglot.index, name)) for name, _ in NAMES}

    assert not polyglot.index.is_built
    assert found == {name: {label} for name, label in NAMES}


@pytest.mark.parametrize(
    "name",
    [
        "requests.get", "os.path.join", "logging.Session.close", "auth.models.authenticate_user", "crate::till::Purse",
        "com.other.orders.Order.ship", "Other.Billing.Invoice.Send", "nowhere", "auth.service.authenticate_user.token",
        "::", ".", "()", "auth..", "\\", "#",
    ],
)  # fmt: skip
def test_a_name_of_something_else_means_nothing_here(polyglot: "Workspace", name: str) -> None:
    polyglot.index.refresh()

    meant = find_symbols(polyglot.index, name)

    assert [symbol.label for symbol in meant] in ([], ["auth"] if name == "auth.." else [])
    assert len(suggest_labels(polyglot.index, name)) <= 3


def test_the_whole_name_of_one_place_stands_before_the_end_of_another(polyglot: "Workspace") -> None:
    polyglot.write("legacy/auth/service.py", FILES["auth/service.py"])
    polyglot.index.refresh()

    whole = find_symbols(polyglot.index, "auth.service.authenticate_user")
    other = find_symbols(polyglot.index, "legacy.auth.service.authenticate_user")
    either = find_symbols(polyglot.index, "service.authenticate_user")

    assert [symbol.path for symbol in whole] == ["auth/service.py"]
    assert [symbol.path for symbol in other] == ["legacy/auth/service.py"]
    assert either == []
    assert suggest_labels(polyglot.index, "service.authenticate_user") == [
        "auth/service.py::authenticate_user", "legacy/auth/service.py::authenticate_user",
    ]  # fmt: skip


def test_a_private_name_means_no_public_namesake(polyglot: "Workspace") -> None:
    polyglot.write("web/pool.ts", "export class Pool { #drain(): void {} }\nexport function drain(): void {}\n")
    polyglot.index.refresh()

    assert labels(find_mentions(polyglot.index, "Only `#drain` waits")) == {"web/pool.ts::Pool.#drain"}
    assert labels(find_mentions(polyglot.index, "Only `drain` waits")) == {"web/pool.ts::drain"}


def test_overloads_are_one_name_and_all_tied(polyglot: "Workspace") -> None:
    tied = resolve_link(polyglot.index, "com.acme.shop.Basket.pay")

    assert [anchor.ordinal for anchor in tied] == [0, 1]


def test_a_misspelt_name_is_answered_with_the_nearest(polyglot: "Workspace") -> None:
    polyglot.index.refresh()

    assert suggest_labels(polyglot.index, "auth.service.authenticate_usr")[0] == "auth/service.py::authenticate_user"
    assert suggest_labels(polyglot.index, "auth/service.py::Sesion")[0].startswith("auth/service.py::Session")
    assert "auth/service.py::authenticate_user" in suggest_labels(polyglot.index, "service.login")


def test_a_folder_is_in_doubt_when_most_of_it_is_rewritten_or_it_is_gone(workspace: "Workspace") -> None:
    body = "".join(f"    value_{number} = compute_{number}(first, second, {number})\n" for number in range(12))
    for name in ("one", "two", "three"):
        workspace.write(f"auth/{name}.py", f"def {name}():\n{body.replace('compute', name)}")
    workspace.commit()
    anchor = workspace.anchor("auth")

    untouched = workspace.judge(anchor)
    workspace.write("auth/one.py", workspace.read("auth/one.py") + "\n\ndef extra():\n    return 1\n")
    grown = workspace.judge(anchor)
    for name in ("one", "two", "three"):
        workspace.write(f"auth/{name}.py", f"def {name}():\n{body.replace('value', name).replace('first', 'other')}")
    rewritten = workspace.judge(anchor)
    for name in ("one", "two", "three"):
        workspace.remove(f"auth/{name}.py")
    gone = workspace.judge(anchor)

    assert (untouched.change, grown.change) == (SymbolChange.FRESH, SymbolChange.MEMBERS)
    assert (rewritten.change, rewritten.must_verify) == (SymbolChange.BODY_MAJOR, True)
    assert (gone.change, gone.must_verify) == (SymbolChange.GONE, True)


@pytest.mark.parametrize(
    ("question", "files"),
    [
        ("What's relevant to the auth module?", {"auth", "auth/__init__.py", "auth/service.py"}),
        ("what does the package `auth` do", {"auth", "auth/__init__.py", "auth/service.py"}),
        ("why is auth/service.py slow?", {"auth", "auth/service.py"}),
        ("how does auth.service work", {"auth", "auth/service.py"}),
        ("what is the Kernel file for", {"src", "src/Kernel.php"}),
        ("what do we know about auth?", set()),
        ("which module is slow?", set()),
        ("does Next.js run in CI/CD?", set()),
    ],
)
def test_a_question_names_a_part_of_the_tree_or_none(polyglot: "Workspace", question: str, files: set[str]) -> None:
    assert set(find_named_files(polyglot.root, question)) == files
