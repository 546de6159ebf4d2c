"""Where a command takes the id of a memory or a session, a person may describe it instead."""

import json
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.sessions import spool
from tests.command_line import run
from tests.terminal import on_a_terminal

TRIO = "The trio backend is tested on Linux alone"


@pytest.fixture(autouse=True)
def memories(home: Path) -> None:
    with Hivemind.open() as mind:
        mind.remember(TRIO)
        mind.remember("Deploys run from main only")
        mind.forget(mind.remember("Use tabs in YAML files").id)


def list_texts() -> set[str]:
    with Hivemind.open() as mind:
        return {memory.text for memory in mind.list(statuses=("active",))}


def test_at_a_terminal_the_closest_memories_are_offered_and_one_is_picked() -> None:
    seen = on_a_terminal("forget", "the", "trio", "thing", typed="1\n")

    assert TRIO in seen
    assert list_texts() == {"Deploys run from main only"}


def test_enter_picks_none() -> None:
    on_a_terminal("forget", "the trio thing", typed="\n")

    assert TRIO in list_texts()


def test_a_forgotten_memory_can_be_described_too() -> None:
    on_a_terminal("restore", "tabs in yaml", typed="1\n")

    assert "Use tabs in YAML files" in list_texts()


@pytest.mark.parametrize("command", ["show", "explain", "edit", "forget", "verify", "erase", "guard", "log", "approve"])
def test_elsewhere_the_candidates_are_in_the_error(command: str) -> None:
    result = run(command, "the trio thing")

    assert (result.exit_code, TRIO in result.stderr) == (3, True)
    assert TRIO in list_texts()


def test_an_agent_is_offered_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")

    assert TRIO not in run("forget", "the trio thing").output


def test_an_id_is_never_taken_for_words() -> None:
    assert "Closest" not in run("show", "deadbeef").output


def test_a_memory_that_another_one_replaces_can_be_described() -> None:
    on_a_terminal("remember", "Trio is tested everywhere", "--replaces", "the trio thing", typed="1\n")

    assert list_texts() == {"Deploys run from main only", "Trio is tested everywhere"}


def test_each_option_describes_a_memory_of_its_own() -> None:
    result = run("remember", "Trio is tested everywhere", "--replaces", "the trio thing", "--replaces", "deploys")

    assert (result.exit_code, TRIO in result.stderr) == (3, True)


PROMPT = "Why does the login loop on Safari?"


@pytest.fixture
def sessions(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for session_id, prompt in (("7d0a52f1", PROMPT), ("morning", "Draw the new logo")):
        payload = {"session_id": session_id, "cwd": str(tmp_path), "prompt": prompt}
        spool.append(str(home), "claude-code", "UserPromptSubmit", "2026-03-01T09:00:00.000000Z", json.dumps(payload))


@pytest.mark.usefixtures("sessions")
def test_a_session_is_picked_by_what_was_said_in_it() -> None:
    seen = on_a_terminal("session", "show", "login", "on", "safari", typed="1\n")

    assert seen.count(PROMPT) == 2
    assert "7d0a52f1  claude-code" in seen


@pytest.mark.usefixtures("sessions")
@pytest.mark.parametrize("command", ["session show", "session replay", "session resume", "learn"])
def test_elsewhere_the_closest_sessions_are_in_the_error(command: str) -> None:
    result = run(*command.split(), "login on safari")

    assert (result.exit_code, "7d0a52f1" in result.stderr) == (3, True)


@pytest.mark.usefixtures("sessions")
def test_the_id_of_a_session_may_be_a_word() -> None:
    assert "Draw the new logo" in run("session", "show", "morning").stdout
