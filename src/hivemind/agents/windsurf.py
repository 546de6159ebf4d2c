"""Windsurf, now Devin Desktop: hooks cannot give the model context, and transcripts are encrypted."""

import json

from hivemind.agents.agent import Agent
from hivemind.agents.config_entries import RULE, Hooks, InstallTarget, JsonEntry, Launch, Lines, OwnFile, Piece
from hivemind.agents.file_changes import Purpose
from hivemind.agents.json_input import Payload, digest, get_object, parse_timestamp, split_names
from hivemind.agents.slash_commands import build_command_files

NAME = "windsurf"
EVENTS = {
    "pre_user_prompt": "UserPromptSubmit",
    **dict.fromkeys(("post_read_code", "post_write_code", "post_run_command", "post_mcp_tool_use"), "PostToolUse"),
    "post_cascade_response": "Stop",
}
UNUSED = split_names(
    "pre_read_code pre_write_code pre_run_command pre_mcp_tool_use post_cascade_response_with_transcript "
    "post_setup_worktree"
)


def _rename_fields(event: str, payload: Payload, at: str) -> Payload:
    info = get_object(payload, "tool_info")
    turn = f"{payload.get('execution_id')} {parse_timestamp(payload.get('timestamp'), at)}"
    fields = {
        # A payload without tool_info is skipped like one without a session id.
        "session_id": payload.get("trajectory_id") if info else "",
        "cwd": info.get("cwd"),
        "model": payload.get("model_name"),
        "turn_id": turn,
        "prompt": info.get("user_prompt"),
        "last_assistant_message": info.get("response"),
        "tool_use_id": f"{turn} {digest(json.dumps(info, sort_keys=True))}",
        "tool_name": event.removeprefix("post_"),
        "tool_input": info,
        # Only MCP calls have a result; commands come without output and exit code.
        "tool_response": info.get("mcp_result"),
    }
    if event == "post_mcp_tool_use":
        tool = f"mcp__{info.get('mcp_server_name')}__{info.get('mcp_tool_name')}"
        fields |= {"tool_name": tool, "tool_input": info.get("mcp_tool_arguments")}
    return fields


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return hooks, the server where Windsurf reads one, and a rule, as no hook can remind the model."""
    entries = {event: {"command": launch.build_hook_command(NAME, event), "show_output": False} for event in EVENTS}
    directory = target.project / ".windsurf" if target.project else target.home / ".codeium" / "windsurf"
    hooks = Hooks(path=directory / "hooks.json", agent=NAME, entries=entries)
    workflows = directory / ("workflows" if target.project else "global_workflows")
    commands = build_command_files(workflows, ["description"])
    if target.project:
        rule = f"---\ntrigger: always_on\n---\n\n{RULE}\n"
        return hooks, OwnFile(path=directory / "rules" / "hivemind.md", text=rule), *commands
    return (
        JsonEntry(path=directory / "mcp_config.json", value=launch.build_server_entry()),
        hooks,
        Lines(path=directory / "memories" / "global_rules.md", text=RULE, purpose=Purpose.INSTRUCTIONS),
        *commands,
    )


# Windsurf shows what a hook prints to the user, never to the model.
AGENT = Agent(
    name=NAME,
    title="Windsurf",
    homes=(".codeium/windsurf",),
    programs=("windsurf",),
    build_pieces=build_pieces,
    event_fields=("agent_action_name",),
    events=EVENTS,
    unused=UNUSED,
    rename_fields=_rename_fields,
)
