"""The lines under a review comment are found in today's tree, and so is what they became."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind.code.index import CodeIndex
from hivemind.learning.commented_lines import CommentedLines, find_changes, find_label, split_hunk
from tests.conftest import git

SOURCE = """import os


def charge(amount):
    path = os.path.join("a", "b")
    return send(path, amount)


def refund(amount):
    print("refund of", amount)
    return amount
"""
CHARGE = CommentedLines(
    path="pay.py", lines=('    path = os.path.join("a", "b")',), before=("def charge(amount):", "", "")
)


@pytest.fixture
def root(make_repository: Callable[..., Path]) -> Path:
    root = make_repository("shop")
    (root / "pay.py").write_text(SOURCE)
    git(root, "add", ".")
    git(root, "commit", "-m", "Add payments")
    return root


def label(root: Path, place: CommentedLines) -> str:
    with CodeIndex.open(root, root.parent / "index") as index:
        return find_label(index, place)


def test_a_hunk_gives_the_commented_lines_and_those_above() -> None:
    lines, before = split_hunk("@@ -1,3 +1,4 @@ class A:\n a\n-b\n+c\n+d", 2)

    assert (lines, before) == (("c", "d"), ("a",))


def test_a_comment_on_a_removed_line_has_only_neighbours() -> None:
    assert split_hunk("@@ -1 +1 @@\n a\n+c\n-b", 1) == ((), ("c", "a"))


def test_lines_are_found_where_they_are_today(root: Path) -> None:
    (root / "pay.py").write_text("# new\n" * 20 + SOURCE)

    assert label(root, CHARGE) == "pay.py::charge"


def test_changed_lines_are_found_by_what_was_suggested_or_by_their_neighbours(root: Path) -> None:
    (root / "pay.py").write_text(SOURCE.replace('os.path.join("a", "b")', 'Path("a") / "b"'))
    suggested = CommentedLines(path="pay.py", lines=CHARGE.lines, replacement=('    path = Path("a") / "b"',))

    assert label(root, suggested) == "pay.py::charge"
    assert label(root, CHARGE) == "pay.py::charge"


def test_a_rewritten_place_is_its_file_and_a_file_that_is_gone_is_nothing(root: Path) -> None:
    (root / "pay.py").write_text("def other():\n    return 1\n")

    assert label(root, CHARGE) == "pay.py"
    assert label(root, CommentedLines(path="gone.py", lines=CHARGE.lines)) == ""


def test_of_equal_lines_those_count_that_stand_below_the_same_lines(root: Path) -> None:
    below_refund = CommentedLines(
        path="pay.py", lines=("    return amount",), before=('    print("refund of", amount)',)
    )
    (root / "pay.py").write_text(SOURCE + "\n\ndef again(amount):\n    return amount\n")

    assert label(root, below_refund) == "pay.py::refund"
    assert label(root, CommentedLines(path="pay.py", lines=("    return amount",))) == "pay.py"


def test_short_lines_such_as_else_say_nothing_about_the_place(root: Path) -> None:
    assert label(root, CommentedLines(path="pay.py", lines=("else:",))) == "pay.py"


def test_a_commit_after_the_comment_shows_what_the_lines_became(root: Path) -> None:
    (root / "pay.py").write_text(SOURCE.replace('os.path.join("a", "b")', 'Path("a") / "b"'))
    git(root, "commit", "-am", "Use pathlib")

    (change,) = find_changes(root, CHARGE, "2000-01-01T00:00:00Z")

    assert str(change) == '`os.path.join("a", "b")` → `Path("a") / "b"`'
    assert find_changes(root, CHARGE, "2090-01-01T00:00:00Z") == []


def test_a_squashed_pull_request_counts_if_its_commit_names_it(root: Path) -> None:
    place = CommentedLines(path="new.py", lines=("result = compute_total(basket)",))
    (root / "new.py").write_text("result = compute_total(basket, tax=TAX)\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "Add totals (#12)")

    assert [change.new for change in find_changes(root, place, "2000-01-01T00:00:00Z", "12")] == [
        "result = compute_total(basket, tax=TAX)"
    ]
    assert find_changes(root, place, "2000-01-01T00:00:00Z", "13") == []


def test_a_change_elsewhere_in_the_file_is_not_because_of_the_comment(root: Path) -> None:
    (root / "pay.py").write_text(SOURCE.replace('print("refund of", amount)', "log(amount)"))
    git(root, "commit", "-am", "Log refunds")

    assert find_changes(root, CHARGE, "2000-01-01T00:00:00Z") == []
