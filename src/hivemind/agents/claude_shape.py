"""Hooks in the shape Claude Code gave them, which many took over; what others tell is put into it.

The payload names session, directory and event; tools come as name, input and response; the settings file
lists, for each event, groups of commands.
"""

from pathlib import Path
from typing import Any

from hivemind.agents.base import Payload, Told, answering, clean, moment, named, words
from hivemind.agents.pieces import Hooks, Launch
from hivemind.agents.steps import Reading, Step, called, observed, prompted, replied, started
from hivemind.model.session import Seen, Skipped

UNUSED = words(
    "PreToolUse PostToolBatch Notification MessageDisplay PreCompact SubagentStart PermissionRequest "
    "PermissionDenied UserPromptExpansion StopFailure PreModelSwitch PostModelSwitch Setup TeammateIdle "
    "TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove "
    "InstructionsLoaded CwdChanged FileChanged DirectoryAdded SessionDelete TodoCreated TodoCompleted"
)
"""Events that tell nothing which another event does not tell better."""

ANSWERS = {"SessionStart": "brief", "UserPromptSubmit": "recall"}


def decode(agent: str, event: str, payload: Payload, at: str) -> Told:
    """What a payload says happened."""
    name, session = named(payload, "hook_event_name") or event, named(payload, "session_id")
    step = Step(
        agent=agent,
        session=session,
        at=moment(payload.get("timestamp"), at),
        directory=named(payload, "cwd"),
        model=named(payload, "model"),
        subagent=named(payload, "agent_id"),
    )
    turn, said = named(payload, "prompt_id", "turn_id"), named(payload, "last_assistant_message")
    match name:
        case _ if not session:
            yield Skipped(reason=f"{name} names no session")
        case "SessionStart":
            yield started(step, named(payload, "source"))
        case "UserPromptSubmit":
            yield from prompted(step, turn, named(payload, "prompt"))
        case "PostToolUse" | "PostToolUseFailure":
            failed = name == "PostToolUseFailure"
            tool, call = named(payload, "tool_name"), named(payload, "tool_call_id", "tool_use_id") or step.at
            came_back = payload.get("error" if failed else "tool_response")
            yield from called(step, call, tool, payload.get("tool_input"), came_back, failed=failed)
        case "Stop":
            yield from replied(step, turn, said)
        case "SubagentStop":
            # Claude's own forks, as in /compact, have no type: nobody asked for them.
            if kind := payload.get("agent_type"):
                own_id = f"{step.subagent} {turn or step.at}"
                yield observed(step, Seen.SUBAGENT, own_id, text=clean(said), tool=str(kind))
        case "PostCompact":
            yield observed(step, Seen.COMPACTED, turn or step.at, text=named(payload, "compact_summary"))
        case "SessionEnd":
            yield observed(step, Seen.ENDED, step.at, text=named(payload, "reason"))
        case _ if name not in UNUSED:
            yield Skipped(reason=f"{name} is not an event we know")


def step(reading: Reading, line: Payload, model: str) -> Step:
    """Whose step a line of a transcript tells, in the shape Claude Code gave that."""
    return reading.step.then(
        line.get("timestamp"),
        session=named(line, "sessionId") or reading.step.session,
        directory=named(line, "cwd"),
        model=model,
        subagent=named(line, "agentId") if line.get("isSidechain") else "",
    )


def form(event: str, context: str) -> dict[str, Any]:
    """Context in the one form that all of them take at the events we answer."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


reply = answering(ANSWERS, form)


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
