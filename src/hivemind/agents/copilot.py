"""Copilot CLI: a hooks file of our own, the server in mcp-config.json, a log of events for each session.

Hooks get no id for a call, only a time; but the log repeats what each hook was told, with the same time.
"""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hivemind.agents import claude_shape
from hivemind.agents.base import Payload, Told, answering, lines, member, moment, named, words
from hivemind.agents.pieces import Hooks, Launch, Piece, Place, Server
from hivemind.agents.steps import Reading, Step, called, observed, prompted, replied, started
from hivemind.model.session import Seen, Skipped

NAME = "copilot"
TITLE = "Copilot CLI"
HOMES: tuple[str, ...] = (".copilot",)
SAME_IDS = True
ANSWERS = {"sessionStart": "brief", "userPromptSubmitted": "recall"}
TRANSCRIPTS: tuple[str, ...] = (".copilot/session-state/*/events.jsonl",)
"""One log for each session."""

EVENTS = {
    "sessionStart": "SessionStart",
    "userPromptSubmitted": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "subagentStop": "SubagentStop",
    "agentStop": "Stop",
    "sessionEnd": "SessionEnd",
}
UNUSED = words("preToolUse permissionRequest userPromptTransformed subagentStart errorOccurred preCompact notification")

REPEATED = words("userPromptSubmitted postToolUse postToolUseFailure subagentStop sessionEnd")
"""What the log says hooks were told, and we therefore read as if we had been the hook."""
UNUSED_LINES = words(
    "hook.end assistant.turn_start assistant.turn_end assistant.reasoning system.message "
    "session.usage_record session.model_change session.shutdown session.info session.warning "
    "session.error session.resume session.title_changed session.compaction_start session.truncation "
    "session.idle session.mode_changed session.context_changed abort subagent.started subagent.selected "
    "subagent.configured subagent.completed subagent.failed skill.invoked"
)


def decode(event: str, payload: Payload, at: str) -> Told:
    """What a hook payload says happened, in Copilot's own spelling or in Claude's."""
    name = named(payload, "hook_event_name", "hookName") or event
    if name in UNUSED:
        return iter(())
    stamp, parent = moment(payload.get("timestamp"), at), _either(payload, "parentAgentId")
    result = _either(payload, "toolResult")
    outcome = _either(result, "resultType") if isinstance(result, dict) else ""
    failed = outcome in ("failure", "error", "denied", "rejected")
    name = EVENTS.get(name, name)
    told = {
        **payload,
        "hook_event_name": "PostToolUseFailure" if failed and name == "PostToolUse" else name,
        "session_id": parent or _either(payload, "sessionId"),
        "agent_id": _either(payload, "agentId") if parent else "",
        "agent_type": _either(payload, "agentType"),
        "prompt_id": stamp,
        "tool_call_id": stamp,
        "tool_name": _either(payload, "toolName"),
        "tool_input": _either(payload, "toolArgs") or payload.get("tool_input"),
        "tool_response": result,
        "error": result or payload.get("error"),
        "last_assistant_message": named(payload, "response", "last_assistant_message"),
    }
    return claude_shape.decode(NAME, "", told, at)


# Copilot takes it at the top, and never the way Claude does.
reply = answering(ANSWERS, lambda _, context: {"additionalContext": context})


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, and hooks in a file of their own."""
    server = {"type": "local", **launch.entry(tools=["*"])}
    timeouts = dict.fromkeys(EVENTS, 10) | {"sessionStart": 15, "sessionEnd": 5}
    hooks = {
        event: {"type": "command", "bash": launch.command(NAME, event), "timeoutSec": timeout}
        for event, timeout in timeouts.items()
    }
    own = (place.project / ".github") if place.project else (place.home / ".copilot")
    servers = own / ("mcp.json" if place.project else "mcp-config.json")
    return (
        Server(path=servers, value=server),
        Hooks(path=own / "hooks" / "hivemind.json", agent=NAME, entries=hooks, extra={"version": 1}),
    )


def read_transcript(path: Path) -> Told:
    """What a session's log says happened."""
    return lines(path, partial(_line, Reading.of(NAME, path, path.parent.name)))


def _line(reading: Reading, line: dict[str, Any]) -> Told:
    kind, told = str(line.get("type")), member(line, "data")
    if kind == "session.start":
        session, directory = named(told, "sessionId") or reading.step.session, named(member(told, "context"), "cwd")
        reading.step = replace(reading.step, session=session, directory=directory)
    step = reading.step.then(line.get("timestamp"), subagent=named(line, "agentId"), model=named(told, "model"))
    match kind:
        case _ if not isinstance(line.get("data"), dict):
            yield Skipped(reason=f"a line of type {line.get('type')!r} without data")
        case "session.start":
            yield started(step, "new")
        case "hook.start":
            if (event := str(told.get("hookType"))) in REPEATED:
                yield from _hooked(reading, step, event, member(told, "input"))
        case "user.message":
            said = named(told, "content")
            # A hook is told the prompt with what other hooks put before it.
            hooked = next((prompt for prompt, times in reading.told.items() if times and prompt.endswith(said)), None)
            if hooked is None:
                yield from prompted(step, named(told, "messageId") or str(line.get("id")), said)
            else:
                reading.told[hooked] -= 1
        case "assistant.message":
            yield from replied(step, named(told, "interactionId"), named(told, "content"))
        case "tool.execution_start":
            reading.asked[str(told.get("toolCallId"))] = told
        case "tool.execution_complete":
            yield from _completed(reading, step, told)
        case "session.compaction_complete":
            yield observed(step, Seen.COMPACTED, str(line.get("id")), text=named(told, "summaryContent"))
        case other if other not in UNUSED_LINES:
            yield Skipped(reason=f"a line of type {other!r}")


def _hooked(reading: Reading, step: Step, event: str, payload: dict[str, Any]) -> Told:
    """What a hook was told, as if it had told us; inside a subagent the log leaves out whose that is."""
    inside = {"agentId": step.subagent, "parentAgentId": step.session} if step.subagent else {}
    is_call = "toolName" in payload
    reading.told[_key(payload.get("toolName"), payload.get("toolArgs")) if is_call else str(payload.get("prompt"))] += 1
    return decode(event, {**payload, **inside}, step.at)


def _completed(reading: Reading, step: Step, told: dict[str, Any]) -> Told:
    call = str(told.get("toolCallId"))
    asked = reading.asked.pop(call, {})
    tool, given = named(asked, "toolName"), asked.get("arguments")
    if reading.told[_key(tool, given)] > 0:
        reading.told[_key(tool, given)] -= 1
        return
    result = told.get("result") or told.get("error") or {}
    shown = result if isinstance(result, dict) else {"content": result}
    detailed = named(shown, "detailedContent")
    diff = detailed if detailed.lstrip().startswith("diff --git") else ""
    code = member(told, "shellExecution").get("exitCode")
    came_back = {**shown, "exitCode": code, "metadata": {"diff": diff}}
    yield from called(step, call, tool, given, came_back, failed=told.get("success") is False)


def _key(tool: Any, given: Any) -> str:
    return f"{tool} {json.dumps(given, sort_keys=True)}"


def _either(payload: Any, name: str) -> Any:
    """A field in camel case or in snake case."""
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in name)
    return payload.get(name) or payload.get(snake) or ""
