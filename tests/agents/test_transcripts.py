"""What agents keep of their sessions, in the shapes they keep it, beside what their hooks told of the same steps."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest

from hivemind.agents.agent import get_agent
from hivemind.model.session import Observation, ObservationKind, SkippedInput
from hivemind.sessions.transcripts import find_transcripts

T = "2026-03-01T10:00:00.000Z"
MS = 1772359200000


def kept(path: Path, *lines: dict[str, Any] | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    return path


def seen_in(name: str, path: Path) -> list[Observation]:
    return [one for one in get_agent(name).read_transcript(path) if isinstance(one, Observation)]


def skipped_in(name: str, path: Path) -> list[SkippedInput]:
    return [one for one in get_agent(name).read_transcript(path) if isinstance(one, SkippedInput)]


def hooked(name: str, event: str, payload: dict[str, Any]) -> set[str]:
    return {
        one.source_id
        for one in get_agent(name).decode(event, payload, "2026-03-01T10:00:00.000000Z")
        if isinstance(one, Observation)
    }


def claude(home: Path) -> Path:
    common = {"sessionId": "s1", "cwd": "/repo", "timestamp": T, "promptId": "p1"}
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
    return kept(
        home / ".claude" / "projects" / "-repo" / "s1.jsonl",
        {"type": "attachment", "attachment": {"type": "prompt_snapshot"}, **common},
        {"type": "user", "message": {"role": "user", "content": "Build it"}, "uuid": "u1", **common},
        {
            "type": "assistant",
            "message": {"id": "m1", "model": "opus", "content": [{"type": "thinking", "thinking": "hm"}, use]},
            **common,
        },
        {
            "type": "user",
            "message": {
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "Exit code 2\nboom", "is_error": True}
                ]
            },
            **common,
        },
        {
            "type": "user",
            "isMeta": True,
            "message": {"content": "<local-command-caveat>x</local-command-caveat>"},
            **common,
        },
        {"type": "assistant", "message": {"id": "m2", "content": [{"type": "text", "text": "It fails."}]}, **common},
    )


def codex(home: Path) -> Path:
    turn = {"turn_id": "p1"}
    command = {
        "type": "CommandExecution",
        "id": "t1",
        "command": ["/bin/bash", "-lc", "make"],
        "aggregated_output": "boom",
        "exit_code": 2,
        "status": "failed",
    }
    payloads = [
        ("session_meta", {"id": "s1", "session_id": "s1", "cwd": "/repo"}),
        ("turn_context", {**turn, "cwd": "/repo", "model": "gpt"}),
        ("response_item", {"type": "message", "role": "developer", "content": []}),
        (
            "event_msg",
            {
                "type": "item_completed",
                **turn,
                "item": {"type": "UserMessage", "id": "i1", "content": [{"type": "text", "text": "Build it"}]},
            },
        ),
        (
            "response_item",
            {"type": "function_call", "name": "exec_command", "arguments": '{"cmd": "make"}', "call_id": "t1"},
        ),
        ("event_msg", {"type": "item_completed", **turn, "item": command}),
        (
            "response_item",
            {"type": "function_call_output", "call_id": "t1", "output": "Process exited with code 2\nOutput:\nboom"},
        ),
        (
            "event_msg",
            {
                "type": "item_completed",
                **turn,
                "item": {"type": "AgentMessage", "id": "i2", "content": [{"type": "Text", "text": "It fails."}]},
            },
        ),
        ("event_msg", {"type": "task_complete", **turn, "last_agent_message": "It fails."}),
    ]
    lines = [{"timestamp": T, "type": kind, "payload": payload} for kind, payload in payloads]
    return kept(home / ".codex" / "sessions" / "2026" / "03" / "01" / "rollout-1-s1.jsonl", *lines)


def gemini(home: Path) -> Path:
    call = {"id": "c1", "name": "run_shell_command", "args": {"command": "make"}, "status": "success", "timestamp": T}
    result = [
        {"functionResponse": {"response": {"output": "Output: boom\nExit Code: 2\n<hook_context>x</hook_context>"}}}
    ]
    message = {"id": "m2", "timestamp": T, "type": "gemini", "content": "Trying."}
    return kept(
        home / ".gemini" / "tmp" / "repo" / "chats" / "session-1.jsonl",
        {"sessionId": "s1", "startTime": T, "kind": "main"},
        {
            "$set": {
                "messages": [
                    {"id": "m0", "type": "user", "content": [{"text": "<session_context>x</session_context>"}]}
                ]
            }
        },
        {
            "id": "m1",
            "timestamp": T,
            "type": "user",
            "content": [{"text": "<hook_context>x</hook_context>\n\nBuild it"}],
        },
        message,
        {**message, "toolCalls": [{**call, "result": result}]},
        {"id": "m9", "timestamp": T, "type": "gemini", "content": "Taken back."},
        {"$rewindTo": "m9"},
        {"id": "m3", "timestamp": T, "type": "gemini", "content": "It fails."},
    )


def copilot(home: Path) -> Path:
    call = {"toolName": "bash", "toolCallId": "c1", "arguments": {"command": "make"}}
    told = {"sessionId": "s1", "cwd": "/repo", "toolName": "bash", "toolArgs": {"command": "make"}, "timestamp": MS + 5}
    result = {"textResultForLlm": "boom\n<shellId: 0 completed with exit code 2>", "resultType": "success"}
    events = [
        ("session.start", {"sessionId": "s1", "context": {"cwd": "/repo"}}),
        (
            "hook.start",
            {
                "hookType": "userPromptSubmitted",
                "input": {"sessionId": "s1", "cwd": "/repo", "prompt": "Build it", "timestamp": MS},
            },
        ),
        ("user.message", {"content": "Build it", "messageId": "m1"}),
        ("system.message", {"content": "You are Copilot"}),
        ("tool.execution_start", call),
        ("hook.start", {"hookType": "postToolUse", "input": {**told, "toolResult": result}}),
        (
            "tool.execution_complete",
            {"toolCallId": "c1", "success": True, "shellExecution": {"exitCode": 2}, "result": {"content": "boom"}},
        ),
        ("assistant.message", {"content": "It fails.", "interactionId": "i1", "messageId": "m2"}),
    ]
    lines = [{"type": kind, "data": data, "id": str(i), "timestamp": T} for i, (kind, data) in enumerate(events)]
    return kept(home / ".copilot" / "session-state" / "s1" / "events.jsonl", *lines)


def qwen(home: Path) -> Path:
    common = {"sessionId": "s1", "cwd": "/repo", "timestamp": T}
    result = {
        "functionResponse": {"id": "t1", "response": {"error": "Command: make\nOutput: boom\nExit Code: 2\nSignal: 0"}}
    }
    return kept(
        home / ".qwen" / "projects" / "-repo" / "chats" / "s1.jsonl",
        {"type": "user", "uuid": "u1", "message": {"parts": [{"text": "Build it"}]}, **common},
        {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": {"prompt_id": "p1"}}, **common},
        {
            "type": "assistant",
            "message": {
                "parts": [{"functionCall": {"id": "t1", "name": "run_shell_command", "args": {"command": "make"}}}]
            },
            **common,
        },
        {
            "type": "tool_result",
            "message": {"parts": [result]},
            "toolCallResult": {"callId": "t1", "status": "error"},
            **common,
        },
        {"type": "user", "subtype": "notification", "message": {"parts": [{"text": "A task is done"}]}, **common},
        {
            "type": "assistant",
            "message": {"parts": [{"text": "thinking", "thought": True}, {"text": "It fails."}]},
            **common,
        },
    )


def cline(home: Path) -> Path:
    own = home / ".cline" / "data" / "sessions" / "s1"
    kept(own / "s1.json", {"cwd": "/repo", "started_at": T})
    failed = [{"query": "make", "result": "boom", "success": False}]
    messages = [
        {
            "role": "user",
            "ts": MS,
            "content": [{"type": "text", "text": '<user_input mode="act">Build it</user_input>'}],
        },
        {
            "role": "assistant",
            "ts": MS,
            "content": [{"type": "tool_use", "id": "t1", "name": "run_commands", "input": {"commands": ["make"]}}],
        },
        {"role": "user", "ts": MS, "content": [{"type": "tool_result", "tool_use_id": "t1", "content": failed}]},
        {
            "role": "user",
            "ts": MS,
            "content": [{"type": "text", "text": '<hook_context source="PostToolUse">x</hook_context>'}],
        },
        {"role": "assistant", "ts": MS, "content": [{"type": "text", "text": "It fails."}]},
    ]
    return kept(own / "s1.messages.json", {"sessionId": "s1", "messages": messages})


def opencode(home: Path) -> Path:
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    state = {
        "status": "completed",
        "input": {"command": "make"},
        "output": "boom",
        "metadata": {"exit": 2},
        "time": {"end": MS},
    }
    user, assistant = {"role": "user", "time": {"created": MS}}, {"role": "assistant", "time": {"created": MS}}
    rows = [
        ("m1", user, "p1", {"type": "text", "text": "Build it"}),
        ("m1", user, "p0", {"type": "text", "text": "our brief", "synthetic": True}),
        ("m2", assistant, "p2", {"type": "tool", "tool": "bash", "callID": "t1", "state": state}),
        ("m2", assistant, "p3", {"type": "step-finish"}),
        ("m2", assistant, "p4", {"type": "text", "text": "It fails."}),
    ]
    database = apsw.Connection(str(path))
    database.execute(
        "CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_created INTEGER);"
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT);"
        "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);"
    )
    database.execute("INSERT INTO session VALUES ('s1', NULL, '/repo', ?)", (MS,))
    for message, told, part, held in rows:
        database.execute("INSERT OR IGNORE INTO message VALUES (?, 's1', ?)", (message, json.dumps(told)))
        database.execute("INSERT INTO part VALUES (?, ?, 's1', ?)", (part, message, json.dumps(held)))
    database.close()
    return path


def antigravity(home: Path) -> Path:
    def step(index: int, source: str, kind: str, content: str, **more: Any) -> dict[str, Any]:
        common = {"step_index": index, "source": source, "type": kind, "status": "DONE", "created_at": T}
        return {**common, "content": content, **more}

    calls = [{"name": "run_command", "args": {"CommandLine": "make", "Cwd": "/repo", "WaitMsBeforeAsync": 500}}]
    metadata = "<ADDITIONAL_METADATA>\nThe time is noon.\n</ADDITIONAL_METADATA>"
    times = "Created At: 2026-03-01T10:00:00Z\nCompleted At: 2026-03-01T10:00:01Z\n\n"
    return kept(
        home / ".gemini/antigravity-cli/brain/s1/.system_generated/logs/transcript_full.jsonl",
        step(0, "USER_EXPLICIT", "USER_INPUT", f"<USER_REQUEST>\nBuild it\n</USER_REQUEST>\n{metadata}"),
        step(1, "SYSTEM", "CHECKPOINT", "x"),
        step(2, "MODEL", "PLANNER_RESPONSE", "", tool_calls=calls),
        step(3, "MODEL", "RUN_COMMAND", f"{times}The command exited with code 2.\nOutput:\nboom\n"),
        step(4, "SYSTEM", "SYSTEM_MESSAGE", "a subagent has gone idle"),
        step(5, "MODEL", "PLANNER_RESPONSE", "It fails.", thinking="hm"),
    )


def cursor(home: Path) -> Path:
    return kept(
        home / ".cursor" / "projects" / "repo" / "agent-transcripts" / "s1" / "s1.jsonl",
        {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nBuild it\n</user_query>"}]}},
        {
            "role": "assistant",
            "message": {"content": [{"type": "tool_use", "name": "Shell", "input": {"command": "make"}}]},
        },
        {"role": "user", "message": {"content": [{"type": "tool_result", "content": "Exit code 2\nboom"}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "It fails."}]}},
        {"type": "turn_ended", "status": "success"},
    )


KEEPERS = {
    "claude-code": claude,
    "codex": codex,
    "gemini": gemini,
    "antigravity": antigravity,
    "copilot": copilot,
    "qwen": qwen,
    "cline": cline,
    "opencode": opencode,
    "cursor": cursor,
}


@pytest.mark.parametrize("name", KEEPERS)
def test_a_session_is_read_in_order_and_completely(name: str, tmp_path: Path) -> None:
    path = KEEPERS[name](tmp_path)

    steps = [one for one in seen_in(name, path) if one.seen is not ObservationKind.STARTED]

    assert [one.seen for one in steps] == [ObservationKind.PROMPT, ObservationKind.TOOL, ObservationKind.REPLY]
    prompt, tool, reply = steps
    assert prompt.text == "Build it"
    assert (tool.command, tool.failed) == ("make", True)
    assert tool.exit_code == (None if name == "cline" else 2)
    assert "boom" in tool.output
    assert reply.text.endswith("It fails.")
    assert {one.session_id for one in steps} == {"s1"}
    assert all(one.at for one in steps)
    assert skipped_in(name, path) == []


@pytest.mark.parametrize("name", KEEPERS)
def test_transcripts_are_found_and_older_ones_left_out(name: str, tmp_path: Path) -> None:
    path = KEEPERS[name](tmp_path)
    os.utime(path, (1_700_000_000, 1_700_000_000))

    found = find_transcripts(tmp_path, [name], None)
    recent = find_transcripts(tmp_path, [name], datetime(2026, 1, 1, tzinfo=UTC))

    assert [one.path for one in found] == [path]
    assert recent == []


S = {"session_id": "s1", "cwd": "/repo"}
FAILED = {"command": "make"}
HOOKS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "claude-code": [
        ("UserPromptSubmit", {**S, "prompt_id": "p1", "prompt": "Build it"}),
        (
            "PostToolUseFailure",
            {**S, "prompt_id": "p1", "tool_name": "Bash", "tool_use_id": "t1", "tool_input": FAILED, "error": "x"},
        ),
        ("Stop", {**S, "prompt_id": "p1", "last_assistant_message": "It fails."}),
    ],
    "codex": [
        ("SessionStart", {**S, "source": "startup"}),
        ("UserPromptSubmit", {**S, "turn_id": "p1", "prompt": "Build it"}),
        (
            "PostToolUse",
            {
                **S,
                "turn_id": "p1",
                "tool_name": "Bash",
                "tool_use_id": "t1",
                "tool_input": FAILED,
                "tool_response": "x",
            },
        ),
        ("Stop", {**S, "turn_id": "p1", "last_assistant_message": "It fails."}),
    ],
    "gemini": [
        ("SessionStart", {**S, "source": "startup"}),
        ("BeforeAgent", {**S, "prompt": "<hook_context>x</hook_context>\n\nBuild it"}),
        (
            "AfterTool",
            {
                **S,
                "tool_name": "run_shell_command",
                "tool_input": FAILED,
                "tool_response": {"llmContent": "Output: boom\nExit Code: 2"},
            },
        ),
        ("AfterAgent", {**S, "prompt": "Build it", "prompt_response": "Trying.\nIt fails."}),
    ],
    "copilot": [
        ("sessionStart", {"sessionId": "s1", "source": "new"}),
        ("userPromptSubmitted", {"sessionId": "s1", "prompt": "Build it", "timestamp": MS}),
        (
            "postToolUse",
            {
                "sessionId": "s1",
                "toolName": "bash",
                "toolArgs": FAILED,
                "timestamp": MS + 5,
                "toolResult": {"textResultForLlm": "x"},
            },
        ),
    ],
    "qwen": [
        ("UserPromptSubmit", {**S, "prompt_id": "p1", "prompt": "Build it"}),
        (
            "PostToolUseFailure",
            {
                **S,
                "tool_name": "run_shell_command",
                "tool_use_id": "z",
                "tool_call_id": "t1",
                "tool_input": FAILED,
                "error": "x",
            },
        ),
        ("Stop", {**S, "prompt_id": "p1", "last_assistant_message": "It fails."}),
    ],
    "cline": [
        ("TaskStart", {"taskId": "c", "sessionContext": {"rootSessionId": "s1"}}),
        (
            "PostToolUse",
            {
                "sessionContext": {"rootSessionId": "s1"},
                "tool_result": {"id": "t1", "name": "run_commands", "input": {}, "output": []},
            },
        ),
        ("TaskComplete", {"sessionContext": {"rootSessionId": "s1"}, "turn": {"outputText": "It fails."}}),
    ],
    "opencode": [
        ("session.created", {"properties": {"sessionID": "s1", "info": {"id": "s1"}}}),
        (
            "chat.message",
            {
                "input": {"sessionID": "s1"},
                "output": {"message": {"id": "m1"}, "parts": [{"type": "text", "text": "Build it"}]},
            },
        ),
        (
            "tool.execute.after",
            {"input": {"sessionID": "s1", "callID": "t1", "tool": "bash", "args": FAILED}, "output": {}},
        ),
        ("experimental.text.complete", {"input": {"sessionID": "s1", "partID": "p4"}, "output": {"text": "It fails."}}),
    ],
}


@pytest.mark.parametrize("name", HOOKS)
def test_a_step_told_by_a_hook_and_kept_in_a_transcript_is_one_step(name: str, tmp_path: Path) -> None:
    kept_ids = {one.source_id for one in seen_in(name, KEEPERS[name](tmp_path))}

    told_ids = [hooked(name, event, payload) for event, payload in HOOKS[name]]

    assert get_agent(name).same_ids
    assert all(ids and ids <= kept_ids for ids in told_ids)


@pytest.mark.parametrize("name", [name for name in KEEPERS if name not in ("cline", "opencode")])
def test_a_broken_line_is_counted_and_the_rest_is_read(name: str, tmp_path: Path) -> None:
    path = KEEPERS[name](tmp_path)
    whole = len(seen_in(name, path))
    first, rest = path.read_text().split("\n", 1)
    path.write_text(f'{first}\n{{"cut off": \n[1, 2]\n{{"type": "brand-new", "data": {{}}, "payload": {{}}}}\n{rest}')

    skipped = skipped_in(name, path)

    assert len(seen_in(name, path)) == whole
    assert len(skipped) == 3
    assert all(one.reason for one in skipped)


@pytest.mark.parametrize("name", ["cline", "opencode"])
def test_a_file_that_is_broken_as_a_whole_is_reported(name: str, tmp_path: Path) -> None:
    path = tmp_path / ("opencode.db" if name == "opencode" else "s1.messages.json")
    path.write_text("nonsense" * 100)

    told = list(get_agent(name).read_transcript(path))

    assert [type(one) for one in told] == [SkippedInput]


def test_two_objects_glued_together_are_two(tmp_path: Path) -> None:
    path = claude(tmp_path)
    before = len(seen_in("claude-code", path))
    path.write_text(path.read_text().replace("}\n{", "}{"))

    assert len(seen_in("claude-code", path)) == before
    assert skipped_in("claude-code", path) == []


def test_a_compaction_is_kept_with_its_summary(tmp_path: Path) -> None:
    line = {"type": "user", "isCompactSummary": True, "promptId": "p9", "sessionId": "s1", "timestamp": T}
    said = "This session is being continued from a previous conversation that ran out.\n\nWe fixed the build."
    path = kept(tmp_path / "s1.jsonl", {**line, "message": {"content": said}})

    (seen,) = seen_in("claude-code", path)

    assert (seen.seen, seen.text) == (ObservationKind.COMPACTED, "We fixed the build.")
    assert {seen.source_id} == hooked("claude-code", "PostCompact", {**S, "prompt_id": "p9", "compact_summary": "x"})


def test_the_oldest_codex_format_is_read_too(tmp_path: Path) -> None:
    payloads = [
        ("session_meta", {"id": "s1", "cwd": "/repo"}),
        ("event_msg", {"type": "task_started", "turn_id": "p1"}),
        ("event_msg", {"type": "user_message", "message": "Build it"}),
        (
            "response_item",
            {
                "type": "function_call",
                "name": "shell",
                "arguments": '{"command": ["bash", "-lc", "make"]}',
                "call_id": "t1",
            },
        ),
        (
            "response_item",
            {
                "type": "function_call_output",
                "call_id": "t1",
                "output": "Wall time: 1 seconds\nProcess exited with code 2\nOutput:\nboom",
            },
        ),
        (
            "event_msg",
            {
                "type": "patch_apply_end",
                "call_id": "t2",
                "changes": {
                    "/repo/b": {"type": "add", "content": "b\n"},
                    "/repo/a": {"type": "delete", "content": "a\n"},
                },
            },
        ),
        ("event_msg", {"type": "agent_message", "message": "Done."}),
    ]
    path = kept(
        tmp_path / "rollout-1.jsonl", *({"timestamp": T, "type": kind, "payload": told} for kind, told in payloads)
    )

    steps = seen_in("codex", path)

    assert [one.seen for one in steps] == [
        ObservationKind.STARTED,
        ObservationKind.PROMPT,
        *[ObservationKind.TOOL] * 3,
        ObservationKind.REPLY,
    ]
    assert (steps[2].command, steps[2].exit_code, steps[2].output) == ("make", 2, "boom")
    assert [one.file for one in steps[3:5]] == ["/repo/a", "/repo/b"]


def test_a_cursor_session_finds_its_project_again(tmp_path: Path) -> None:
    project = tmp_path / "my-project"
    project.mkdir()
    slug = str(project).strip("/").replace("/", "-")
    line = {"role": "user", "message": {"content": "Build it"}}
    path = kept(tmp_path / ".cursor" / "projects" / slug / "agent-transcripts" / "s1" / "s1.jsonl", line)

    (seen,) = seen_in("cursor", path)

    assert seen.directory == str(project)
