"""Cursor: hooks, server and a rule in its own files; it also runs Claude Code's hooks. Transcripts have no times."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hivemind.agents.agent import REFUSES, Agent
from hivemind.agents.config_entries import RULE, Hooks, InstallTarget, JsonEntry, Launch, OwnFile, Piece
from hivemind.agents.decoder import StepContext
from hivemind.agents.json_input import (
    Observations,
    Payload,
    digest,
    extract_text,
    get_blocks,
    get_list,
    get_object,
    read_objects,
    split_names,
)
from hivemind.agents.slash_commands import build_command_files
from hivemind.model import timestamps
from hivemind.model.session import SkippedInput
from hivemind.text.untrusted import parse_json

NAME = "cursor"
EVENTS = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "afterFileEdit": "PostToolUse",
    "afterAgentResponse": "Stop",
    "subagentStop": "SubagentStop",
    # Cursor has no hook after compaction.
    "preCompact": "PostCompact",
    "sessionEnd": "SessionEnd",
}
UNUSED = split_names(
    "afterAgentThought afterShellExecution afterMCPExecution beforeShellExecution beforeMCPExecution "
    "beforeReadFile preToolUse stop subagentStart workspaceOpen beforeTabFileRead afterTabFileEdit"
)
"""Shell commands and MCP calls come with postToolUse as well, and only there with an id."""


def _rename_fields(event: str, payload: Payload, at: str) -> Payload:
    fields = {
        "session_id": payload.get("conversation_id") or payload.get("session_id"),
        "cwd": payload.get("cwd") or next(iter(get_list(payload, "workspace_roots")), ""),
        "turn_id": payload.get("generation_id"),
        "tool_response": _parse_output(payload.get("tool_output")),
        "error": payload.get("error_message"),
        "last_assistant_message": payload.get("text") or payload.get("summary"),
        "agent_id": payload.get("subagent_id"),
        "agent_type": payload.get("subagent_type"),
    }
    if event == "afterFileEdit":
        edits = {"file_path": payload.get("file_path"), "edits": payload.get("edits")}
        own_id = f"{payload.get('generation_id')} {digest(json.dumps(edits, sort_keys=True))}"
        fields |= {"tool_name": "Edit", "tool_input": edits, "tool_use_id": own_id}
    return fields


def _parse_output(output: Any) -> Any:
    """Parse a tool's output, which Cursor sends as JSON text."""
    try:
        return parse_json(output) if isinstance(output, str) and output.startswith(("{", "[")) else output
    except ValueError:
        return output


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return server and hooks, and a rule where Cursor reads one, as its editor has dropped the context of hooks."""
    directory = target.root / ".cursor"
    hooks = {
        event: {"command": launch.build_hook_command(NAME, event), "timeout": 10} for event in (*EVENTS, "preToolUse")
    }
    # No memory stands in it: a copy in the repository would outlive what is forgotten or erased.
    rule = f"---\ndescription: Memory of this project\nalwaysApply: true\n---\n\n{RULE}\n"
    rules = (OwnFile(path=directory / "rules" / "hivemind.mdc", text=rule),) if target.project else ()
    return (
        JsonEntry(path=directory / "mcp.json", value=launch.build_server_entry()),
        Hooks(path=directory / "hooks.json", agent=NAME, entries=hooks, extra={"version": 1}),
        *rules,
        *build_command_files(directory / "commands"),
    )


def read_transcript(path: Path) -> Observations:
    """Read the observations of a transcript."""
    # Lines have no times: each gets the file's time plus a millisecond per line, which keeps their order.
    modified_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    is_subagent = path.parent.name == "subagents"
    step = StepContext(
        agent=NAME,
        session=path.parent.parent.name if is_subagent else path.stem,
        at=timestamps.format_timestamp(modified_at),
        directory=_find_directory(path),
        subagent=path.stem if is_subagent else "",
    )
    pending_calls: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(read_objects(path), 1):
        step = replace(step, at=timestamps.format_timestamp(modified_at + timedelta(milliseconds=number)))
        if isinstance(line, SkippedInput):
            yield line
        elif line.get("role") in ("user", "assistant"):
            yield from _decode_line(step, number, line, pending_calls)
        elif line.get("type") != "turn_ended":
            yield SkippedInput(reason=f"a line of type {line.get('type')!r}", where=f"line {number}")
    yield from _flush_calls(step, pending_calls)


def _decode_line(
    step: StepContext, number: int, line: dict[str, Any], pending_calls: dict[str, dict[str, Any]]
) -> Observations:
    for index, block in enumerate(get_blocks(get_object(line, "message"))):
        match str(block.get("type")).replace("-", "_"):
            case "text":
                observe_text = step.observe_reply if line["role"] == "assistant" else step.observe_prompt
                yield from _flush_calls(step, pending_calls)
                yield from observe_text(str(number), extract_text(block))
            case "tool_use" | "tool_call":
                pending_calls[f"{number}.{index}"] = block
            case "tool_result" if pending_calls:
                call = pending_calls.pop(own_id := next(iter(pending_calls)))
                yield from step.observe_call(own_id, str(call.get("name")), call.get("input"), block.get("content"))
            case "thinking" | "redacted_thinking" | "tool_result":
                continue
            case other:
                yield SkippedInput(reason=f"a block of type {other!r}", where=f"line {number}")


def _flush_calls(step: StepContext, pending_calls: dict[str, dict[str, Any]]) -> Observations:
    """Observe pending calls without a result, since Cursor rarely writes results down."""
    for own_id, call in pending_calls.items():
        yield from step.observe_call(own_id, str(call.get("name")), call.get("input"), None)
    pending_calls.clear()


def _find_directory(path: Path) -> str:
    """Find the project's directory by the name of its transcripts, in which every separator became a dash."""
    parents = [parent.parent.name for parent in path.parents if parent.name == "agent-transcripts"]
    return str(_resolve_directory(Path(path.anchor), parents[0].split("-")) or "") if parents else ""


def _resolve_directory(base: Path, name_parts: list[str]) -> Path | None:
    # A directory's own name may have dashes, so every grouping of the parts is tried.
    if not name_parts:
        return base
    for count in range(1, len(name_parts) + 1):
        deeper = base / "-".join(name_parts[:count])
        if deeper.is_dir() and (directory := _resolve_directory(deeper, name_parts[count:])):
            return directory
    return None


# It runs its own hooks and those meant for Claude Code.
AGENT = Agent(
    name=NAME,
    title="Cursor",
    homes=(".cursor",),
    programs=("cursor", "cursor-agent"),
    build_pieces=build_pieces,
    events=EVENTS,
    unused=UNUSED,
    rename_fields=_rename_fields,
    # Its documentation has no such field at beforeSubmitPrompt; the hook runtime in @cursor/sdk 1.0.32 takes it there.
    format_context=lambda _, context: json.dumps({"additional_context": context}),
    # It accepts "ask" before a call and does not ask. The model is told what the person is told, or the other field.
    refusals=REFUSES,
    format_refusal=lambda _, answer, reason: json.dumps(
        {"permission": answer.value, "user_message": reason, "agent_message": reason}
    ),
    # One file per session, and one per subagent below it. They have no ids.
    transcripts=(".cursor/projects/*/agent-transcripts/**/*.jsonl",),
    read_transcript=read_transcript,
)
