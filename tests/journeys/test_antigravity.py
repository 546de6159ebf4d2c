"""A session of Antigravity: its hooks get what they tell about from the transcript it writes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hivemind.agents.antigravity_steps import MOST_SESSIONS, find_steps
from hivemind.hivemind import Hivemind
from hivemind.model.session import ObservationKind
from tests.journeys.test_first_examples import run_hook, shell

PORT = "The staging proxy listens on port 8443, because 443 is taken by the load balancer"
FIX = "`ECONNREFUSED ledger:9000` went away after make ledger"


@pytest.fixture(autouse=True)
def repository(make_repository: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_repository("project")
    monkeypatch.chdir(root)
    shell(f"hivemind remember '{PORT}' --kind decision; hivemind remember '{FIX}' --kind fix")
    return root


class Session:
    """A session whose transcript grows as Antigravity's does."""

    def __init__(self, directory: Path, session: str = "c1") -> None:
        self.path = directory / "brain" / session / ".system_generated" / "logs" / "transcript_full.jsonl"
        self.path.parent.mkdir(parents=True)
        self.payload: dict[str, Any] = {
            "conversationId": session,
            "workspacePaths": [str(Path.cwd())],
            "transcriptPath": str(self.path),
            "modelName": "auto",
        }
        self.steps = 0

    def write(self, source: str, kind: str, content: str, **more: Any) -> None:
        line = {"step_index": self.steps, "source": source, "type": kind, "status": "DONE", "content": content, **more}
        with self.path.open("a") as file:
            file.write(json.dumps({**line, "created_at": "2026-03-01T10:00:00Z"}) + "\n")
        self.steps += 1

    def ask(self, prompt: str) -> None:
        self.write("USER_EXPLICIT", "USER_INPUT", f"<USER_REQUEST>\n{prompt}\n</USER_REQUEST>")

    def run(self, command: str, result: str) -> None:
        calls = [{"name": "run_command", "args": {"CommandLine": command, "Cwd": str(Path.cwd())}}]
        self.write("MODEL", "PLANNER_RESPONSE", "", tool_calls=calls)
        self.write("MODEL", "RUN_COMMAND", f"Created At: 2026-03-01T10:00:00Z\n\n{result}")

    def hook(self, event: str, **payload: Any) -> str:
        return run_hook("antigravity", event, **self.payload, **payload)


def read_message(reply: str) -> str:
    (step,) = json.loads(reply)["injectSteps"]
    return str(step["ephemeralMessage"])


def test_a_session_is_briefed_answered_and_recorded(tmp_path: Path) -> None:
    session = Session(tmp_path)
    (brief,) = json.loads(Session(tmp_path, "c0").hook("SessionStart"))["injectSteps"]
    # The transcript may lag behind the first call of the model.
    nothing_yet = session.hook("PreInvocation", invocationNum=0)
    session.ask("Which port does the staging proxy listen on?")
    answer = session.hook("PreInvocation", invocationNum=1)
    told_once = session.hook("PreInvocation", invocationNum=2)
    session.run("make start", "The command exited with code 1.\nOutput:\nError: ECONNREFUSED ledger:9000")
    failure = session.hook("PreInvocation", invocationNum=3)
    session.write("MODEL", "PLANNER_RESPONSE", "It is port 8443.")
    end = session.hook("Stop", terminationReason="NO_TOOL_CALL")

    assert PORT in brief["systemMessage"]["systemMessage"]
    assert PORT in read_message(answer)
    assert "make ledger" in read_message(failure)
    assert [nothing_yet, told_once, end] == ["", "", ""]
    with Hivemind.open() as mind:
        _, steps = mind.sessions.show("c1")
    assert [(step.seen, step.exit_code) for step in steps] == [
        (ObservationKind.PROMPT, None),
        (ObservationKind.TOOL, 1),
        (ObservationKind.REPLY, None),
    ]


def test_a_guard_refuses_its_command_and_says_nothing_about_others(tmp_path: Path) -> None:
    memory = json.loads(shell("hivemind remember 'Use pnpm here, never npm' --json"))["id"]
    shell(f"hivemind guard {memory} --command 'npm install' --answer deny --yes")
    session = Session(tmp_path)

    def call(command: str) -> str:
        arguments = {"CommandLine": command, "Cwd": str(Path.cwd())}
        return session.hook("PreToolUse", stepIdx=3, toolCall={"name": "run_command", "args": arguments})

    denied = json.loads(call("npm install left-pad"))

    assert denied["decision"] == "deny"
    assert "Use pnpm here" in denied["reason"]
    # An empty object would be read as a refusal; no output at all is none.
    assert call("pnpm install") == ""


def test_a_call_of_a_server_is_named_after_server_and_tool(tmp_path: Path) -> None:
    session = Session(tmp_path)
    arguments = {"ServerName": "hivemind", "ToolName": "remember", "Arguments": {"text": "x"}}
    session.write("MODEL", "PLANNER_RESPONSE", "", tool_calls=[{"name": "call_mcp_tool", "args": arguments}])
    session.write("MODEL", "MCP_TOOL", "no", status="ERROR")

    ((event, payload),) = find_steps(str(tmp_path), "PreInvocation", json.dumps(session.payload))

    fields = json.loads(payload)
    assert (event, fields["tool_name"], fields["tool_input"], fields["error"]) == (
        "PostToolUseFailure",
        "mcp__hivemind__remember",
        {"text": "x"},
        "no",
    )


def test_only_the_transcript_of_its_own_session_is_read(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.ask("Build it")
    foreign = {**session.payload, "conversationId": "c2"}

    assert find_steps(str(tmp_path), "PreInvocation", json.dumps(foreign)) == []
    assert len(find_steps(str(tmp_path), "PreInvocation", json.dumps(session.payload))) == 1


@pytest.mark.parametrize("text", ["", "c1\n", "c1 x\n", "c1 -4\n", "\0\n"])
def test_a_damaged_record_of_steps_loses_no_step(text: str, tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.ask("Build it")
    (tmp_path / "antigravity-steps").write_text(text)

    assert len(find_steps(str(tmp_path), "Stop", json.dumps(session.payload))) == 1
    assert find_steps(str(tmp_path), "Stop", json.dumps(session.payload)) == []


def test_the_record_of_steps_stays_small(tmp_path: Path) -> None:
    for number in range(MOST_SESSIONS + 5):
        session = Session(tmp_path, f"s{number}")
        session.ask("Build it")
        find_steps(str(tmp_path), "Stop", json.dumps(session.payload))

    assert len((tmp_path / "antigravity-steps").read_text().splitlines()) == MOST_SESSIONS


@pytest.mark.parametrize("payload", ["", "[]", "7", '{"conversationId": 7, "transcriptPath": [], "toolCall": 3}'])
def test_a_payload_of_any_shape_raises_nothing(payload: str, tmp_path: Path) -> None:
    for event in ("SessionStart", "PreInvocation", "PreToolUse", "Stop"):
        assert all(isinstance(text, str) for _, text in find_steps(str(tmp_path), event, payload))
