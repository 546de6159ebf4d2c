"""One session told twice, by hooks while it ran and by its transcript: what each adds, and what neither repeats."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hivemind import Hivemind, hook_reply
from hivemind.sessions import spool
from hivemind.sessions.redact import redact_payload
from tests.command_line import run_json
from tests.conftest import Open
from tests.sessions.sessions import Told, told

SECRET = "ghp_" + "Zx9Kq2Wv7Rt4Yb1Nc8Md5Lf3Hg6Jp0SaQwEr"


def hooked(home: Path, session: Told) -> None:
    """What Claude Code's hooks tell of a session: its prompts and calls, not what it says between them."""
    called: dict[str, Any] = {}
    for line in session.lines:
        for block in line["message"]["content"]:
            common = {"session_id": session.session, "cwd": str(session.directory)}
            if block["type"] == "text" and line["type"] == "user":
                said = {"prompt": block["text"], "prompt_id": line["promptId"]}
                _leave(home, line, "UserPromptSubmit", common | said)
            elif block["type"] == "tool_use":
                called[block["id"]] = block
            elif block["type"] == "tool_result":
                use = called[block["tool_use_id"]]
                call = {"tool_name": use["name"], "tool_input": use["input"], "tool_use_id": use["id"]}
                event = "PostToolUseFailure" if block["is_error"] else "PostToolUse"
                came_back = {"error": block["content"], "tool_response": line.get("toolUseResult")}
                _leave(home, line, event, common | call | came_back)


def _leave(home: Path, line: dict[str, Any], event: str, payload: dict[str, Any]) -> None:
    at = line["timestamp"].replace("+00:00", ".000000Z")
    clean = redact_payload(json.dumps({"hook_event_name": event, **payload}))
    spool.append(str(home), "claude-code", event, at, clean)


def mended(directory: Path, prompt: str = "Mend the build") -> Told:
    return (
        told(directory, user=directory.parent / "user")
        .asked(prompt)
        .ran("make build", "src/a.c:3: error: the table must be sorted", failed=True)
        .said("The build fails because the generator expects a sorted table; it needs a sort before writing.")
        .edited("src/a.c", "old", "new")
        .ran("make build", "ok")
    )


def test_what_hooks_do_not_tell_is_read_from_the_transcript_before_learning(
    open_mind: Open, make_repository: Any, home: Path, tmp_path: Path
) -> None:
    repository = make_repository("here")
    session = mended(repository)
    session.keep()
    hooked(home, session)
    mind = open_mind(repository)
    before = mind.sessions.show("s1")[1]

    learned = mind.learning.learn("s1")

    after = mind.sessions.show("s1")[1]
    assert [one.text for one in before if one.seen == "reply"] == []
    assert len(after) == len(before) + 1
    assert dict(learned.by_detector)["fixes"] == 1
    assert mind.sessions.import_transcripts(home=tmp_path / "user").new == 0


def test_a_prompt_with_a_secret_is_one_prompt_by_hook_and_transcript(
    open_mind: Open, make_repository: Any, home: Path, tmp_path: Path
) -> None:
    repository = make_repository("here")
    session = mended(repository, f"Push with {SECRET} and mend the build")
    session.keep()
    hooked(home, session)
    mind = open_mind(repository)

    mind.sessions.import_transcripts(home=tmp_path / "user")

    prompts = [one.text for one in mind.sessions.show("s1")[1] if one.seen == "prompt"]
    assert prompts == ["Push with [redacted:github] and mend the build"]


def test_an_exit_code_that_only_the_transcript_has_completes_what_the_hook_told(
    open_mind: Open, make_repository: Any, home: Path, tmp_path: Path
) -> None:
    repository = make_repository("here")
    common = {"session_id": "s9", "turn_id": "t1", "cwd": str(repository), "model": "m"}
    call = {"tool_name": "Bash", "tool_input": {"command": "make"}, "tool_response": "quiet", "tool_use_id": "c1"}
    spool.append(str(home), "codex", "PostToolUse", "2026-03-01T10:00:00.000000Z", json.dumps(common | call))
    lines: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "s9", "cwd": str(repository)}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "exec_command", "call_id": "c1",
                                              "arguments": '{"cmd": "make"}'}},
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c1",
                                              "output": "Process exited with code 2\nOutput:\nquiet"}},
    ]  # fmt: skip
    rollout = tmp_path / "user" / ".codex" / "sessions" / "2026" / "03" / "01" / "rollout-x-s9.jsonl"
    rollout.parent.mkdir(parents=True)
    stamped = [json.dumps({"timestamp": "2026-03-01T10:00:00Z", **line}) for line in lines]
    rollout.write_text("\n".join(stamped) + "\n")
    mind = open_mind(repository)
    before = [one.exit_code for one in mind.sessions.show("s9")[1] if one.command]

    mind.sessions.import_transcripts(["codex"], home=tmp_path / "user")
    mind.sessions.import_transcripts(["codex"], home=tmp_path / "user")
    mind.maintenance.rebuild()

    calls = [one for one in mind.sessions.show("s9")[1] if one.command]
    assert before == [None]
    assert [(one.exit_code, one.failed) for one in calls] == [(2, True)]


def test_a_long_output_is_kept_once_and_small_and_found_by_what_stands_in_it(
    mind: Hivemind, tmp_path: Path, home: Path
) -> None:
    log = "".join(f"{number:05d} compiled something of the usual size\n" for number in range(1200))
    told(tmp_path).ran("make all", f"{log}the last word is quokka").ran("make none", "nothing").keep()
    empty = sum(file.stat().st_size for file in home.iterdir())

    mind.sessions.import_transcripts(home=tmp_path / "user")

    found = run_json("sql", "SELECT command, output FROM tool_outputs WHERE output LIKE '%quokka%'")
    mind.close()
    assert [one["command"] for one in found] == ["make all"]
    assert found[0]["output"].startswith("00000 compiled")
    assert sum(file.stat().st_size for file in home.iterdir()) < empty + len(log)
    assert all(one["is_well"] for one in run_json("doctor") if one["what"] == "log")


def test_a_session_that_came_to_rest_is_learned_from_when_the_next_one_starts(
    make_repository: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = make_repository("here")
    session = mended(repository)
    session.keep()
    hooked(home, session)
    starting = {"session_id": "s2", "cwd": str(repository), "hook_event_name": "SessionStart", "source": "startup"}

    monkeypatch.chdir(repository)

    hook_reply.answer("claude-code", "SessionStart", json.dumps(starting))

    # Learning runs in a process of its own.
    deadline = time.monotonic() + 240
    while "sorted table" not in json.dumps(run_json("review", "--list")):
        assert time.monotonic() < deadline, "nothing was learned within four minutes"
        time.sleep(0.2)
