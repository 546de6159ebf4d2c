"""Read and write hooks in the format of Claude Code, which many agents share; other formats are converted to it.

The payload has session, directory and event; a tool call has name, input and response; the settings file lists groups
of commands for each event.
"""

from pathlib import Path
from typing import Any

from hivemind.agents.base import (
    Observations,
    Payload,
    get_text,
    make_reply,
    parse_timestamp,
    split_names,
    strip_injected,
)
from hivemind.agents.config_entries import Hooks, Launch
from hivemind.agents.observations import (
    StepContext,
    TranscriptState,
    observe,
    observe_call,
    observe_prompt,
    observe_reply,
    observe_start,
)
from hivemind.model.session import ObservationKind, SkippedInput

UNUSED = split_names(
    "PreToolUse PostToolBatch Notification MessageDisplay PreCompact SubagentStart PermissionRequest "
    "PermissionDenied UserPromptExpansion StopFailure PreModelSwitch PostModelSwitch Setup TeammateIdle "
    "TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove "
    "InstructionsLoaded CwdChanged FileChanged DirectoryAdded SessionDelete TodoCreated TodoCompleted"
)
"""Events whose content comes more completely with another event."""

ANSWERS = {"SessionStart": "brief", "UserPromptSubmit": "recall"}


def decode(agent: str, event: str, payload: Payload, at: str) -> Observations:
    """Read the observations of a payload."""
    name, session = get_text(payload, "hook_event_name") or event, get_text(payload, "session_id")
    step = StepContext(
        agent=agent,
        session=session,
        at=parse_timestamp(payload.get("timestamp"), at),
        directory=get_text(payload, "cwd"),
        model=get_text(payload, "model"),
        subagent=get_text(payload, "agent_id"),
    )
    turn, last_message = get_text(payload, "prompt_id", "turn_id"), get_text(payload, "last_assistant_message")
    match name:
        case _ if not session:
            yield SkippedInput(reason=f"{name} has no session id")
        case "SessionStart":
            yield observe_start(step, get_text(payload, "source"))
        case "UserPromptSubmit":
            yield from observe_prompt(step, turn, get_text(payload, "prompt"))
        case "PostToolUse" | "PostToolUseFailure":
            is_error = name == "PostToolUseFailure"
            tool, call_id = get_text(payload, "tool_name"), get_text(payload, "tool_call_id", "tool_use_id") or step.at
            result = payload.get("error" if is_error else "tool_response")
            yield from observe_call(step, call_id, tool, payload.get("tool_input"), result, is_error=is_error)
        case "Stop":
            yield from observe_reply(step, turn, last_message)
        case "SubagentStop":
            # Forks that Claude Code starts by itself, as for /compact, have no type and are not recorded.
            if kind := payload.get("agent_type"):
                own_id = f"{step.subagent} {turn or step.at}"
                yield observe(step, ObservationKind.SUBAGENT, own_id, text=strip_injected(last_message), tool=str(kind))
        case "PostCompact":
            yield observe(step, ObservationKind.COMPACTED, turn or step.at, text=get_text(payload, "compact_summary"))
        case "SessionEnd":
            yield observe(step, ObservationKind.ENDED, step.at, text=get_text(payload, "reason"))
        case _ if name not in UNUSED:
            yield SkippedInput(reason=f"unknown event {name}")


def build_step(state: TranscriptState, line: Payload, model: str) -> StepContext:
    """Return the context of a transcript line in the format of Claude Code."""
    return state.step.with_time(
        line.get("timestamp"),
        session=get_text(line, "sessionId") or state.step.session,
        directory=get_text(line, "cwd"),
        model=model,
        subagent=get_text(line, "agentId") if line.get("isSidechain") else "",
    )


def format_context(event: str, context: str) -> dict[str, Any]:
    """Return the hook output that gives the model this context."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


reply = make_reply(ANSWERS, format_context)


def build_hooks(
    path: Path,
    agent: str,
    launch: Launch,
    events: str,
    *,
    units_per_second: int = 1,
    end_timeout_seconds: int = 5,
    **group: Any,
) -> Hooks:
    """Return hooks that run our command at these events, with timeouts in the agent's unit."""
    entries = {}
    for event in events.split():
        timeout = {"SessionStart": 15, "SessionEnd": end_timeout_seconds}.get(event, 10) * units_per_second
        command = {"type": "command", "command": launch.command(agent, event), "timeout": timeout}
        entries[event] = {**group, "hooks": [command]}
    return Hooks(path=path, agent=agent, entries=entries)
