"""Give what Antigravity tells its hooks, and writes into its transcript, the form of Claude Code's hooks.

Its hooks get neither prompts nor the results of calls. Both are in the transcript, which every payload names, so a hook
reads there what is new since the last one. Light imports only: every hook of Antigravity runs this.
"""

from __future__ import annotations

import json
import os
import re

from hivemind.system import open_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

READING_EVENTS = ("PreInvocation", "Stop")
"""Events at which the transcript is read: before each call of the model, and at the end of a turn."""
TAIL_BYTES = 1 << 19
"""Of the transcript that a hook reads. ``learn`` completes a session from all of it."""
MARKER_FILE, MOST_SESSIONS = "antigravity-steps", 50
TIMES = re.compile(r"\A(?:(?:Created|Completed) At: .*\n)*\s*")
"""Antigravity puts two times before the result of a call."""


def find_steps(home: str, event: str, payload: str) -> list[tuple[str, str]]:
    """Return the events of Claude Code that a hook of Antigravity stands for, each with its payload."""
    try:
        fields = json.loads(payload)
    except (ValueError, RecursionError):
        fields = None
    # What cannot be read is passed on, so that ``hivemind doctor`` can show it.
    if not isinstance(fields, dict):
        return [(event, payload)]
    if event not in READING_EVENTS:
        return [(event, json.dumps(rename_fields(fields)))]
    steps = _read_new_steps(home, fields)
    return [(name, json.dumps(step)) for name, step in steps]


def rename_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a payload under the names of Claude Code's; those that have such names stay."""
    places = fields.get("workspacePaths")
    call = fields.get("toolCall")
    names = {"conversationId": "session_id", "modelName": "model"}
    return {
        **{
            names.get(name, name): value for name, value in fields.items() if name not in ("workspacePaths", "toolCall")
        },
        **({"cwd": next(iter(places), "")} if isinstance(places, list) else {}),
        **(_rename_call(call) if isinstance(call, dict) else {}),
        **({"tool_use_id": str(fields["stepIdx"])} if "stepIdx" in fields else {}),
    }


def decode_lines(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the prompts, replies and calls in lines of a transcript, as events of Claude Code with their fields."""
    calls: list[Any] = []
    for line in lines:
        index, kind, text = str(line.get("step_index")), line.get("type"), line.get("content") or ""
        common = {"timestamp": line.get("created_at"), "prompt_id": index}
        if line.get("source") == "USER_EXPLICIT":
            yield "UserPromptSubmit", {**common, "prompt": text}
        elif kind == "PLANNER_RESPONSE":
            if text:
                yield "Stop", {**common, "last_assistant_message": text}
            new_calls = line.get("tool_calls")
            calls = list(new_calls) if isinstance(new_calls, list) else []
        # A line does not name its call: results follow in the order of the calls.
        elif calls and (line.get("source") == "MODEL" or kind == "ERROR_MESSAGE"):
            is_error = line.get("status") == "ERROR" or kind == "ERROR_MESSAGE"
            call = calls.pop(0)
            result = {"error" if is_error else "tool_response": TIMES.sub("", str(text))}
            renamed_call = _rename_call(call) if isinstance(call, dict) else {}
            event = "PostToolUseFailure" if is_error else "PostToolUse"
            yield event, {**common, "tool_use_id": index, **renamed_call, **result}


def _rename_call(call: dict[str, Any]) -> dict[str, Any]:
    tool, arguments = call.get("name"), call.get("args")
    # Every call of a server goes through this tool.
    if tool == "call_mcp_tool" and isinstance(arguments, dict):
        tool, arguments = f"mcp__{arguments.get('ServerName')}__{arguments.get('ToolName')}", arguments.get("Arguments")
    return {"tool_name": tool, "tool_input": arguments}


def _read_new_steps(home: str, fields: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return what the transcript has of this session that no earlier hook has seen."""
    session, path = str(fields.get("conversationId") or ""), str(fields.get("transcriptPath") or "")
    # A payload can name any file; only the transcript of its own session is read.
    if not session or os.path.join(session, ".system_generated") not in path or not path.endswith(".jsonl"):
        return []
    lines = _read_tail(path)
    marks = _read_marks(home)
    last_seen, newest = marks.pop(session, -1), max((line["step_index"] for line in lines), default=-1)
    if newest > last_seen:
        _write_marks(home, {**marks, session: newest})
    common = rename_fields({name: fields.get(name) for name in ("conversationId", "workspacePaths", "modelName")})
    return [(name, {**common, **step}) for name, step in decode_lines(lines) if int(step["prompt_id"]) > last_seen]


def _read_tail(path: str) -> list[dict[str, Any]]:
    """Return the last lines of a transcript; at the first call of the model it may not be there yet."""
    try:
        with open(path, "rb") as file:
            start = max(file.seek(0, os.SEEK_END) - TAIL_BYTES, 0)
            file.seek(start)
            rows = file.read(TAIL_BYTES).split(b"\n")
    except OSError:
        return []
    lines = []
    # The first line may be cut, and the last one may still be written.
    for row in rows[1 if start else 0 :]:
        try:
            line = json.loads(row)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict) and isinstance(line.get("step_index"), int):
            lines.append(line)
    return lines


def _read_marks(home: str) -> dict[str, int]:
    """Return the last step that hooks have seen of each session."""
    try:
        with open(os.path.join(home, MARKER_FILE), encoding="utf-8", errors="replace") as file:
            words = [line.split() for line in file]
    except OSError:
        return {}
    return {pair[0]: int(pair[1]) for pair in words if len(pair) == 2 and pair[1].isdecimal()}


def _write_marks(home: str, marks: dict[str, int]) -> None:
    rows = [f"{session} {index}\n" for session, index in marks.items()][-MOST_SESSIONS:]
    try:
        os.makedirs(home, mode=0o700, exist_ok=True)
        with open(os.path.join(home, MARKER_FILE), "w", encoding="utf-8", opener=open_private) as file:
            file.write("".join(rows))
    except OSError:
        # On a full disk the next hook sees the steps again, which have the same ids.
        return
