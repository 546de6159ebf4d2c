"""A rule with teeth: a person guards a memory, and a real hook process asks or refuses before the agent acts."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hivemind.paths import data_directory
from tests.command_line import run, run_json
from tests.journeys.test_first_examples import run_hook
from tests.mcp.client import connected

RULE = "We use pnpm, not npm"


@pytest.fixture(autouse=True)
def project(make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository("project")
    monkeypatch.chdir(root)
    return root


def before(command: str, agent: str = "claude-code", event: str = "PreToolUse", **payload: Any) -> dict[str, Any]:
    tool = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": command}
    reply = run_hook(agent, event, **{"session_id": "s1", **tool, **payload})
    answer: dict[str, Any] = json.loads(reply) if reply else {}
    return answer


def guard(*options: str, text: str = RULE) -> str:
    memory_id = str(run_json("remember", text, "--kind", "convention")["id"])
    run("guard", memory_id, "--yes", *options)
    return memory_id[:8]


def test_a_guard_refuses_a_call_with_the_memory_as_the_reason_and_names_the_override() -> None:
    short_id = guard("--answer", "deny")

    decision = before("cd web && sudo npm install")["hookSpecificOutput"]

    assert decision["permissionDecision"] == "deny"
    assert RULE in decision["permissionDecisionReason"]
    assert f"hivemind guard {short_id} --pause 1h" in decision["permissionDecisionReason"]
    assert before("pnpm install") == {}
    assert before("git commit -m 'npm install'") == {}


def test_the_person_reads_the_rule_and_what_was_refused_also_where_the_agent_cannot_ask(project: Path) -> None:
    (project / "dist").mkdir()
    short_id = guard("--answer", "deny", text="Never edit generated files in `dist/`")
    change = {"file_path": str(project / "dist" / "app.js"), "content": "new\n"}

    message = before("", tool_name="Write", tool_input=change)["systemMessage"]

    assert "refused dist/app.js" in message
    assert "Never edit generated files" in message
    assert f"hivemind guard {short_id} --pause 1h" in message
    guard()
    assert "systemMessage" not in before("npm install")
    assert RULE in before("npm install", "codex")["systemMessage"]


def test_the_override_lets_the_call_pass_and_only_a_person_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    short_id = guard("--answer", "deny")
    assert before("npm install")

    monkeypatch.setenv("CLAUDECODE", "1")
    assert run("guard", short_id, "--pause", "1h").exit_code == 4
    assert before("npm install")["hookSpecificOutput"]["permissionDecision"] == "deny"
    monkeypatch.delenv("CLAUDECODE")
    run("guard", short_id, "--pause", "1h")

    assert "permissionDecision" not in before("npm install").get("hookSpecificOutput", {})


@pytest.mark.parametrize("command", ["CLAUDECODE= hivemind forget 3f9a", "env -i hivemind ui", "rm x > .hivemind.toml"])
def test_a_hook_answers_an_agent_that_would_get_rid_of_a_guard(command: str) -> None:
    guard("--answer", "deny")

    assert before(command)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert before("hivemind recall deploys") == {}


def test_a_guard_refuses_every_time_though_a_note_is_told_once() -> None:
    guard("--answer", "deny")

    for _ in range(3):
        assert before("npm install")["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert run_json("guard")[0]["acts"] == 3
    memory_id = run_json("guard")[0]["memory"]["id"]
    assert run_json("explain", memory_id)["guard"]["acts"] == 3
    assert run("explain", memory_id).output.count("\trefused: npm install\t") == 3


def test_a_paused_guard_says_so_when_it_is_checked_and_how_the_pause_ends() -> None:
    short_id = guard("--answer", "deny")

    paused = run("guard", short_id, "--pause", "1h")

    assert "--pause 0" in paused.stderr
    assert "paused until" in run("guard", "--check", "npm install").output
    assert "--pause 1h" in run("guard", short_id, "--pause", "0").stderr


def test_what_a_change_of_a_guard_does_not_name_stays_as_it_was() -> None:
    short_id = guard("--command", "npm install", "--until", "6w")
    ends_at = run_json("guard")[0]["guard"]["ends_at"]

    report = run_json("guard", short_id, "--answer", "deny")["guard"]
    assert (report["trigger"]["commands"], report["answer"], report["ends_at"]) == (["npm install"], "deny", ends_at)

    report = run_json("guard", short_id, "--until", "never")["guard"]
    assert (report["trigger"]["commands"], report["answer"], report["ends_at"]) == (["npm install"], "deny", "")


def test_a_guard_that_asks_lets_the_client_ask_and_never_allows() -> None:
    guard()

    assert before("npm run build")["hookSpecificOutput"]["permissionDecision"] == "ask"


def test_a_guard_on_files_acts_before_an_edit(project: Path) -> None:
    (project / "dist").mkdir()
    (project / "dist" / "app.js").write_text("old\n")
    guard("--answer", "deny", text="Never edit generated files in `dist/`")

    def edit(file: str) -> dict[str, Any]:
        change = {"file_path": str(project / file), "old_string": "old", "new_string": "new"}
        return before("", tool_name="Edit", tool_input=change)

    assert edit("dist/app.js")["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert edit("README.md") == {}
    assert before("sed -i s/old/new/ dist/app.js")["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert before("sed -n s/old/new/p dist/app.js") == {}


@pytest.mark.parametrize(
    ("agent", "event", "tool", "arguments"),
    [
        ("codex", "PreToolUse", "Bash", {"command": "echo new > app.js", "workdir": "ROOT/dist"}),
        ("gemini", "BeforeTool", "run_shell_command", {"command": "echo new > app.js", "directory": "dist"}),
        (
            "codex",
            "PreToolUse",
            "apply_patch",
            {"input": "*** Begin Patch\n*** Delete File: dist/app.js\n*** End Patch"},
        ),
        ("claude-code", "PreToolUse", "Bash", {"command": "echo new > ROOT/dist/app.js", "cwd": "/", "directory": "/"}),
        ("cline", "PreToolUse", "replace_in_file", {"path": "dist/app.js", "diff": "<<<<"}),
        ("cursor", "preToolUse", "Write", {"file_path": "ROOT/dist/app.js", "contents": "new"}),
        ("copilot", "preToolUse", "bash", {"command": "echo new > dist/app.js"}),
    ],
)
def test_a_guard_on_files_reads_where_each_agents_call_works(
    agent: str, event: str, tool: str, arguments: dict[str, str], project: Path
) -> None:
    guard("--answer", "deny", text="Never edit generated files in `dist/`")
    (project / "dist").mkdir()
    values = {name: value.replace("ROOT", str(project)) for name, value in arguments.items()}
    call: dict[str, Any] = {"tool_name": tool, "tool_input": values}
    if agent == "cline":
        call = {"hookName": "tool_call", "taskId": "t1", "preToolUse": {"toolName": tool, "parameters": values}}
    if agent == "copilot":
        call = {"toolName": tool, "toolArgs": json.dumps(values), "sessionId": "s1", "timestamp": 1794727983901}
    # First, as a client may write it.
    payload = {**call, "session_id": "s1", "hook_event_name": event}
    place = {"cline": "workspaceRoots", "cursor": "workspace_roots"}.get(agent, "cwd")
    payload[place] = [str(project)] if agent in ("cline", "cursor") else str(project)

    command = [sys.executable, "-m", "hivemind.entrypoints.hook", agent, event]
    reply = subprocess.run(command, input=json.dumps(payload), capture_output=True, text=True, check=True).stdout

    assert re.search(r'"deny"|"cancel": true', reply), reply


@pytest.mark.parametrize(("guarded", "folders"), [("dist/**", ["dist"]), ("build/**", ["dist", "build"])])
def test_a_guard_on_a_folder_that_is_a_link_acts_on_the_name_and_the_folder(
    guarded: str, folders: list[str], project: Path
) -> None:
    (project / "build").mkdir()
    (project / "dist").symlink_to("build")
    guard("--answer", "deny", "--file", guarded)

    for place in [*folders, *(str(project / folder) for folder in folders)]:
        assert before(f"echo new > {place}/app.js")["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert before("echo new > elsewhere/app.js") == {}


def test_a_guard_acts_on_long_calls_too(project: Path) -> None:
    guard("--answer", "deny", "--command", "npm", "--file", "dist/**")
    text = " ".join(f"word{number}" for number in range(3_000))
    change = {"file_path": str(project / "dist" / "app.js"), "content": text * 60}

    assert before("", tool_name="Write", tool_input=change)["hookSpecificOutput"]["permissionDecision"] == "deny"
    for command in (f"cat > notes.md <<EOF\n{text}\nEOF\nnpm ci", f"cat > dist/app.js <<EOF\n{text}\nEOF"):
        assert before(command)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_half_a_character_in_a_call_or_a_prompt_changes_no_answer() -> None:
    guard("--answer", "deny")

    assert before("npm install # \ud83d")["hookSpecificOutput"]["permissionDecision"] == "deny"
    prompt = "Do we use pnpm or npm? \ud83d\ude00 \ud83d"
    assert RULE in run_hook("claude-code", "UserPromptSubmit", session_id="s2", prompt=prompt)


def test_a_reminder_is_told_once_in_a_session() -> None:
    guard("--command", "make deploy", "--answer", "remind", text="Friday is not a day for deployments")

    told = before("make deploy")["hookSpecificOutput"]

    assert "Friday is not a day" in told["additionalContext"]
    assert "permissionDecision" not in told
    assert before("make deploy") == {}


def test_a_reminder_about_a_file_is_announced_as_one_before_an_edit(project: Path) -> None:
    guard("--file", "dist/**", "--answer", "remind", text="The bundle is made by the build")
    change = {"file_path": str(project / "dist" / "app.js"), "content": "new\n"}

    assert before("", tool_name="Write", tool_input=change)["systemMessage"].endswith("before this edit")


@pytest.mark.parametrize(
    ("command", "says"),
    [(("forget",), False), (("edit", "--expires", "2020-01-01"), False), (("edit", "--verify-by", "2020-01-01"), True)],
)
def test_a_guard_whose_memory_is_over_tells_the_agent_nothing_and_the_person_once(
    command: tuple[str, ...], says: bool
) -> None:
    short_id = guard("--answer", "deny")
    assert before("npm install")["hookSpecificOutput"]["permissionDecision"] == "deny"

    run(command[0], short_id, *command[1:])
    first, second = before("npm install"), before("npm install")

    assert ("hookSpecificOutput" in first) is says
    assert f"the guard {short_id} did not act" in first["systemMessage"]
    assert second == {}


def test_an_agent_that_takes_no_context_before_a_call_is_refused_all_the_same() -> None:
    guard("--answer", "deny")
    payload = {"tool_name": "run_shell_command"}

    assert before("npm install", "qwen", **payload)["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert before("ls", "qwen", **payload) == {}


def test_the_first_call_of_an_agent_that_is_briefed_there_is_guarded_too() -> None:
    guard("--answer", "deny")
    call = {"preToolUse": {"toolName": "execute_command", "parameters": {"command": "npm install"}}}
    payload: dict[str, Any] = {
        "hook_event_name": "",
        "hookName": "tool_call",
        "taskId": "t1",
        "workspaceRoots": [str(Path.cwd())],
        **call,
    }

    assert before("npm install", "cline", **payload).get("cancel") is True


def test_an_error_of_ours_blocks_nobody(project: Path) -> None:
    guard("--answer", "deny")
    before("npm install")
    (Path(data_directory(os.environ)) / "memory.db").write_bytes(b"not a database, at all, for sure" * 400)
    payload = {"session_id": "s1", "cwd": str(project), "tool_name": "Bash", "tool_input": {"command": "npm install"}}

    process = subprocess.run(
        [sys.executable, "-m", "hivemind.entrypoints.hook", "claude-code", "PreToolUse"],
        input=json.dumps(payload), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (process.returncode, process.stdout) == (0, "")


def test_a_call_that_no_guard_concerns_loads_no_parser(project: Path) -> None:
    guard("--answer", "deny")
    before("ls")
    payload = {"session_id": "s1", "cwd": str(project), "tool_name": "Bash"}

    def list_modules(command: str) -> str:
        call = json.dumps(payload | {"tool_input": {"command": command}})
        arguments = [sys.executable, "-X", "importtime", "-m", "hivemind.entrypoints.hook", "claude-code", "PreToolUse"]
        return subprocess.run(arguments, input=call, capture_output=True, text=True, check=True).stderr

    assert "apsw" not in list_modules("git status && pytest -q")
    assert "tree_sitter" in list_modules("npm install")


def test_what_the_agent_said_that_a_rule_forbids_is_proposed_and_a_person_makes_a_guard_of_it(project: Path) -> None:
    rule = "Translations come from the translators every night; only English is ours"
    with connected(project) as client:
        client.shake_hands()
        text, failed = client.call("remember", text=rule, kind="convention", forbids=["locales/**", "!locales/en.json"])
    memory_id = text.split()[2].rstrip(".")

    assert not failed
    assert run_json("guard") == []
    run("approve", memory_id)
    run("guard", memory_id, "--yes", "--answer", "deny")

    (project / "locales").mkdir()
    changes = [{"file_path": str(project / "locales" / name), "content": "{}"} for name in ("de.json", "en.json")]
    german, english = (before("", tool_name="Write", tool_input=change) for change in changes)
    assert german["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert english == {}


@pytest.mark.parametrize("pattern", ["./tools/release.sh", "python tools/release.py", "task db:reset"])
def test_a_script_is_guarded_by_its_path(pattern: str) -> None:
    guard("--command", pattern, "--answer", "deny", text="Only the release manager does that")

    assert before(f"cd web && {pattern} now")["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert before("ls tools") == {}
