"""An empty answer says why it is empty, and what to try."""

from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.mcp import calls
from hivemind.model.memory import Kind
from tests.command_line import run, run_json
from tests.conftest import AGENT, Clock, Open, git

QUESTION = "when do deploys run?"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "here"
    directory.mkdir()
    git(directory, "init")
    monkeypatch.chdir(directory)
    return directory


@pytest.mark.usefixtures("here")
def test_what_waits_for_review_is_counted_wherever_nothing_else_is_shown() -> None:
    run("remember", "Deploys run on Fridays", "--propose")
    run("remember", "Deploys need two approvals", "--propose")

    for said in (run("recall", QUESTION).stdout, run("list", "--status", "active").stderr):
        assert "2 proposals wait for review: hivemind review" in said
    run("approve", run_json("list", "--status", "proposed")[0]["id"])
    assert "proposal" not in run("recall", QUESTION).stdout


@pytest.mark.usefixtures("here")
def test_a_filter_that_nothing_passes_is_named_with_the_number_of_memories_that_it_hides() -> None:
    for number in range(3):
        run("remember", f"Deploy number {number} ran on a Friday")

    listed = run("list", "--kind", "preference").stderr
    recalled = run("recall", QUESTION, "--kind", "preference", "--tags", "ops").stdout

    assert "None of the 3 memories here matches the filter kind." in listed
    assert "None of the 3 memories here matches the filters kind, tags." in recalled


def test_memories_of_other_repositories_are_mentioned_to_a_person_and_never_to_an_agent(
    here: Path, tmp_path: Path, open_mind: Open
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init")
    open_mind(other).remember("Deploys run on Fridays")

    to_person = open_mind(here).recall(QUESTION).hint
    to_agent = calls.recall(open_mind(here, writer=AGENT), {"query": QUESTION}).text

    assert to_person == "No memories in this repository; others have 1: --everywhere."
    assert to_agent == "No memories here."


def test_expired_memories_are_named(mind: Hivemind, clock: Clock) -> None:
    mind.remember("Deploys run on Fridays", expires="2d")
    clock.advance(days=3)

    assert "have expired" in mind.recall(QUESTION).hint
    assert "have expired" in mind.browse.explain_empty_list()


def test_an_answer_with_hits_needs_no_hint(mind: Hivemind) -> None:
    mind.remember("Deploys run on Fridays")

    assert mind.recall(QUESTION).hint == ""
    assert "near this question" in mind.recall("which colour has the neighbour's cat").hint
    assert "filter kind" in mind.recall(QUESTION, kinds=[Kind.FIX]).hint


def test_a_search_of_sessions_that_finds_none_says_whether_there_are_any(mind: Hivemind) -> None:
    assert mind.sessions.search(QUESTION).hint == "No sessions yet."


@pytest.mark.usefixtures("here")
def test_a_search_for_traces_says_how_to_store_one() -> None:
    for command in (["trace", "search", "redirect loop"], ["recall", "redirect loop", "--kind", "trace"]):
        result = run(*command)

        assert "No traces here. Store one: hivemind trace store." in result.stdout + result.stderr
    run("remember", "Deploys run on Fridays")
    assert "No traces here. Store one: hivemind trace store." in run("trace", "search", "redirect loop").stdout
    filtered = run("recall", QUESTION, "--kind", "preference")
    assert "The one memory here does not match the filter kind." in filtered.stdout
