"""The made-up project of ``hivemind demo``."""

from pathlib import Path
from typing import NamedTuple

import pytest

from hivemind.cli.commands.demo import EXAMPLES
from tests.command_line import run, run_json

# One process makes the demo for all of them.
pytestmark = pytest.mark.xdist_group("demo")


class Demo(NamedTuple):
    folder: Path
    printed: str


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo") / "a new folder"
    with pytest.MonkeyPatch.context() as patch:
        # The fixture is older than the one that isolates each test.
        patch.setenv("HIVEMIND_PERSON", "ada")
        patch.setenv("HIVEMIND_HOME", str(folder.parent / "own"))
        result = run("demo", str(folder))
    assert result.exit_code == 0, result.output
    assert not (folder.parent / "own").exists()
    return Demo(folder, result.stdout)


@pytest.fixture
def inside(demo: Demo, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIVEMIND_HOME", str(demo.folder / "home"))
    monkeypatch.chdir(demo.folder / "harbour")
    return demo.folder


@pytest.mark.parametrize("command", [command for command, _ in EXAMPLES if command != "hivemind ui"])
def test_each_command_that_the_demo_suggests_works_and_prints_something(inside: Path, command: str) -> None:
    words = [word for part in command.split('"')[::2] for word in part.split()][1:]
    quoted_words = command.split('"')[1::2]

    result = run(*words, *quoted_words)

    assert result.exit_code == 0
    assert result.stdout.strip()


def test_the_demo_has_memories_in_every_state_a_person_should_see(inside: Path) -> None:
    states = ("active", "proposed", "disputed", "retracted")
    memories = {state: run_json("list", "--limit", "100", "--status", state) for state in states}
    waiting = run_json("review")
    stale = run("code", "stale", "--json")
    receipts = run_json("log", "--receipts", "--limit", "1000")

    assert all(memories.values())
    kinds = {memory["kind"] for memory in memories["active"] + memories["proposed"] + memories["disputed"]}
    assert kinds >= {"fact", "decision", "convention", "preference", "procedure", "requirement", "fix"}
    assert len(waiting) >= 8
    assert "does not look at expiry" in stale.stdout
    assert "edits" in {receipt["occasion"] for receipt in receipts}
    assert len(run_json("session", "list", "--limit", "100")) > 20


def test_a_warning_shows_only_what_differs(inside: Path) -> None:
    answer = run("recall", "does verify check token expiry?").stdout

    assert "`key: bytes` → `keys: dict[str, bytes], now: float`: verify before acting" in answer


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")

    refused = run("demo", str(tmp_path))

    assert refused.exit_code == 2
    assert "is not empty" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_suggested_commands_and_their_meanings_fit_into_80_columns(demo: Demo) -> None:
    lines = [line for line in demo.printed.splitlines() if line.startswith("  hivemind ")]

    assert len(lines) == len(EXAMPLES)
    assert [line for line in lines if len(line) > 80] == []
