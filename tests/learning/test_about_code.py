"""What is learned from sessions, commits, files and imports is tied to the code it is about, without being asked."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from hivemind import Hivemind
from hivemind.code.edited_symbols import find_edited_symbols
from hivemind.code.parsing import outline
from hivemind.model.memory import Memory, Status
from tests.conftest import AGENT, Open, git
from tests.sessions.sessions import Told, told

Make = Callable[..., Path]

TILL = """
def total(basket):
    return round(sum(basket))


def change(paid, due):
    return paid - due
"""
ERROR = "tests/test_till.py:12: AssertionError: expected 1.2, got 1"


@pytest.fixture
def shop(make_repository: Make) -> Path:
    root = make_repository("shop")
    write(root, "shop/till.py", TILL)
    commit(root, "Start")
    return root


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(dedent(text).lstrip("\n"))


def commit(root: Path, message: str) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-m", message)


def labels(memory: Memory) -> list[str]:
    return [anchor.label for anchor in memory.anchors]


def mended(session: Told, root: Path) -> Told:
    """A session in which a failure was mended by an edit of one function."""
    session.asked("Make the till count cents again").ran("pytest -q", ERROR, failed=True)
    session.said("The total is wrong because it must be rounded to cents and not to coins.")
    old = (root / "shop/till.py").read_text()
    new = old.replace("round(sum(basket))", "round(sum(basket), 2)")
    (root / "shop/till.py").write_text(new)
    given = {"file_path": str(root / "shop/till.py"), "old_string": "sum(basket))", "new_string": "sum(basket), 2)"}
    session.called("Edit", given, {"originalFile": old, "structuredPatch": []})
    return session.ran("pytest -q", "3 passed")


def learned(mind: Hivemind, session: Told, tag: str) -> Memory:
    session.keep()
    mind.sessions.import_transcripts(home=session.user)
    [memory] = [one for one in mind.list(statuses=[Status.PROPOSED]) if tag in one.tags]
    return memory


def test_a_fix_is_about_the_function_that_was_edited(shop: Path, tmp_path: Path, open_mind: Open) -> None:
    session = mended(told(shop, user=tmp_path / "user"), shop)

    fix = learned(open_mind(shop), session, "fix")

    assert labels(fix) == ["shop/till.py::total"]


def test_a_fix_whose_code_has_changed_since_is_in_doubt(shop: Path, tmp_path: Path, open_mind: Open) -> None:
    session = mended(told(shop, user=tmp_path / "user"), shop)
    commit(shop, "Count cents")
    write(shop, "shop/till.py", TILL.replace("round(sum(basket))", "sum(map(Money.of, basket), start=Money.zero())"))
    mind = open_mind(shop)

    fix = learned(mind, session, "fix")

    assert labels(fix) == ["shop/till.py::total"]
    assert [doubt.memory.id for doubt in mind.code.stale()] == [fix.id]


def test_a_fix_whose_function_cannot_be_told_is_about_the_file(shop: Path, tmp_path: Path, open_mind: Open) -> None:
    session = mended(told(shop, user=tmp_path / "user"), shop)
    write(shop, "shop/till.py", "def sum_up(basket):\n    return add(basket)\n")

    fix = learned(open_mind(shop), session, "fix")

    assert labels(fix) == ["shop/till.py"]


def test_the_files_of_a_session_tell_which_of_many_a_name_means(shop: Path, open_mind: Open, home: Path) -> None:
    for number in range(5):
        write(shop, f"reports/r{number}.py", "def total(rows):\n    return len(rows)\n")
    commit(shop, "Reports")
    told(shop, user=home.parent / "user").edited("shop/till.py", "sum", "fsum").keep()
    open_mind(shop).sessions.import_transcripts(home=home.parent / "user")

    elsewhere = open_mind(shop, replace(AGENT, session_id="s2")).remember("Since May `total()` counts returned goods")
    in_session = open_mind(shop, AGENT).remember("Money is rounded by `total()` and nowhere else")
    of_another = open_mind(shop, AGENT).remember("The machine trusts `change()` blindly")

    assert labels(elsewhere) == []
    assert labels(in_session) == ["shop/till.py::total"]
    assert labels(of_another) == ["shop/till.py::change"]


def test_what_files_and_imports_say_is_tied_to_what_they_name(shop: Path, open_mind: Open, tmp_path: Path) -> None:
    write(shop, "AGENTS.md", "- Round money only in `total`\n- Be kind\n")
    mind = open_mind(shop)
    mind.remember("The machine trusts `change()` blindly")
    exported = list(mind.files.export_lines())

    mind.files.sync_instructions()
    other = open_mind(shop, home=tmp_path / "other")
    other.files.import_lines(exported)

    said = {one.text: labels(one) for one in mind.list()}
    assert said["Round money only in `total`"] == ["shop/till.py::total"]
    assert said["Be kind"] == []
    assert [labels(one) for one in other.list(statuses=[Status.PROPOSED])] == [["shop/till.py::change"]]


@pytest.mark.parametrize(
    ("diff", "symbols"),
    [
        ("@@\n-    return paid\n+    return paid - due\n", ["change"]),
        ("@@\n def total(basket):\n-    basket = list(basket)\n     return round(sum(basket))\n", ["total"]),
        ("@@\n+    return never_there\n", [""]),
        ("@@\n+    return\n", [""]),
        ("no diff at all", [""]),
    ],
)
def test_an_edit_is_found_by_the_lines_it_left(diff: str, symbols: list[str]) -> None:
    source = TILL.encode()

    found = find_edited_symbols(outline("till.py", source).symbols, source, [diff])

    assert [symbol.qualified for symbol in found] == symbols


def test_a_lesson_is_tied_to_the_code_of_its_day_so_that_what_changed_since_is_stale_at_once(
    make_repository: Make, open_mind: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository("shop")
    write(root, "shop/till.py", TILL)
    write(root, "shop/legacy.py", "def convert(coins):\n    return coins\n")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-02-01T10:00:00Z")
    commit(root, "Start")
    write(root, "shop/till.py", TILL.replace("round(sum(basket))", "sum(basket) // 1"))
    (root / "shop/legacy.py").unlink()
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-06-01T10:00:00Z")
    commit(root, "Count in cents")
    session = told(root, user=tmp_path / "user")
    session.asked("We always round in `total()` in shop/till.py, never in the views.").said("Noted.")
    session.asked("All coins must always go through `convert()` in shop/legacy.py.").keep()
    mind = open_mind(root)

    mind.sessions.import_transcripts(home=tmp_path / "user")
    for memory in mind.list():
        mind.approve(memory.id)

    assert sorted(label for memory in mind.list() for label in labels(memory)) == [
        "shop/legacy.py",
        "shop/legacy.py::convert",
        "shop/till.py::total",
    ]
    assert len(mind.code.stale()) == 2
