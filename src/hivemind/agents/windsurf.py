"""Windsurf, now Devin Desktop: its hooks are told all and cannot answer; transcripts are encrypted."""

import json

from hivemind.agents import claude_shape
from hivemind.agents.base import Payload, Told, answering, digest, member, moment, named, unreadable, words
from hivemind.agents.pieces import RULE, Hooks, Launch, Lines, OwnFile, Piece, Place, Server

NAME = "windsurf"
TITLE = "Windsurf"
HOMES: tuple[str, ...] = (".codeium/windsurf",)
SAME_IDS = False
ANSWERS: dict[str, str] = {}
TRANSCRIPTS: tuple[str, ...] = ()

EVENTS = {
    "pre_user_prompt": "UserPromptSubmit",
    "post_read_code": "PostToolUse",
    "post_write_code": "PostToolUse",
    "post_run_command": "PostToolUse",
    "post_mcp_tool_use": "PostToolUse",
    "post_cascade_response": "Stop",
}
UNUSED = words(
    "pre_read_code pre_write_code pre_run_command pre_mcp_tool_use post_cascade_response_with_transcript "
    "post_setup_worktree"
)


def decode(event: str, payload: Payload, at: str) -> Told:
    """What a hook payload says happened."""
    name = named(payload, "agent_action_name") or event
    if name in UNUSED:
        return iter(())
    info = member(payload, "tool_info")
    turn = f"{payload.get('execution_id')} {moment(payload.get('timestamp'), at)}"
    told = {
        # A payload without a step is reported as one without a session is.
        "session_id": payload.get("trajectory_id") if info else "",
        "timestamp": payload.get("timestamp"),
        "cwd": info.get("cwd"),
        "model": payload.get("model_name"),
        "turn_id": turn,
        "prompt": info.get("user_prompt"),
        "last_assistant_message": info.get("response"),
        "tool_use_id": f"{turn} {digest(json.dumps(info, sort_keys=True))}",
        "tool_name": name.removeprefix("post_"),
        "tool_input": info,
        "tool_response": info.get("mcp_result"),
    }
    if name == "post_mcp_tool_use":
        told["tool_name"] = f"mcp__{info.get('mcp_server_name')}__{info.get('mcp_tool_name')}"
        told["tool_input"] = info.get("mcp_tool_arguments")
    return claude_shape.decode(NAME, EVENTS.get(name, name), told, at)


# What a hook prints is shown to the user, never to the model.
reply = answering(ANSWERS, claude_shape.form)


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """Hooks, the server where Windsurf reads one, and a rule, as no hook can remind the model."""
    hooks = {event: {"command": launch.command(NAME, event), "show_output": False} for event in EVENTS}
    own = place.project / ".windsurf" if place.project else place.home / ".codeium" / "windsurf"
    hooked = Hooks(path=own / "hooks.json", agent=NAME, entries=hooks)
    if place.project:
        rule = f"---\ntrigger: always_on\n---\n\n{RULE}\n"
        return hooked, OwnFile(path=own / "rules" / "hivemind.md", text=rule)
    return (
        Server(path=own / "mcp_config.json", value=launch.entry()),
        hooked,
        Lines(path=own / "memories" / "global_rules.md", text=RULE, what="instructions"),
    )


read_transcript = unreadable
