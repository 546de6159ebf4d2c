"""Copilot CLI: our own hooks file, the server in mcp-config.json, one log of events per session.

Hooks get no id for a call, only a time. The log repeats the payload of each hook with the same time, so the time serves
as the id.
"""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hivemind.agents.agent import ASKS_AND_REFUSES, Agent
from hivemind.agents.config_entries import OR_PASS, Hooks, InstallTarget, JsonEntry, Launch, Piece
from hivemind.agents.decoder import StepContext, TranscriptState
from hivemind.agents.json_input import (
    Observations,
    Payload,
    decode_lines,
    get_object,
    get_text,
    parse_timestamp,
    split_names,
)
from hivemind.agents.slash_commands import SKILL, SKILL_FIELDS, build_command_files
from hivemind.model.session import ObservationKind, SkippedInput

NAME = "copilot"
EVENTS = {
    "sessionStart": "SessionStart",
    "userPromptSubmitted": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "subagentStop": "SubagentStop",
    "agentStop": "Stop",
    "sessionEnd": "SessionEnd",
}
UNUSED = split_names(
    "preToolUse permissionRequest userPromptTransformed subagentStart errorOccurred preCompact notification"
)

LOGGED_HOOKS = split_names("userPromptSubmitted postToolUse postToolUseFailure subagentStop sessionEnd")
"""Hooks whose payload is in the log; it is decoded as the hook decodes it, so that both give the same ids."""
UNUSED_LINES = split_names(
    "hook.end assistant.turn_start assistant.turn_end assistant.reasoning system.message "
    "session.usage_record session.model_change session.shutdown session.info session.warning "
    "session.error session.resume session.title_changed session.compaction_start session.truncation "
    "session.idle session.mode_changed session.context_changed abort subagent.started subagent.selected "
    "subagent.configured subagent.completed subagent.failed skill.invoked"
)


def _rename_fields(event: str, payload: Payload, at: str) -> Payload:
    """Return the fields of a payload in Copilot's spelling or in Claude Code's."""
    stamp, parent = parse_timestamp(payload.get("timestamp"), at), _get_either_case(payload, "parentAgentId")
    result = _get_either_case(payload, "toolResult")
    outcome = _get_either_case(result, "resultType") if isinstance(result, dict) else ""
    is_error = outcome in ("failure", "error", "denied", "rejected")
    name = EVENTS.get(event, event)
    return {
        "hook_event_name": "PostToolUseFailure" if is_error and name == "PostToolUse" else name,
        "session_id": parent or _get_either_case(payload, "sessionId"),
        "agent_id": _get_either_case(payload, "agentId") if parent else "",
        "agent_type": _get_either_case(payload, "agentType"),
        "prompt_id": stamp,
        "tool_call_id": stamp,
        "tool_name": _get_either_case(payload, "toolName"),
        "tool_input": _get_either_case(payload, "toolArgs") or payload.get("tool_input"),
        "tool_response": result,
        "error": result or payload.get("error"),
        "last_assistant_message": get_text(payload, "response", "last_assistant_message"),
    }


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return the server, and hooks in their own file."""
    # Not a plugin: a plugin's server runs in the plugin's directory and cannot know the project.
    server = {"type": "local", **launch.build_server_entry(tools=["*"])}
    timeouts = dict.fromkeys((*EVENTS, "preToolUse", "subagentStart"), 10) | {"sessionStart": 15, "sessionEnd": 5}
    hooks = {
        event: {
            "type": "command",
            "bash": launch.build_hook_command(NAME, event),
            # A quoted program needs the call operator there; Copilot runs this one on Windows alone.
            "powershell": f"& {launch.build_hook_command(NAME, event).removesuffix(OR_PASS)}",
            "timeoutSec": timeout,
        }
        for event, timeout in timeouts.items()
    }
    directory = (target.project / ".github") if target.project else (target.home / ".copilot")
    servers = directory / ("mcp.json" if target.project else "mcp-config.json")
    return (
        JsonEntry(path=servers, value=server),
        Hooks(path=directory / "hooks" / "hivemind.json", agent=NAME, entries=hooks, extra={"version": 1}),
        *build_command_files(directory / "skills", SKILL_FIELDS, file=SKILL),
    )


def read_transcript(path: Path) -> Observations:
    """Read the observations of a session's log."""
    return decode_lines(path, partial(_decode_line, TranscriptState.start(NAME, path, path.parent.name)))


def _decode_line(state: TranscriptState, line: dict[str, Any]) -> Observations:
    kind, data = str(line.get("type")), get_object(line, "data")
    if kind == "session.start":
        session = get_text(data, "sessionId") or state.step.session
        directory = get_text(get_object(data, "context"), "cwd")
        state.step = replace(state.step, session=session, directory=directory)
    step = state.step.with_time(
        line.get("timestamp"), subagent=get_text(line, "agentId"), model=get_text(data, "model")
    )
    match kind:
        case _ if not isinstance(line.get("data"), dict):
            yield SkippedInput(reason=f"a line of type {line.get('type')!r} without data")
        case "session.start":
            yield step.observe_start()
        case "hook.start":
            if (event := str(data.get("hookType"))) in LOGGED_HOOKS:
                yield from _decode_logged_hook(state, step, event, get_object(data, "input"))
        case "user.message":
            content = get_text(data, "content")
            # A hook gets the prompt with the text that other hooks put before it.
            hook_prompt = next(
                (prompt for prompt, times in state.recorded_counts.items() if times and prompt.endswith(content)),
                None,
            )
            if hook_prompt is None:
                yield from step.observe_prompt(get_text(data, "messageId") or str(line.get("id")), content)
            else:
                state.recorded_counts[hook_prompt] -= 1
        case "assistant.message":
            yield from step.observe_reply(get_text(data, "interactionId"), get_text(data, "content"))
        case "tool.execution_start":
            state.open_calls[str(data.get("toolCallId"))] = data
        case "tool.execution_complete":
            yield from _decode_completed_call(state, step, data)
        case "session.compaction_complete":
            yield step.observe(ObservationKind.COMPACTED, str(line.get("id")), text=get_text(data, "summaryContent"))
        case other if other not in UNUSED_LINES:
            yield SkippedInput(reason=f"a line of type {other!r}")


def _decode_logged_hook(state: TranscriptState, step: StepContext, event: str, payload: dict[str, Any]) -> Observations:
    """Decode a logged hook payload; the log leaves out the ids of a subagent and its parent."""
    subagent_fields = {"agentId": step.subagent, "parentAgentId": step.session} if step.subagent else {}
    is_call = "toolName" in payload
    call_key = _make_call_key(payload.get("toolName"), payload.get("toolArgs"))
    state.recorded_counts[call_key if is_call else str(payload.get("prompt"))] += 1
    return AGENT.decode(event, {**payload, **subagent_fields}, step.at)


def _decode_completed_call(state: TranscriptState, step: StepContext, data: dict[str, Any]) -> Observations:
    call_id = str(data.get("toolCallId"))
    call = state.open_calls.pop(call_id, {})
    tool, arguments = get_text(call, "toolName"), call.get("arguments")
    # A call that a logged hook has reported already; calls without a hook are recorded from this line.
    if state.recorded_counts[_make_call_key(tool, arguments)] > 0:
        state.recorded_counts[_make_call_key(tool, arguments)] -= 1
        return
    result = data.get("result") or data.get("error") or {}
    result_fields = result if isinstance(result, dict) else {"content": result}
    details = get_text(result_fields, "detailedContent")
    diff = details if details.lstrip().startswith("diff --git") else ""
    code = get_object(data, "shellExecution").get("exitCode")
    full_result = {**result_fields, "exitCode": code, "metadata": {"diff": diff}}
    yield from step.observe_call(call_id, tool, arguments, full_result, is_error=data.get("success") is False)


def _make_call_key(tool: Any, arguments: Any) -> str:
    return f"{tool} {json.dumps(arguments, sort_keys=True)}"


def _get_either_case(payload: Any, name: str) -> Any:
    """Return a field that may be spelled in camel case or in snake case."""
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    return payload.get(name) or payload.get(snake) or ""


AGENT = Agent(
    name=NAME,
    title="Copilot CLI",
    homes=(".copilot",),
    programs=("copilot",),
    build_pieces=build_pieces,
    event_fields=("hook_event_name", "hookName"),
    events=EVENTS,
    unused=UNUSED,
    rename_fields=_rename_fields,
    # At the top level for every event: Copilot ignores Claude Code's hookSpecificOutput, even before a call.
    format_context=lambda _, context: json.dumps({"additionalContext": context}),
    refusals=ASKS_AND_REFUSES,
    format_refusal=lambda _, answer, reason: json.dumps(
        {"permissionDecision": answer.value, "permissionDecisionReason": reason}
    ),
    same_ids=True,
    # One log per session.
    transcripts=(".copilot/session-state/*/events.jsonl",),
    read_transcript=read_transcript,
)
