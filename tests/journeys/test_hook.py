"""From an agent's hook to the log, by way of the spool."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.entrypoints import hook as hook_file
from hivemind.model.memory import Kind
from hivemind.sessions import spool_reader
from tests.command_line import residue, run_json
from tests.conftest import AGENT, Open


def hook(payload: str | bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    raw = payload.encode() if isinstance(payload, str) else payload
    command = [sys.executable, "-I", "-S", str(hook_file.__file__), *arguments]
    return subprocess.run(command, input=raw, capture_output=True, check=False)


def tool_use(number: int, output: str = "2 passed") -> str:
    return json.dumps(
        {
            "session_id": "s1",
            "cwd": str(Path.cwd()),
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "pytest -x"},
            "tool_response": {"stdout": output},
            "tool_use_id": f"t{number}",
        },
        indent=1,
    )


@pytest.fixture(autouse=True)
def in_a_plain_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_what_a_hook_saw_is_in_the_log_when_the_store_is_next_opened(home: Path) -> None:
    for payload in (tool_use(1), tool_use(2), tool_use(1)):
        assert hook(payload, "claude-code", "PostToolUse").returncode == 0
    assert not (home / "memory.db").exists()

    seen = run_json("sql", "SELECT session_id, agent, tool, input FROM tool_outputs")
    stats = run_json("status", "--counts")

    assert stats["observations"] == 2
    assert seen == run_json("sql", "SELECT session_id, agent, tool, input FROM tool_outputs")
    assert seen[0]["tool"] == "Bash"
    assert not list(home.glob("spool*"))


def test_a_hook_never_fails_whatever_it_is_given(home: Path) -> None:
    done = [
        hook("not json", "claude-code", "Stop"),
        hook(b"\xff\xfe\x00", "claude-code", "Stop"),
        hook("", "unknown", "Whatever"),
        hook("{}"),
        hook("[]", "claude-code", "PostToolUse"),
    ]

    assert [(one.returncode, one.stdout) for one in done] == [(0, b"")] * len(done)
    assert (home / "spool").read_bytes().count(b"\n") == len(done)
    assert run_json("status", "--counts")["observations"] == 0


def test_a_hook_that_cannot_write_says_so_and_still_lets_the_agent_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "file" / "below"))

    done = hook(tool_use(1), "claude-code", "PostToolUse")

    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"hivemind-hook: cannot write to {tmp_path}/file/below: Not a directory\n"


def test_an_error_that_nobody_expected_is_told_in_one_plain_sentence(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text("brief_tokens = [")

    broken_settings = hook(start("s1"), "claude-code", "SessionStart")
    unknown_agent = hook(start("s1"), "claud-code", "SessionStart")

    for done in (broken_settings, unknown_agent):
        told = done.stderr.decode()
        assert (done.returncode, done.stdout, told.count("\n")) == (0, b"", 1)
        assert told.startswith("hivemind-hook: ")
    assert "config.toml" in broken_settings.stderr.decode()


def test_secrets_do_not_even_reach_the_spool(home: Path) -> None:
    secret = "ghp_" + "Zx9Kq2Wv7Rt4Yb1Nc8Md5Lf3Hg6Jp0Sa" + "QwEr"

    hook(tool_use(1, f"GITHUB_TOKEN={secret}\nall fine"), "claude-code", "PostToolUse")

    assert residue(home, secret.encode()) == []
    assert residue(home, b"all fine") == ["spool"]


def die_while_taking(home: Path) -> None:
    with spool_reader.take_lines(str(home)) as lines:
        assert len(list(lines)) == 1
        raise KeyboardInterrupt


def test_what_was_taken_by_a_process_that_died_is_not_lost(home: Path) -> None:
    hook(tool_use(1), "claude-code", "PostToolUse")
    with pytest.raises(KeyboardInterrupt):
        die_while_taking(home)

    assert run_json("status", "--counts")["observations"] == 1


def test_a_passage_marked_private_is_dropped_and_the_rest_arrives(home: Path) -> None:
    hook(tool_use(1, "all fine <private>my diary is in the attic"), "claude-code", "PostToolUse")

    said = run_json("sql", "SELECT output FROM tool_outputs")

    assert "all fine" in said[0]["output"]
    assert residue(home, b"attic") == []


def test_the_agent_that_really_calls_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_SESSION_ID", "g1")
    hook(tool_use(1).replace("s1", "g1"), "claude-code", "PostToolUse")
    monkeypatch.delenv("GEMINI_SESSION_ID")
    hook(tool_use(2), "claude-code", "PostToolUse")

    agents = run_json("sql", "SELECT id, agent FROM sessions ORDER BY id")

    assert agents == [{"id": "g1", "agent": "gemini"}, {"id": "s1", "agent": "claude-code"}]


def start(session: str, source: str = "startup") -> str:
    return json.dumps(
        {"session_id": session, "cwd": str(Path.cwd()), "hook_event_name": "SessionStart", "source": source}
    )


def prompt(session: str, text: str) -> str:
    told = {"session_id": session, "cwd": str(Path.cwd()), "hook_event_name": "UserPromptSubmit", "prompt": text}
    return json.dumps(told | {"prompt_id": text[:20]})


def context(done: subprocess.CompletedProcess[bytes]) -> str:
    """What Claude Code puts before its model, of what the hook printed."""
    assert (done.returncode, done.stderr) == (0, b"")
    if not done.stdout:
        return ""
    said: str = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    return said


def knowing(open_mind: Open) -> Hivemind:
    mind = open_mind(Path.cwd())
    mind.remember("Deploys run on Fridays, from main only", kind=Kind.DECISION)
    # An agent's word: findable, but not told at the start of a session.
    with open_mind(Path.cwd(), writer=AGENT) as agent:
        agent.remember("The staging database is called heron", kind=Kind.FACT)
    return mind


def test_a_session_starts_with_the_brief_and_hears_it_again_only_after_compaction(open_mind: Open) -> None:
    knowing(open_mind).close()

    first = context(hook(start("s1"), "claude-code", "SessionStart"))
    resumed = context(hook(start("s1", "resume"), "claude-code", "SessionStart"))
    compacted = context(hook(start("s1", "compact"), "claude-code", "SessionStart"))

    assert "Deploys run on Fridays" in first
    assert "heron" not in first
    assert "Receipt " in first
    assert resumed == ""
    assert "Deploys run on Fridays" in compacted


def test_a_prompt_gets_what_it_calls_for_once(open_mind: Open) -> None:
    knowing(open_mind).close()
    hook(start("s1"), "claude-code", "SessionStart")

    called_for = context(hook(prompt("s1", "connect to the staging database"), "claude-code", "UserPromptSubmit"))
    again = context(hook(prompt("s1", "look at the staging database once more"), "claude-code", "UserPromptSubmit"))
    briefed = context(hook(prompt("s1", "do deploys run on Fridays?"), "claude-code", "UserPromptSubmit"))
    unrelated = context(hook(prompt("s1", "rename the button"), "claude-code", "UserPromptSubmit"))
    other = context(hook(prompt("s2", "connect to the staging database"), "claude-code", "UserPromptSubmit"))

    assert "heron" in called_for
    assert (again, briefed, unrelated) == ("", "", "")
    assert "heron" in other


def test_each_agent_is_answered_in_its_own_form(open_mind: Open) -> None:
    knowing(open_mind).close()
    told = {"sessionId": "c1", "cwd": str(Path.cwd()), "timestamp": 1_780_000_000_000, "source": "new"}
    task = {"taskId": "l1", "workspaceRoots": [str(Path.cwd())], "hookName": "tool_call"}

    copilot = hook(json.dumps(told), "copilot", "sessionStart")
    cline = hook(json.dumps(task), "cline", "PreToolUse")
    cline_again = hook(json.dumps(task), "cline", "PreToolUse")

    assert "Fridays" in json.loads(copilot.stdout)["additionalContext"]
    assert "Fridays" in json.loads(cline.stdout)["context"]
    assert cline_again.stdout == b""


def test_where_nothing_is_known_nothing_is_said() -> None:
    done = hook(start("s1"), "claude-code", "SessionStart")

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert run_json("status", "--counts")["observations"] == 1


def test_a_payload_of_many_megabytes_is_shortened_and_still_read(home: Path) -> None:
    secret = "ghp_" + "Zx9Kq2Wv7Rt4Yb1Nc8Md5Lf3Hg6Jp0SaQwEr"
    half = 64 * 1024
    output = "first line\n" + "x" * (half - 25) + f" {secret} " + "z" * 3_000_000 + "\nlast line"

    done = hook(tool_use(1, output), "claude-code", "PostToolUse")

    spooled = (home / "spool").read_bytes()
    said = run_json("sql", "SELECT output FROM tool_outputs")[0]["output"]
    assert done.returncode == 0
    assert len(spooled) < 200_000
    assert b"ghp_" not in spooled
    assert said.startswith("first line")
    assert said.endswith("last line")


def test_an_agent_that_takes_its_brief_at_any_step_is_asked_for_it_once(home: Path, mind: Hivemind) -> None:
    mind.remember("Releases are cut on Tuesdays", kind=Kind.CONVENTION)
    step = json.dumps({"taskId": "task-1", "workspaceRoots": [str(Path.cwd())]})
    another = step.replace("task-1", "task-2")

    first, again, other = (hook(payload, "cline", "PreToolUse") for payload in (step, step, another))

    assert b"Tuesdays" in first.stdout
    assert again.stdout == b""
    assert b"Tuesdays" in other.stdout
    assert (home / "briefed").read_text().split() == ["task-1", "task-2"]
