"""Windsurf, now Devin Desktop: its hooks are told all and cannot answer; transcripts are encrypted."""

import json

from hivemind.agents.base import Payload, Told, digest, moment, unreadable, words
from hivemind.agents.pieces import RULE, Hooks, Launch, Lines, OwnFile, Piece, Place, Server
from hivemind.agents.steps import Step, called, prompted, replied
from hivemind.model.session import Skipped

NAME = "windsurf"
TITLE = "Windsurf"
HOMES: tuple[str, ...] = (".codeium/windsurf",)
SAME_IDS = False
ANSWERS: dict[str, str] = {}
TRANSCRIPTS: tuple[str, ...] = ()

EVENTS = (
    "pre_user_prompt",
    "post_read_code",
    "post_write_code",
    "post_run_command",
    "post_mcp_tool_use",
    "post_cascade_response",
)
UNUSED = words(
    "pre_read_code pre_write_code pre_run_command pre_mcp_tool_use post_cascade_response_with_transcript "
    "post_setup_worktree"
)


def decode(event: str, payload: Payload, at: str) -> Told:
    """What a hook payload says happened."""
    name = str(payload.get("agent_action_name") or event)
    if name in UNUSED:
        return
    session, told = str(payload.get("trajectory_id") or ""), payload.get("tool_info")
    if not session or not isinstance(told, dict):
        yield Skipped(reason=f"{name} names no session or no step")
        return
    step = Step(
        agent=NAME,
        session=session,
        at=moment(payload.get("timestamp"), at),
        directory=str(told.get("cwd") or ""),
        model=str(payload.get("model_name") or ""),
    )
    turn = f"{payload.get('execution_id')} {step.at}"
    call = f"{turn} {digest(json.dumps(told, sort_keys=True))}"
    match name:
        case "pre_user_prompt":
            yield from prompted(step, turn, str(told.get("user_prompt") or ""))
        case "post_cascade_response":
            yield from replied(step, turn, str(told.get("response") or ""))
        case "post_read_code" | "post_write_code" | "post_run_command":
            yield from called(step, call, name.removeprefix("post_"), told, None)
        case "post_mcp_tool_use":
            tool = f"mcp__{told.get('mcp_server_name')}__{told.get('mcp_tool_name')}"
            yield from called(step, call, tool, told.get("mcp_tool_arguments"), told.get("mcp_result"))
        case _:
            yield Skipped(reason=f"{name} is not an event we know")


def reply(event: str, context: str) -> str:
    """Nothing: what a hook prints is shown to the user, never to the model."""
    return ""


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
