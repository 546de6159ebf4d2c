"""What version 0.2 left on a machine goes on working: its hooks, server, status line, store, settings and spool.

The fixture is the home of a person who installed 0.2.0, connected four agents and stored three memories. Marks stand
for the Python that 0.2.0 ran with, its site-packages and the repository.
"""

import json
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import hivemind
from tests.command_line import run, run_json
from tests.conftest import git

FIXTURE = Path(__file__).parents[1] / "fixtures" / "home-0.2.0.tar.gz"
CONFIGURED = {"claude-code": ".claude/settings.json", "codex": ".codex/hooks.json", "cursor": ".cursor/hooks.json"}
CONFIGURED |= {"gemini": ".gemini/settings.json"}


@pytest.fixture
def old_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Unpack the home of 0.2.0, as if this version had been installed over it."""
    home, shop = tmp_path / "user", tmp_path / "shop"
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(home, filter="data")
    marks = {"@PYTHON@": sys.executable, "@SITE@": str(Path(hivemind.__file__).parents[1]), "@SHOP@": str(shop)}
    for file in [*(home / name for name in CONFIGURED.values()), home / ".local/share/hivemind/spool"]:
        text = file.read_text("utf-8")
        for mark, value in marks.items():
            text = text.replace(mark, value)
        file.write_text(text, "utf-8")
    shop.mkdir()
    git(shop, "init")
    git(shop, "remote", "add", "origin", "https://example.org/acme/shop.git")
    monkeypatch.delenv("HIVEMIND_HOME")
    monkeypatch.chdir(shop)
    return home


def list_commands(configuration: object) -> list[str]:
    """Find every command in an agent's configuration."""
    match configuration:
        case {"command": str(command)}:
            return [command]
        case dict():
            return [command for value in configuration.values() for command in list_commands(value)]
        case list():
            return [command for value in configuration for command in list_commands(value)]
    return []


def test_memories_and_settings_are_read(old_home: Path) -> None:
    hits = run_json("recall", "which port does the API have?")["hits"]

    assert hits[0]["memory"]["text"] == "API port is 8080"
    assert run("config", "get", "keep_days").output.strip() == "90"
    assert run_json("status", "--counts")["observations"] == 2
    assert not (old_home / ".local/share/hivemind/spool").exists()


@pytest.mark.parametrize("agent", CONFIGURED)
def test_every_hook_that_was_installed_runs_and_is_heard(old_home: Path, agent: str) -> None:
    commands = list_commands(json.loads((old_home / CONFIGURED[agent]).read_text("utf-8")))
    hooks = [shlex.split(command) for command in commands if "hook.py" in command]
    payload = json.dumps({"session_id": "new", "cwd": str(Path.cwd()), "prompt": "which port does the API have?"})

    for hook in hooks:
        done = subprocess.run(hook, input=payload, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), hook

    assert len(hooks) >= 5
    assert run_json("session", "list")


def test_the_status_line_runs(old_home: Path) -> None:
    settings = json.loads((old_home / CONFIGURED["claude-code"]).read_text("utf-8"))
    command = shlex.split(settings["statusLine"]["command"])

    done = subprocess.run(command, input="{}", capture_output=True, text=True, check=False, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")
    assert "hivemind" in done.stdout


def test_installing_again_changes_no_more_than_paths_and_tools(old_home: Path) -> None:
    before = (old_home / CONFIGURED["claude-code"]).read_text("utf-8")

    run("install", "claude-code", "--yes")
    after = (old_home / CONFIGURED["claude-code"]).read_text("utf-8")

    def list_other_parts(text: str) -> list[str]:
        return [line.split('"command"')[0].split('"matcher"')[0] for line in text.splitlines()]

    def list_programs(text: str) -> set[tuple[str, ...]]:
        words = [word for command in list_commands(json.loads(text)) for word in shlex.split(command)]
        return {Path(word).parts[-3:] for word in words if word.endswith(".py")}

    assert list_other_parts(before) == list_other_parts(after)
    assert list_programs(before) == list_programs(after)
