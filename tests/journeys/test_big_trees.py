"""Trees in which too much changed to read it while somebody waits."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hivemind import background
from hivemind.code import working_tree
from hivemind.code.index import MAX_AUTOMATIC_FILES, MAX_QUICK_FILES
from tests.command_line import run, run_json
from tests.conftest import Open, git

FILES = 2 * MAX_QUICK_FILES
NOTE = "settle_7 rounds to two decimals because the bank rejects more"


@pytest.fixture
def ledger(make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository("ledger")
    (root / "app").mkdir()
    for number in range(FILES):
        source = f"def settle_{number}(amount):\n    return round(amount * {number}, 2)\n"
        (root / f"app/m{number}.py").write_text(source)
    git(root, "add", "-A")
    git(root, "commit", "-m", "begin")
    monkeypatch.chdir(root)
    return root


def ask_until(is_done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    end = time.monotonic() + 60
    answer: dict[str, Any] = run_json("recall", "settle_7 decimals")
    while not is_done(answer) and time.monotonic() < end:
        time.sleep(0.2)
        answer = run_json("recall", "settle_7 decimals")
    return answer


def test_recall_answers_at_once_and_the_changed_tree_is_read_in_the_background(ledger: Path) -> None:
    run_json("remember", NOTE, "--link", "app/m7.py::settle_7")
    run("code", "index")
    quiet = run_json("recall", "settle_7 decimals")
    shutil.move(ledger / "app", ledger / "core")

    first = run_json("recall", "settle_7 decimals")
    text = run("recall", "settle_7 decimals").output
    later = ask_until(lambda answer: answer["hits"][0]["memory"]["anchors"][0]["path"] != "app/m7.py")

    assert not quiet["is_code_behind"]
    assert first["is_code_behind"]
    assert "it is being searched for" in first["hits"][0]["labels"][0]
    # On a fast machine the background is done by now.
    assert "The code is being read in the background" in text or "moved to core/m7.py" in text
    # The background also links the memory to where its code is now.
    assert later["hits"][0]["memory"]["anchors"][0]["path"] == "core/m7.py"


def test_related_does_not_wait_for_the_first_index_of_a_large_tree(ledger: Path) -> None:
    for number in range(MAX_AUTOMATIC_FILES):
        (ledger / f"app/n{number}.py").write_text(
            f"from app.m7 import settle_7\n\nvalue_{number} = settle_7({number})\n"
        )

    first = run_json("code", "related", "app/m7.py")["recall"]
    text = run("code", "related", "app/m7.py").output
    run("code", "index")
    later = run_json("code", "related", "app/m7.py")["recall"]

    assert first["is_code_behind"]
    assert "The code is being read in the background" in text
    assert not later["is_code_behind"]
    assert any("calls or inherits it" in file["why"] for file in later["files"])


def test_a_small_tree_is_indexed_before_the_answer(ledger: Path) -> None:
    assert not run_json("code", "related", "app/m7.py")["recall"]["is_code_behind"]


def test_a_small_change_is_read_before_the_answer(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody else reads the tree meanwhile.
    monkeypatch.setattr(background, "start_apart", lambda *_: None)
    run_json("remember", NOTE, "--link", "app/m7.py::settle_7")
    run("code", "index")
    (ledger / "app/m7.py").rename(ledger / "app/seven.py")

    recall = run_json("recall", "settle_7 decimals")

    assert not recall["is_code_behind"]
    assert "moved to app/seven.py" in recall["hits"][0]["labels"][0]


def test_stale_answers_at_once_and_waits_only_if_told_to(ledger: Path) -> None:
    run_json("remember", NOTE, "--link", "app/m7.py::settle_7")
    run("code", "index")
    shutil.move(ledger / "app", ledger / "core")

    at_once = run("code", "stale")
    waited = run("code", "stale", "--wait")

    # A function that only moved need not be verified; what is still searched for must be.
    assert "it is being searched for" in at_once.output
    assert "The code is being read in the background" in at_once.output
    assert at_once.exit_code == 1
    assert "Nothing is stale." in waited.output
    assert waited.exit_code == 0


def test_files_beyond_the_limit_are_counted_and_said(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ledger / "notes.txt").write_text("not code\n")
    monkeypatch.setattr(working_tree, "MAX_FILES", FILES)

    report = run_json("code", "index")
    said = run("code", "index").output
    health = run("doctor").output

    # Files in a known language come first.
    assert (report["files"], report["left_out"]) == (FILES, 2)
    assert run_json("code", "symbols", "app/m0.py")
    assert "2 files left out" in said
    assert "2 more files left out" in health


def test_what_is_remembered_before_the_first_index_says_whether_it_is_linked(ledger: Path) -> None:
    for number in range(4):
        (ledger / f"app/t{number}.py").write_text("def addUpRows(rows):\n    return sum(rows)\n")

    unique = run("remember", NOTE)
    unknown = run("remember", "settle_never is called twice")
    ambiguous = run("remember", "Do not call addUpRows twice")
    words = run("remember", "We use TypeScript and GitHub")
    at_first = run_json("status")

    assert unique.stderr == "Linked to app/m7.py::settle_7.\n"
    # On a fast machine the background, which the first one started, is done by now.
    assert "Not linked to code yet: " in unknown.stderr
    assert "Not linked to code: addUpRows fits 4 places, such as app/t0.py::addUpRows." in ambiguous.stderr
    assert words.stderr == ""
    assert (at_first["linked"], at_first["unlinked"]) == (1, 2)


def test_the_doctor_says_that_a_tree_is_not_indexed_yet(ledger: Path, open_mind: Open) -> None:
    with open_mind(ledger) as mind:
        mind.remember(NOTE)
        at_first = mind.code.health().detail
        mind.code.index()
        later = mind.code.health().detail

    assert "the tree is not indexed yet, which 'hivemind code index' does" in at_first
    assert "so far" not in later
