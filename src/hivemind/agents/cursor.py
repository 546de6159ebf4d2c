"""Cursor: hooks and server in files of its own; it runs Claude Code's hooks too. No times in transcripts."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hivemind.agents import claude_shape
from hivemind.agents.base import Payload, Told, answering, blocks, digest, listed, member, named, objects, text, words
from hivemind.agents.pieces import Hooks, Launch, Piece, Place, Server
from hivemind.agents.steps import Step, called, prompted, replied
from hivemind.model import moments
from hivemind.model.session import Skipped
from hivemind.model.untrusted import parse_json

NAME = "cursor"
TITLE = "Cursor"
HOMES: tuple[str, ...] = (".cursor",)
SAME_IDS = False
ANSWERS = {"sessionStart": "brief", "beforeSubmitPrompt": "recall"}
TRANSCRIPTS: tuple[str, ...] = (".cursor/projects/*/agent-transcripts/**/*.jsonl",)
"""One file for each session, and one for each subagent below it."""

EVENTS = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "afterFileEdit": "PostToolUse",
    "afterAgentResponse": "Stop",
    "subagentStop": "SubagentStop",
    "preCompact": "PostCompact",
    "sessionEnd": "SessionEnd",
}
UNUSED = words(
    "afterAgentThought afterShellExecution afterMCPExecution beforeShellExecution beforeMCPExecution "
    "beforeReadFile preToolUse stop subagentStart workspaceOpen beforeTabFileRead afterTabFileEdit"
)
"""What runs in a shell or on a server is told by postToolUse as well, and there with its id."""


def decode(event: str, payload: Payload, at: str) -> Told:
    """What a hook payload says happened, whether Cursor's own hook ran or one meant for Claude Code."""
    name = named(payload, "hook_event_name") or event
    if name in UNUSED:
        return iter(())
    told = {
        **payload,
        "hook_event_name": EVENTS.get(name, name),
        "session_id": payload.get("conversation_id") or payload.get("session_id"),
        "cwd": payload.get("cwd") or next(iter(listed(payload, "workspace_roots")), ""),
        "turn_id": payload.get("generation_id"),
        "tool_response": _plain(payload.get("tool_output")),
        "error": payload.get("error_message"),
        "last_assistant_message": payload.get("text") or payload.get("summary"),
        "agent_id": payload.get("subagent_id"),
        "agent_type": payload.get("subagent_type"),
    }
    if name == "afterFileEdit":
        edits = {"file_path": payload.get("file_path"), "edits": payload.get("edits")}
        own_id = f"{payload.get('generation_id')} {digest(json.dumps(edits, sort_keys=True))}"
        told |= {"tool_name": "Edit", "tool_input": edits, "tool_use_id": own_id}
    return claude_shape.decode(NAME, "", told, at)


def _plain(output: Any) -> Any:
    """A tool's output, which Cursor wraps in text."""
    try:
        return parse_json(output) if isinstance(output, str) and output.startswith(("{", "[")) else output
    except ValueError:
        return output


reply = answering(ANSWERS, lambda _, context: {"additional_context": context})


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """Server and hooks, each in its file."""
    own = place.root / ".cursor"
    hooks = {event: {"command": launch.command(NAME, event), "timeout": 10} for event in EVENTS}
    return (
        Server(path=own / "mcp.json", value=launch.entry()),
        Hooks(path=own / "hooks.json", agent=NAME, entries=hooks, extra={"version": 1}),
    )


def read_transcript(path: Path) -> Told:
    """What a transcript says happened. It keeps order but no times: its steps follow the file's own time."""
    touched = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    inside = path.parent.name == "subagents"
    step = Step(
        agent=NAME,
        session=path.parent.parent.name if inside else path.stem,
        at=moments.written(touched),
        directory=_directory(path),
        subagent=path.stem if inside else "",
    )
    waiting: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(objects(path), 1):
        step = replace(step, at=moments.written(touched + timedelta(milliseconds=number)))
        if isinstance(line, Skipped):
            yield line
        elif line.get("role") in ("user", "assistant"):
            yield from _line(step, number, line, waiting)
        elif line.get("type") != "turn_ended":
            yield Skipped(reason=f"a line of type {line.get('type')!r}", where=f"line {number}")
    yield from _unanswered(step, waiting)


def _line(step: Step, number: int, line: dict[str, Any], waiting: dict[str, dict[str, Any]]) -> Told:
    for index, block in enumerate(blocks(member(line, "message"))):
        match str(block.get("type")).replace("-", "_"):
            case "text":
                says = replied if line["role"] == "assistant" else prompted
                yield from _unanswered(step, waiting)
                yield from says(step, str(number), text(block))
            case "tool_use" | "tool_call":
                waiting[f"{number}.{index}"] = block
            case "tool_result" if waiting:
                call = waiting.pop(own_id := next(iter(waiting)))
                yield from called(step, own_id, str(call.get("name")), call.get("input"), block.get("content"))
            case "thinking" | "redacted_thinking" | "tool_result":
                continue
            case other:
                yield Skipped(reason=f"a block of type {other!r}", where=f"line {number}")


def _unanswered(step: Step, waiting: dict[str, dict[str, Any]]) -> Told:
    """Calls whose results Cursor did not write down, as it mostly does not."""
    for own_id, call in waiting.items():
        yield from called(step, own_id, str(call.get("name")), call.get("input"), None)
    waiting.clear()


def _directory(path: Path) -> str:
    """The project, from a name in which every separator became a dash, if such a directory exists."""
    parents = [parent.parent.name for parent in path.parents if parent.name == "agent-transcripts"]
    return str(_resolved(Path(path.anchor), parents[0].split("-")) or "") if parents else ""


def _resolved(base: Path, words: list[str]) -> Path | None:
    if not words:
        return base
    for count in range(1, len(words) + 1):
        deeper = base / "-".join(words[:count])
        if deeper.is_dir() and (found := _resolved(deeper, words[count:])):
            return found
    return None
