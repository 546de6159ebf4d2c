"""Antigravity CLI (``agy``), which follows Gemini CLI: its hooks get steps from its transcript."""

import json
from pathlib import Path

from hivemind.agents.agent import ASKS_AND_REFUSES, Agent
from hivemind.agents.antigravity_steps import decode_lines, rename_fields
from hivemind.agents.config_entries import SERVER, Hooks, InstallTarget, JsonEntry, Launch, Piece
from hivemind.agents.decoder import decode_hook
from hivemind.agents.json_input import (
    Observations,
    get_modified_time,
    get_object,
    get_objects,
    get_text,
    read_objects,
    split_names,
)
from hivemind.agents.slash_commands import SKILL, SKILL_FIELDS, build_command_files
from hivemind.model.guard import GuardAnswer
from hivemind.model.session import SkippedInput

NAME = "antigravity"
LIFECYCLE_EVENTS = ("SessionStart", "PreInvocation", "Stop")
TOOLS_BEFORE_CALL = (
    "run_command|write_to_file|replace_file_content|multi_replace_file_content|code_action"
    "|call_mcp_tool|mcp_tool|read_url_content|search_web"
)
"""Tools that change files, run commands or reach out, which guards concern. Some versions name the kind of step."""
DECISIONS = {GuardAnswer.ASK: "force_ask", GuardAnswer.DENY: "deny"}
"""The decision "ask" would not ask again about a command that the person always allows."""


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return hooks, and for the user the server and commands; a project's folder has no place for a server."""
    directory = target.project / ".agents" if target.project else target.home / ".gemini" / "config"
    handlers = {
        event: {"type": "command", "command": launch.build_hook_command(NAME, event), "timeout": 10}
        for event in (*LIFECYCLE_EVENTS, "PreToolUse")
    }
    # Only the events of tools have groups with a matcher. A file in another form is dropped as a whole.
    group = {"matcher": TOOLS_BEFORE_CALL, "hooks": [handlers["PreToolUse"]]}
    hooks = Hooks(path=directory / "hooks.json", agent=NAME, entries={**handlers, "PreToolUse": group}, key=SERVER)
    if target.project:
        return (hooks,)
    return (
        JsonEntry(path=directory / "mcp_config.json", value=launch.build_server_entry()),
        hooks,
        *build_command_files(directory / "skills", SKILL_FIELDS, file=SKILL),
    )


def _format_context(event: str, context: str) -> str:
    """Return steps to inject: a brief stays in the conversation, everything else is dropped after the turn."""
    step: dict[str, object] = {"ephemeralMessage": context}
    if event == "SessionStart":
        step = {"systemMessage": {"systemMessage": context}}
    return json.dumps({"injectSteps": [step]})


def read_transcript(path: Path) -> Observations:
    """Read the observations of a transcript."""
    at, common = get_modified_time(path), {"session_id": path.parents[2].name, "cwd": _find_directory(path)}
    lines = []
    for line in read_objects(path):
        if isinstance(line, SkippedInput):
            yield line
        elif isinstance(line.get("step_index"), int):
            lines.append(line)
        else:
            yield SkippedInput(reason=f"a line of type {line.get('type')!r} that is no step")
    for event, fields in decode_lines(lines):
        yield from decode_hook(NAME, {"hook_event_name": event, **common, **fields}, at)


def _find_directory(path: Path) -> str:
    """Return the directory of a session's first command, or else of its first file; no line names the project."""
    files: list[str] = []
    for line in read_objects(path):
        for call in get_objects(line, "tool_calls") if isinstance(line, dict) else ():
            arguments = get_object(call, "args")
            if directory := get_text(arguments, "Cwd"):
                return directory
            files.append(get_text(arguments, "TargetFile", "AbsolutePath"))
    return str(Path(next(filter(None, files), "")).parent) if any(files) else ""


AGENT = Agent(
    name=NAME,
    title="Antigravity CLI",
    homes=(".gemini/antigravity-cli",),
    programs=("agy",),
    build_pieces=build_pieces,
    unused=split_names("PreInvocation PostInvocation"),
    rename_fields=lambda event, payload, at: rename_fields(dict(payload)),
    format_context=_format_context,
    refusals=ASKS_AND_REFUSES,
    format_refusal=lambda _, answer, reason: json.dumps({"decision": DECISIONS[answer], "reason": reason}),
    same_ids=True,
    # One file per session, and one per subagent.
    transcripts=(".gemini/antigravity*/brain/*/.system_generated/logs/transcript_full.jsonl",),
    read_transcript=read_transcript,
)
