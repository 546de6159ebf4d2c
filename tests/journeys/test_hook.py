"""From an agent's hook to the log, by way of the spool."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hivemind.capture import spool
from tests.doors import residue, run_json


def hook(payload: str | bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    raw = payload.encode() if isinstance(payload, str) else payload
    command = [sys.executable, "-c", "from hivemind.entrypoints.hook import main; main()", *arguments]
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
    stats = run_json("stats")

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
    assert run_json("stats")["observations"] == 0


def test_a_hook_that_cannot_write_says_so_and_still_lets_the_agent_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "file" / "below"))

    done = hook(tool_use(1), "claude-code", "PostToolUse")

    assert (done.returncode, done.stdout) == (0, b"")
    assert b"hivemind-hook:" in done.stderr


def test_secrets_do_not_even_reach_the_spool(home: Path) -> None:
    secret = "ghp_" + "Zx9Kq2Wv7Rt4Yb1Nc8Md5Lf3Hg6Jp0Sa" + "QwEr"

    hook(tool_use(1, f"GITHUB_TOKEN={secret}\nall fine"), "claude-code", "PostToolUse")

    assert residue(home, secret.encode()) == []
    assert residue(home, b"all fine") == ["spool"]


def die_while_taking(home: Path) -> None:
    with spool.taken(str(home)) as lines:
        assert len(lines) == 1
        raise KeyboardInterrupt


def test_what_was_taken_by_a_process_that_died_is_not_lost(home: Path) -> None:
    hook(tool_use(1), "claude-code", "PostToolUse")
    with pytest.raises(KeyboardInterrupt):
        die_while_taking(home)

    assert run_json("stats")["observations"] == 1
