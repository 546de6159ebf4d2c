"""Connecting agents from the command line, and leaving."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind.sessions import spool
from tests.command_line import run, run_json


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with Claude Code and Codex in it, each with settings of the user's."""
    user = tmp_path / "user"
    (user / ".claude").mkdir(parents=True)
    (user / ".claude" / "settings.json").write_text('{\n  "theme": "dark" // mine\n}\n')
    (user / ".codex").mkdir()
    (user / ".codex" / "config.toml").write_text('model = "o9"\n')
    monkeypatch.chdir(tmp_path)
    return user


COMMANDS = ("remember", "recall", "review-memories", "forget")


def files(user: Path) -> dict[str, str]:
    return {str(path.relative_to(user)): path.read_text() for path in user.rglob("*") if path.is_file()}


def test_uninstalling_removes_the_folders_that_installing_made_and_no_others(user: Path) -> None:
    (user / ".claude" / "settings.json").unlink()

    run("install", "claude-code", "cursor", "--yes")
    connected = {path.name for path in user.iterdir()}
    gone = run("uninstall", "--yes")

    assert gone.exit_code == 0
    assert connected >= {".claude", ".cursor"}
    assert (user / ".claude").is_dir()
    assert list((user / ".claude").iterdir()) == []
    assert not (user / ".cursor").exists()


def test_learning_with_the_persons_own_agent_is_offered_once_with_its_cost(user: Path) -> None:
    first, again = run("install", "claude-code", "--yes"), run("install", "claude-code", "--yes")

    assert "learn --with claude" in first.output
    assert "15,000 tokens" in first.output
    assert "learn --with" not in again.output
    assert "learn --with" not in run("install", "cursor", "--yes").output


def test_agents_on_the_machine_are_connected_shown_first_and_taken_back(user: Path) -> None:
    before = files(user)

    shown = run("install", "--dry-run")
    untouched = files(user)
    done = run("install", "--yes")
    connected = files(user)
    again = run("install")
    gone = run("uninstall", "--yes")

    assert "+++ " in shown.stdout
    assert '+    "hivemind": {' in shown.stdout
    assert untouched == before
    assert done.exit_code == again.exit_code == gone.exit_code == 0
    commands = {f".claude/commands/{name}.md" for name in COMMANDS}
    skills = {f".codex/skills/{name}/SKILL.md" for name in COMMANDS}
    assert set(connected) - set(before) == {".claude.json", ".codex/hooks.json", *commands, *skills}
    assert "// mine" in connected[".claude/settings.json"]
    assert "hooks.state" not in connected[".codex/config.toml"]
    assert "Codex runs none of these hooks until you trust them" in done.stderr
    assert "Claude Code is connected already." in again.stderr
    assert files(user) == before


def test_a_summary_is_shown_first_and_every_line_to_who_asks(user: Path) -> None:
    calm = run("install", stdin="n\n")
    curious = run("install", stdin="d\nn\n")
    told = run_json("install", "--dry-run")

    rows = [line.split("\t") for line in calm.stdout.splitlines()]
    assert [(agent, file, what.partition(":")[0]) for agent, file, _, what in rows] == [
        ("Claude Code", "~/.claude.json", "MCP server"),
        ("Claude Code", "~/.claude/settings.json", "hooks"),
        ("Claude Code", "~/.claude/commands/ (4 files)", "commands"),
        ("Codex", "~/.codex/config.toml", "MCP server"),
        ("Codex", "~/.codex/hooks.json", "hooks"),
        ("Codex", "~/.codex/skills/ (4 files)", "commands"),
    ]
    assert all(size.startswith("+") for _, _, size, _ in rows)
    assert '+    "hivemind": {' in curious.stdout
    assert [one["agent"] for one in told] == ["claude-code", "codex"]
    assert '+    "hivemind": {' in told[0]["diffs"][0]
    assert (calm.exit_code, curious.exit_code) == (1, 1)
    assert ".claude.json" not in files(user)


def test_nothing_is_changed_without_a_yes(user: Path) -> None:
    before = files(user)

    said_no = run("install", "claude-code", stdin="n\n")
    untouched = files(user)
    said_yes = run("install", "claude-code", stdin="y\n")

    assert (said_no.exit_code, untouched) == (1, before)
    assert said_yes.exit_code == 0
    assert ".claude.json" in files(user)
    assert ".codex/hooks.json" not in files(user)


def test_what_is_installed_runs_by_absolute_path(user: Path, tmp_path: Path) -> None:
    run("install", "claude-code", "--yes")
    settings = json.loads(files(user)[".claude/settings.json"].replace("// mine", ""))
    hook = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    server = json.loads(files(user)[".claude.json"])["mcpServers"]["hivemind"]

    told = json.dumps({"session_id": "s1", "cwd": str(tmp_path), "hook_event_name": "SessionStart"})
    hooked = subprocess.run(hook, shell=True, input=told, capture_output=True, text=True, check=False)
    asked = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    command = [server["command"], *server["args"]]
    served = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)

    assert Path(shlex.split(hook)[0]).is_absolute()
    assert Path(server["command"]).is_absolute()
    assert (hooked.returncode, hooked.stderr) == (0, "")
    assert run_json("status", "--counts")["sessions"] == 1
    assert '"remember"' in served.stdout


def test_the_status_line_counts_what_is_stored_here_and_told_in_the_session(user: Path, tmp_path: Path) -> None:
    run("install", "claude-code", "--yes")
    settings = json.loads(files(user)[".claude/settings.json"].replace("// mine", ""))
    command = settings["statusLine"]["command"]
    payload = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart", "cwd": str(tmp_path)})

    def show() -> str:
        return subprocess.run(command, shell=True, input=payload, capture_output=True, text=True, check=True).stdout

    run("remember", "Deploys need a review", "--kind", "convention")
    before = show()
    run("remember", "API port is 8080")
    run("remember", "API port is 9090")
    hook = settings["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    subprocess.run(hook, shell=True, input=payload, capture_output=True, text=True, check=True)

    assert before == "hivemind: 1 memory\n"
    assert re.fullmatch(r"hivemind: 3 memories · \d told( · \d in doubt)? · 2 to review\n", show())
    assert run("statusline", stdin=payload).stdout == show()


def test_the_status_line_of_one_repository_does_not_count_another(
    user: Path, make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(make_repository("api"))
    run("remember", "Deploys need a review")
    here = run("statusline").stdout
    monkeypatch.chdir(make_repository("web"))

    assert (here, run("statusline").stdout) == ("hivemind: 1 memory\n", "hivemind: 0 memories\n")


@pytest.mark.parametrize("damage", [b"", b"not a database" * 100])
def test_a_status_line_without_a_readable_store_says_so_and_does_not_fail(
    home: Path, user: Path, damage: bytes
) -> None:
    missing = run("statusline", stdin="{not json")
    home.mkdir(parents=True)
    (home / "memory.db").write_bytes(damage)
    damaged = run("statusline")

    assert (missing.stdout, missing.exit_code) == ("hivemind: no memories yet\n", 0)
    assert (damaged.stdout, damaged.exit_code) == ("hivemind: cannot read the store; run 'hivemind doctor'\n", 0)


@pytest.mark.parametrize("own", ["~/bin/line.sh", "~/bin/line.sh; hivemind statusline"])
def test_a_status_line_of_the_user_is_never_replaced_or_removed(user: Path, own: str) -> None:
    settings = user / ".claude" / "settings.json"
    settings.write_text(json.dumps({"statusLine": {"type": "command", "command": own}}))
    before = settings.read_text()

    run("install", "claude-code", "--yes")
    installed = json.loads(settings.read_text())["statusLine"]["command"]
    run("uninstall", "--yes")

    assert installed == own
    assert settings.read_text() == before


def test_a_command_of_the_user_with_our_name_is_left_to_them(user: Path) -> None:
    own = user / ".claude" / "commands" / "recall.md"
    own.parent.mkdir()
    own.write_text("Recall the faulty batch.\n")

    installed = run("install", "claude-code", "--yes")
    run("uninstall", "--yes")

    assert "a file of yours has this name" in installed.stderr
    assert own.read_text() == "Recall the faulty batch.\n"
    assert files(user).keys() >= {".claude/commands/recall.md"}


def test_a_project_is_connected_by_itself(user: Path, tmp_path: Path) -> None:
    before = files(user)
    project = tmp_path / "project"
    project.mkdir()

    done = run("install", "claude-code", "--project", str(project), "--yes")
    connected = files(project)
    run("uninstall", "--project", str(project), "--yes")

    commands = {f".claude/commands/{name}.md" for name in COMMANDS}
    assert set(connected) == {".mcp.json", ".claude/settings.json", *commands}
    assert "keep them out of version control" in done.stderr
    assert (files(project), files(user)) == ({}, before)


def test_codex_hooks_are_trusted_only_when_the_user_asks_for_it(user: Path) -> None:
    run("install", "codex", "--yes")
    unasked = {one["what"]: one for one in json.loads(run("doctor", "--json").stdout)}

    run("install", "codex", "--yes", "--trust-codex-hooks")
    asked = {one["what"]: one for one in run_json("doctor")}

    assert not unasked["codex"]["is_well"]
    assert "not trusted" in unasked["codex"]["detail"]
    assert "/hooks" in unasked["codex"]["remedy"]
    assert asked["codex"]["is_well"]
    assert "hooks trusted" in asked["codex"]["detail"]


def test_doctor_starts_the_server_and_says_when_an_agent_was_last_active(user: Path, home: Path) -> None:
    before = {one["what"]: one["detail"] for one in run_json("doctor")}
    run("install", "claude-code", "--yes")
    told = json.dumps({"session_id": "s1", "cwd": str(user), "hook_event_name": "SessionStart"})
    spool.append(str(home), "claude-code", "SessionStart", "2026-03-01T12:00:00.000000Z", told)

    after = {one["what"]: one["detail"] for one in run_json("doctor")}

    assert "server" not in before
    assert before["claude-code"] == "not connected; 'hivemind install claude-code' does it"
    assert after["claude-code"] == "registered · hooks in place · last active 2026-03-01 12:00"
    assert "recall, remember" in after["server"]


def test_doctor_notices_an_installation_that_moved(user: Path) -> None:
    run("install", "claude-code", "--yes")
    servers = user / ".claude.json"
    servers.write_text(servers.read_text().replace('"command": "/', '"command": "/elsewhere/'))

    found = {one["what"]: one for one in json.loads(run("doctor", "--json").stdout)}

    assert not found["claude-code"]["is_well"]
    assert found["claude-code"]["remedy"] == "hivemind install claude-code"


def test_doctor_counts_what_hooks_left_and_nobody_could_read(home: Path, tmp_path: Path) -> None:
    well = {one["what"]: one for one in run_json("doctor")}
    for payload in ("not json", "still not", '{"session_id": "s1", "hook_event_name": "Unheard"}'):
        spool.append(str(home), "claude-code", "Stop", "2026-03-01T12:00:00.000000Z", payload)

    ill = {one["what"]: one for one in json.loads(run("doctor", "--json").stdout)}

    assert well["quarantine"]["is_well"]
    assert not ill["quarantine"]["is_well"]
    assert ill["quarantine"]["detail"].startswith("3 could not be read; the newest: claude-code Stop at 2026-03-01")
    assert "hivemind quarantine" in ill["quarantine"]["remedy"]


def test_install_tries_hook_and_server_and_says_so(user: Path, home: Path) -> None:
    done = run("install", "claude-code", "--yes")
    again = run("install", "claude-code")

    assert (done.exit_code, again.exit_code) == (0, 0)
    assert "Claude Code is connected: hook and server were tried and work." in done.stderr
    assert "Claude Code is connected: hook and server were tried and work." in again.stderr
    assert "run: hivemind import" in done.stderr
    # Trying the hook leaves no event behind.
    assert (home / "spool").read_bytes() == b""


def test_install_and_doctor_agree_about_an_agent_that_is_not_connected(user: Path) -> None:
    settings = user / ".claude" / "settings.json"
    settings.write_text('{"broken": ')

    done = run("install", "--yes")
    findings = {finding["what"]: finding for finding in json.loads(run("doctor", "--json").stdout)}
    settings.write_text("{}")
    mended = run("install", "claude-code", "--yes")
    mended_findings = {finding["what"]: finding for finding in json.loads(run("doctor", "--json").stdout)}

    assert done.exit_code == 1
    assert "Claude Code is not connected:\n" in done.stderr
    assert f"{settings}: not valid JSON" in done.stderr
    assert "Codex is connected" in done.stderr
    assert ".claude.json" not in files(user) or "hivemind" in files(user)[".claude.json"]
    assert not findings["claude-code"]["is_well"]
    assert "not valid JSON" in findings["claude-code"]["detail"]
    assert findings["hook"]["is_well"]
    assert mended.exit_code == 0
    assert mended_findings["claude-code"]["is_well"]


def test_settings_that_break_after_connecting_are_a_finding(user: Path) -> None:
    run("install", "claude-code", "--yes")
    (user / ".claude" / "settings.json").write_text('{"broken": ')

    findings = {finding["what"]: finding for finding in json.loads(run("doctor", "--json").stdout)}

    assert not findings["claude-code"]["is_well"]
    assert findings["claude-code"]["remedy"] == "hivemind install claude-code"


def test_a_hook_that_cannot_store_is_not_called_connected(user: Path, home: Path) -> None:
    run("status")
    (home / "hooks.lock").unlink(missing_ok=True)
    (home / "hooks.lock").mkdir()

    done = run("install", "claude-code", "--yes")
    (home / "hooks.lock").rmdir()

    assert done.exit_code == 1
    assert "the hook does not run" in done.stderr
    assert run("install", "claude-code").exit_code == 0


def test_an_agent_on_the_path_is_connected_before_its_first_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    done = run("install", "--yes")

    assert done.exit_code == 0
    assert "SessionStart" in (tmp_path / "user" / ".claude" / "settings.json").read_text()


def test_quiet_prints_nothing_unless_something_is_wrong(user: Path) -> None:
    quiet = run("install", "--yes", "--quiet")
    (user / ".claude" / "settings.json").write_text('{"broken": ')
    wrong = run("install", "--yes", "--quiet")

    assert (quiet.exit_code, quiet.output) == (0, "")
    assert wrong.exit_code == 1
    assert "not valid JSON" in wrong.output


def test_a_machine_without_agents_says_which_could_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    done = run("install")

    assert done.exit_code == 2
    assert "claude-code, codex" in done.stderr


def test_a_plugin_for_a_team_to_publish_names_no_path_of_this_machine(tmp_path: Path) -> None:
    done = run_json("install", "--plugin", str(tmp_path / "plugin"))

    files = {str(Path(path).relative_to(tmp_path / "plugin")): Path(path).read_text() for path in done}
    hooks = json.loads(files["plugins/hivemind/hooks/hooks.json"])["hooks"]
    assert hooks["SessionStart"][0]["hooks"][0]["command"] == "hivemind-hook claude-code SessionStart"
    assert json.loads(files["plugins/hivemind/.mcp.json"])["mcpServers"]["hivemind"]["args"] == ["mcp"]
    assert json.loads(files["plugins/gemini/gemini-extension.json"])["mcpServers"]
    assert "hivemind-hook" in files["plugins/opencode/hivemind.js"]
    # `claude plugin validate --profile directory` asks for both.
    assert len(files["plugins/hivemind/README.md"].split()) >= 40
    assert json.loads(files["plugins/hivemind/.claude-plugin/plugin.json"])["license"] == "Apache-2.0"
    assert sys.prefix not in "".join(files.values())
    assert run("install", "--plugin", str(tmp_path / "plugin")).exit_code == 2
