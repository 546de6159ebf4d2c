"""What is known about a tree, and that it may be lost."""

from typing import TYPE_CHECKING

from hivemind.code.index import BATCH_BYTES, BATCH_FILES, CodeIndex
from hivemind.code.index_database import select
from hivemind.code.links import find_symbols
from hivemind.code.related_files import find_by_task, find_callers, find_related
from hivemind.model.code import SymbolChange

if TYPE_CHECKING:
    from tests.code.conftest import Workspace


def fill(workspace: "Workspace") -> None:
    workspace.write("app/__init__.py", "")
    workspace.write("app/money.py", "def add_up(prices):\n    total = sum(prices)\n    return round(total, 2)\n")
    workspace.write(
        "app/basket.py",
        """
        from app.money import add_up
        from .base import Stock

        class Basket(Stock):
            def total(self):
                return add_up(self.prices)
        """,
    )
    workspace.write("app/base.py", "class Stock:\n    prices = ()\n")
    workspace.write("app/unrelated.py", "def add_up(words):\n    return ' '.join(words)\n")
    workspace.write("tools/report.py", "def report(rows):\n    return add_up(rows)\n")
    workspace.write(
        "tests/test_basket.py", "from app.basket import Basket\n\ndef test_total():\n    Basket().total()\n"
    )
    workspace.commit()
    workspace.index.refresh()


def test_an_index_sees_what_changed_appeared_and_went(workspace: "Workspace") -> None:
    fill(workspace)
    workspace.write("app/money.py", "def add_up(prices):\n    return 0\n")
    workspace.write("app/new.py", "x = 1\n")
    workspace.remove("app/unrelated.py")

    changed = workspace.index.refresh()

    assert changed == 3
    assert workspace.index.refresh() == 0
    assert "app/new.py" in workspace.index.list_paths()
    assert "app/unrelated.py" not in workspace.index.list_paths()


def test_large_files_are_read_a_few_at_a_time(workspace: "Workspace") -> None:
    for number in range(4):
        workspace.write(f"large{number}.txt", f"{number}\n" * (BATCH_BYTES * 2 // 5 // 2))
    for number in range(BATCH_FILES):
        workspace.write(f"small{number}.txt", f"{number}\n")
    counts: list[int] = []

    workspace.index.refresh(lambda count, _: counts.append(count))

    assert counts == [2, 2 + BATCH_FILES, 4 + BATCH_FILES]


def test_an_ignored_file_is_not_indexed(workspace: "Workspace") -> None:
    workspace.write(".gitignore", "*.gen.py\n")
    workspace.write("a.gen.py", "def generated(): pass\n")
    workspace.write("a.py", "def written(): pass\n")

    workspace.index.refresh()

    assert workspace.index.list_paths() == [".gitignore", "a.py"]


def test_one_updated_file_leaves_the_same_rows_as_a_new_index(workspace: "Workspace") -> None:
    fill(workspace)
    workspace.replace("app/basket.py", "return add_up(self.prices)", "return add_up(self.prices) + 1")
    workspace.index.update(["app/basket.py"])

    with CodeIndex.open(workspace.root, workspace.cache / "second") as anew:
        anew.refresh()

        for query in (
            "SELECT f.path, s.qualified, s.kind, s.fingerprint FROM symbols s JOIN files f ON f.id = s.file",
            "SELECT f.path, s.qualified, n.text FROM mentions m JOIN names n ON n.id = m.name"
            " JOIN symbols s ON s.id = m.symbol JOIN files f ON f.id = s.file",
            "SELECT f.path, i.word FROM imports i JOIN files f ON f.id = i.file",
        ):
            assert set(select(workspace.index.db, query)) == set(select(anew.db, query))


def test_an_edit_within_the_same_instant_and_size_is_seen(workspace: "Workspace") -> None:
    workspace.write("a.py", "def one(): pass\n")
    first = [symbol.name for symbol in workspace.index.read_symbols("a.py")]

    workspace.write("a.py", "def two(): pass\n")
    second = [symbol.name for symbol in workspace.index.read_symbols("a.py")]

    assert (first, second) == (["", "one"], ["", "two"])


def test_a_damaged_index_is_made_anew(workspace: "Workspace") -> None:
    fill(workspace)
    anchor = workspace.anchor("app/money.py::add_up")
    workspace.index.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    workspace.index.close()
    workspace.index.path.write_bytes(b"SQLite format 3\0" + b"\xff" * 40_000)

    with CodeIndex.open(workspace.root, workspace.cache) as index:
        count = index.refresh()
        found = index.find_places(["add_up"])

    assert count == 7
    assert len(found) == 2
    assert anchor.name == "add_up"


def test_damage_found_while_reading_is_mended(workspace: "Workspace") -> None:
    fill(workspace)
    anchor = workspace.anchor("app/money.py::add_up")
    workspace.index.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = workspace.index.path.stat().st_size
    with workspace.index.path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))
    workspace.index.db.execute("PRAGMA cache_size = 0")

    assert workspace.judge(anchor).change is SymbolChange.FRESH


def test_two_processes_may_share_an_index(workspace: "Workspace") -> None:
    fill(workspace)

    with CodeIndex.open(workspace.root, workspace.cache) as second:
        workspace.write("app/more.py", "def more(): pass\n")
        second.update(["app/more.py"])

    assert workspace.index.find_places(["more"]) == [("app/more.py", "more", "function")]


def test_callers_are_those_that_import_and_the_rest_is_counted(workspace: "Workspace") -> None:
    fill(workspace)
    (symbol,) = find_symbols(workspace.index, "app/money.py::add_up")

    seen = find_callers(workspace.index, symbol)

    assert [caller.label for caller in seen.symbols] == ["app/basket.py::Basket.total"]
    assert (seen.unresolved, seen.namesakes) == (1, 1)


def test_a_file_that_appears_answers_imports_that_waited_for_it(workspace: "Workspace") -> None:
    workspace.write("app/basket.py", "from app.money import add_up\n\ndef total(p):\n    return add_up(p)\n")
    workspace.index.refresh()
    workspace.write("app/money.py", "def add_up(prices):\n    return sum(prices)\n")

    workspace.index.refresh()
    (symbol,) = find_symbols(workspace.index, "app/money.py::add_up")

    assert [caller.name for caller in find_callers(workspace.index, symbol).symbols] == ["total"]


def test_what_bears_on_a_file_comes_with_its_reasons(workspace: "Workspace") -> None:
    fill(workspace)

    found = {one.path: one.why for one in find_related(workspace.index, ["app/basket.py"])}

    assert "is called or inherited by it" in found["app/base.py"]
    assert "tests it" in found["tests/test_basket.py"]
    # It calls a function that two files define.
    assert "is called or inherited by it" not in found["app/money.py"]


def test_files_edited_together_are_related_and_large_commits_say_nothing(workspace: "Workspace") -> None:
    for number in range(3):
        workspace.write("one/a.py", f"x = {number}\n")
        workspace.write("two/b.py", f"y = {number}\n")
        workspace.commit()
    for number in range(40):
        workspace.write(f"many/m{number}.py", f"z = {number}\n")
    workspace.write("one/a.py", "x = 'last'\n")
    workspace.commit()

    workspace.index.refresh()

    assert [one.path for one in find_related(workspace.index, ["one/a.py"])] == ["two/b.py"]


def test_a_symbol_or_a_folder_can_be_asked_about(workspace: "Workspace") -> None:
    fill(workspace)

    by_symbol = {one.path for one in find_related(workspace.index, ["Basket.total"])}
    by_folder = {one.path for one in find_related(workspace.index, ["tests"])}

    assert "app/money.py" in by_symbol
    assert "app/basket.py" in by_folder


def test_while_another_process_indexes_anchors_are_judged_all_the_same(workspace: "Workspace") -> None:
    fill(workspace)
    edited, lost = workspace.anchor("app/money.py::add_up"), workspace.anchor("app/base.py::Stock")
    workspace.index.db.set_busy_timeout(0)

    with CodeIndex.open(workspace.root, workspace.cache) as other:
        other.db.execute("BEGIN IMMEDIATE")
        workspace.replace("app/money.py", "(prices)", "(prices, tax)")
        workspace.remove("app/base.py")
        during = [workspace.judge(anchor).change for anchor in (edited, lost)]
        other.db.execute("ROLLBACK")
    after = [workspace.judge(anchor).change for anchor in (edited, lost)]

    assert during == [SymbolChange.SIGNATURE, SymbolChange.GONE]
    assert after == during


def test_what_is_edited_together_is_learned_from_commits_and_forgotten_with_the_file(workspace: "Workspace") -> None:
    for path in ("a.py", "b.py", "c.py"):
        workspace.write(path, "x = 1\n")
    workspace.commit()
    for number in range(3):
        workspace.write("a.py", f"x = {number + 2}\n")
        workspace.write("b.py", f"x = {number + 2}\n")
        workspace.commit()
    workspace.index.refresh()

    before = [one.path for one in find_related(workspace.index, ["a.py"])]
    (workspace.root / "b.py").unlink()
    workspace.index.refresh()
    after = [one.path for one in find_related(workspace.index, ["a.py"])]

    assert before == ["b.py", "c.py"]
    assert after == ["c.py"]


def callers_of(workspace: "Workspace", link: str) -> list[str]:
    workspace.index.refresh()
    symbol = next(symbol for symbol in find_symbols(workspace.index, link) if symbol.kind != "prototype")
    return sorted(caller.label for caller in find_callers(workspace.index, symbol).symbols)


def test_c_functions_are_called_across_files_by_way_of_their_header(workspace: "Workspace") -> None:
    workspace.write("include/pool.h", "int drain(int count);\n")
    workspace.write("src/pool.c", '#include "pool.h"\nint drain(int count) { return count; }\n')
    workspace.write("src/main.c", '#include "pool.h"\nint main(void) { return drain(3); }\n')
    workspace.write("src/other.c", "int unrelated(void) { return drain(3); }\n")

    assert callers_of(workspace, "src/pool.c::drain") == ["src/main.c::main"]


def test_go_and_java_files_of_one_package_need_no_import(workspace: "Workspace") -> None:
    workspace.write("shop/till.go", "package shop\n\nfunc settle() int { return 1 }\n")
    workspace.write("shop/order.go", "package shop\n\nfunc Close() int { return settle() }\n")
    workspace.write("bank/order.go", "package bank\n\nfunc Open() int { return settle() }\n")
    workspace.write("src/shop/Till.java", "package shop;\nclass Till {\n  static int count() { return 1; }\n}\n")
    workspace.write("src/shop/Desk.java", "package shop;\nclass Desk {\n  int open() { return Till.count(); }\n}\n")
    workspace.write("src/bank/Safe.java", "package bank;\nclass Safe {\n  int open() { return count(); }\n}\n")

    assert callers_of(workspace, "shop/till.go::settle") == ["shop/order.go::Close"]
    assert callers_of(workspace, "src/shop/Till.java::Till.count") == ["src/shop/Desk.java::Desk.open"]


def test_callers_are_found_through_files_that_export_a_name_again(workspace: "Workspace") -> None:
    workspace.write("bank/__init__.py", "from .till import settle\n")
    workspace.write("bank/till.py", "def settle(amount):\n    return amount\n")
    workspace.write("app/pay.py", "from bank import settle\n\ndef pay():\n    return settle(3)\n")
    workspace.write("app/other.py", "def other():\n    return settle(3)\n")
    workspace.write("web/money/index.ts", "export { charge } from './card';\n")
    workspace.write("web/money/card.ts", "export function charge(sum: number) { return sum; }\n")
    workspace.write("web/page.ts", "import { charge } from './money';\nexport function buy() { return charge(3); }\n")

    assert callers_of(workspace, "bank/till.py::settle") == ["app/pay.py::pay"]
    assert callers_of(workspace, "web/money/card.ts::charge") == ["web/page.ts::buy"]


def test_nested_use_in_rust_reaches_every_module_it_names(workspace: "Workspace") -> None:
    workspace.write("core-lib/src/lib.rs", "pub mod net;\npub mod clock;\n")
    workspace.write("core-lib/src/net.rs", "pub fn listen() {}\n")
    workspace.write("core-lib/src/clock.rs", "use super::net;\npub fn tick() {}\n")
    workspace.write(
        "app/src/main.rs", "use core_lib::{\n    clock::{self, tick},\n    net::listen,\n};\nfn main() { listen(); }\n"
    )

    assert callers_of(workspace, "core-lib/src/net.rs::listen") == ["app/src/main.rs::main"]


def test_a_common_name_is_a_caller_only_if_its_qualifier_says_so(workspace: "Workspace") -> None:
    workspace.write(
        "a.py", "class Cart:\n    def update(self):\n        pass\n\n    def close(self):\n        self.update()\n"
    )
    workspace.write("b.py", "import a\n\nclass Log:\n    def update(self):\n        pass\n")
    workspace.write("c.py", "import a\n\ndef merge(rows):\n    {}.update(rows)\n")

    assert callers_of(workspace, "a.py::Cart.update") == ["a.py::Cart.close"]


def test_a_task_in_words_finds_files_with_its_words_and_tests_come_last(workspace: "Workspace") -> None:
    workspace.write("billing/invoice.py", "def render_invoices(rows):\n    return sum(rows)\n")
    workspace.write("billing/tests/test_invoice.py", "def test_totals_of_invoices():\n    pass\n")
    workspace.write("auth/login.py", "def check(user):\n    return user.secret\n")
    workspace.index.refresh()

    def find(task: str) -> list[str]:
        return [file.path for file in find_by_task(workspace.index, task)]

    assert find("fix the invoices") == ["billing/invoice.py", "billing/tests/test_invoice.py"]
    assert find("the login fails") == ["auth/login.py"]
    assert find("secret") == ["auth/login.py"]
    assert find("kubernetes") == []
