"""Hooks in the shape Claude Code gave them, which Codex, Qwen Code, Gemini and Continue took over.

The payload names session, directory and event; tools come as name, input and response; the settings file
lists, for each event, groups of commands.
"""

import json
from pathlib import Path
from typing import Any

from hivemind.agents.base import Payload, Told, clean, moment, words
from hivemind.agents.pieces import Hooks, Launch
from hivemind.agents.steps import Step, called, observed, prompted, replied, started
from hivemind.model.session import Seen, Skipped

KNOWN_AND_UNUSED = words(
    "PreToolUse PostToolBatch Notification MessageDisplay PreCompact SubagentStart PermissionRequest "
    "PermissionDenied UserPromptExpansion StopFailure PreModelSwitch PostModelSwitch Setup TeammateIdle "
    "TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove "
    "InstructionsLoaded CwdChanged FileChanged DirectoryAdded SessionDelete TodoCreated TodoCompleted"
)
"""Events that tell nothing which another event does not tell better."""

ANSWERS = {"SessionStart": "brief", "UserPromptSubmit": "recall"}


def decode(agent: str, event: str, payload: Payload, at: str) -> Told:
    """What a payload says happened."""
    name = str(payload.get("hook_event_name") or event)
    session = str(payload.get("session_id") or "")
    if not session:
        yield Skipped(reason=f"{name} names no session")
    elif name not in KNOWN_AND_UNUSED:
        step = Step(
            agent=agent,
            session=session,
            at=moment(payload.get("timestamp"), at),
            directory=str(payload.get("cwd") or ""),
            model=str(payload.get("model") or ""),
            subagent=str(payload.get("agent_id") or ""),
        )
        yield from _decoded(name, step, payload)


def _decoded(name: str, step: Step, payload: Payload) -> Told:
    turn = str(payload.get("prompt_id") or payload.get("turn_id") or "")
    said = str(payload.get("last_assistant_message") or "")
    match name:
        case "SessionStart":
            yield started(step, str(payload.get("source") or ""))
        case "UserPromptSubmit":
            yield from prompted(step, turn, str(payload.get("prompt") or ""))
        case "PostToolUse" | "PostToolUseFailure":
            failed = name == "PostToolUseFailure"
            call = str(payload.get("tool_call_id") or payload.get("tool_use_id") or step.at)
            came_back = payload.get("error" if failed else "tool_response")
            tool = str(payload.get("tool_name") or "")
            yield from called(step, call, tool, payload.get("tool_input"), came_back, failed=failed)
        case "Stop":
            yield from replied(step, turn, said)
        case "SubagentStop":
            # Claude's own forks, as in /compact, have no type: nobody asked for them.
            if kind := payload.get("agent_type"):
                own_id = f"{step.subagent} {turn or step.at}"
                yield observed(step, Seen.SUBAGENT, own_id, text=clean(said), tool=str(kind))
        case "PostCompact":
            summary = str(payload.get("compact_summary") or "")
            yield observed(step, Seen.COMPACTED, turn or step.at, text=summary)
        case "SessionEnd":
            yield observed(step, Seen.ENDED, step.at, text=str(payload.get("reason") or ""))
        case _:
            yield Skipped(reason=f"{name} is not an event we know")


def reply(event: str, context: str) -> str:
    """Context in the one form that all of them take at the events we answer."""
    if not context or event not in ANSWERS:
        return ""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}})


def hooks(
    path: Path, agent: str, launch: Launch, events: str, *, second: int = 1, ending: int = 5, **group: Any
) -> Hooks:
    """A group of one command for each event, with the timeout in the unit this agent counts a second in."""
    entries = {}
    for event in events.split():
        timeout = {"SessionStart": 15, "SessionEnd": ending}.get(event, 10) * second
        command = {"type": "command", "command": launch.command(agent, event), "timeout": timeout}
        entries[event] = {**group, "hooks": [command]}
    return Hooks(path=path, agent=agent, entries=entries)
