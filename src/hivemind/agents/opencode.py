"""OpenCode: our plugin runs the hook, the server is in opencode.json, sessions are in a SQLite database."""

import json
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import apsw

from hivemind.agents.agent import REFUSES, Agent
from hivemind.agents.config_entries import MARK, SERVER, InstallTarget, JsonEntry, Launch, OwnFile, Piece
from hivemind.agents.decoder import StepContext
from hivemind.agents.file_changes import Purpose
from hivemind.agents.json_input import (
    Observations,
    Payload,
    extract_text,
    get_object,
    get_objects,
    get_text,
    parse_object,
    parse_timestamp,
    read_json_file,
    split_names,
)
from hivemind.agents.slash_commands import build_command_files
from hivemind.model.session import ObservationKind, SkippedInput

NAME = "opencode"
EVENTS = {
    "session.created": "SessionStart",
    "session.resumed": "SessionStart",
    "chat.message": "UserPromptSubmit",
    "tool.execute.after": "PostToolUse",
    "experimental.text.complete": "Stop",
    "message.part.updated": "PostCompact",
}
UNUSED = split_names(
    "dispose plugin.init shell.env file.edited file.watcher.updated message.part.delta message.updated "
    "session.compacted session.diff session.idle session.status session.updated session.deleted "
    "tool.execute.before experimental.chat.system.transform experimental.session.compacting"
)
STORAGE = "storage"
UNUSED_PARTS = split_names("reasoning step-start step-finish patch snapshot file agent subtask retry")
MessageRow = tuple[str, dict[str, Any], list[dict[str, Any]]]
"""A message's id, the message, and its parts."""


def _rename_fields(event: str, payload: Payload, at: str) -> Payload:
    """Return the fields of a payload of our plugin: a hook's input and output, or an event of the bus."""
    hook_input, hook_output, properties = (get_object(payload, part) for part in ("input", "output", "properties"))
    info, part = get_object(properties, "info"), get_object(properties, "part")
    child = get_text(hook_input, "sessionID") or get_text(properties, "sessionID") or get_text(payload, "sessionID")
    parent = get_text(payload, "parentID") or get_text(info, "parentID")
    is_error = event == "tool.execute.after" and hook_output.get("isError")
    name = EVENTS.get(event, event)
    if is_error:
        name = "PostToolUseFailure"
    elif name == "SessionStart" and parent and child:
        name = "SubagentStart"
    elif name == "PostCompact" and part.get("type") != "compaction":
        name = "MessageDisplay"
    return {
        "hook_event_name": name,
        # Steps of a subagent belong to the session that started it.
        "session_id": child and (parent or child),
        "agent_id": child if parent else "",
        "cwd": get_text(payload, "directory") or info.get("directory"),
        "source": "resume" if event == "session.resumed" else "",
        "turn_id": get_text(hook_input, "partID")
        or get_text(get_object(hook_output, "message"), "id")
        or part.get("id"),
        "prompt": _get_prompt(get_objects(hook_output, "parts")),
        "last_assistant_message": hook_output.get("text"),
        "tool_use_id": hook_input.get("callID"),
        "tool_name": hook_input.get("tool"),
        "tool_input": hook_input.get("args"),
        "error" if is_error else "tool_response": hook_output,
    }


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return the server, in the settings file that exists, and the plugin."""
    settings = target.project or (target.home / ".config" / "opencode")
    plugins = (target.project / ".opencode" if target.project else settings) / "plugins"
    jsonc_path, json_path = settings / "opencode.jsonc", settings / "opencode.json"
    server = {"type": "local", "command": list(launch.server), "enabled": True}
    return (
        JsonEntry(path=jsonc_path if jsonc_path.exists() else json_path, value=server, keys=("mcp", SERVER)),
        OwnFile(path=plugins / "hivemind.js", text=render_plugin(launch), mark=MARK, purpose=Purpose.HOOKS),
        *build_command_files(plugins.parent / "commands", ["description"], arguments="$ARGUMENTS"),
    )


def render_plugin(launch: Launch) -> str:
    """Return the source of our plugin, with the command that runs the hook."""
    source = resources.files("hivemind.agents").joinpath("opencode_plugin.js").read_text("utf-8")
    return source.replace('["hivemind-hook"]', json.dumps(list(launch.hook)), 1)


def read_transcript(path: Path) -> Observations:
    """Read the observations of the database, an exported session or an old session file."""
    if path.suffix == ".db":
        yield from _read_database(path)
        return
    content = read_json_file(path)
    if isinstance(content, SkippedInput):
        yield content
    elif "messages" in content:
        messages = ((get_object(row, "info"), get_objects(row, "parts")) for row in get_objects(content, "messages"))
        rows = ((str(message.get("id")), message, parts) for message, parts in messages)
        yield from _decode_session(get_object(content, "info"), rows)
    elif "id" in content and STORAGE in path.parts:
        yield from _decode_session(content, _read_files(path))
    else:
        yield SkippedInput(reason="not an OpenCode session")


def _read_database(path: Path) -> Observations:
    try:
        # For reading only, because OpenCode may be writing to it.
        database = apsw.Connection(f"file:{path}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        sessions = list(database.execute("SELECT id, parent_id, directory, time_created FROM session ORDER BY id"))
    except apsw.Error as error:
        yield SkippedInput(reason=f"not an OpenCode database: {error}")
        return
    for session, parent, directory, created_at in sessions:
        info = {"id": session, "parentID": parent, "directory": directory, "time": {"created": created_at}}
        yield from _decode_session(info, _read_rows(database, session))
    database.close()


def _read_rows(database: apsw.Connection, session: str) -> Iterator[MessageRow]:
    messages = database.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY id", (session,))
    for message_id, data in messages:
        parts = database.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message_id,))
        yield str(message_id), parse_object(data), [{**parse_object(part), "id": own_id} for own_id, part in parts]


def _read_files(path: Path) -> Iterator[MessageRow]:
    storage = next(parent for parent in path.parents if parent.name == STORAGE)
    for message_path in sorted((storage / "message" / path.stem).glob("*.json")):
        parts = map(read_json_file, sorted((storage / "part" / message_path.stem).glob("*.json")))
        message = read_json_file(message_path)
        if isinstance(message, dict):
            yield message_path.stem, message, [part for part in parts if isinstance(part, dict)]


def _decode_session(info: dict[str, Any], rows: Iterable[MessageRow]) -> Observations:
    child, parent = str(info.get("id")), get_text(info, "parentID")
    step = StepContext(
        agent=NAME,
        session=parent or child,
        at=parse_timestamp(get_object(info, "time").get("created")),
        directory=get_text(info, "directory"),
        subagent=child if parent else "",
    )
    if not parent:
        yield step.observe_start()
    for message_id, message, parts in rows:
        model = get_text(message, "modelID") or get_text(get_object(message, "model"), "modelID")
        step = step.with_time(get_object(message, "time").get("created"), model=model)
        if message.get("role") == "user":
            yield from step.observe_prompt(message_id, _get_prompt(parts))
        for part in parts:
            yield from _decode_part(step, part, is_reply=message.get("role") == "assistant")


def _decode_part(step: StepContext, part: dict[str, Any], *, is_reply: bool) -> Observations:
    match str(part.get("type")):
        case "text":
            if is_reply:
                yield from step.observe_reply(str(part.get("id")), extract_text(part))
        case "tool":
            state = get_object(part, "state")
            if state.get("status") in ("completed", "error"):
                is_error = state["status"] == "error"
                step = step.with_time(get_object(state, "time").get("end"))
                call_id, tool = str(part.get("callID")), str(part.get("tool"))
                result = state.get("error") if is_error else state
                yield from step.observe_call(call_id, tool, state.get("input"), result, is_error=is_error)
        case "compaction":
            yield step.observe(ObservationKind.COMPACTED, str(part.get("id")))
        case other if other not in UNUSED_PARTS:
            yield SkippedInput(reason=f"a part of type {other!r}")


def _get_prompt(parts: list[dict[str, Any]]) -> str:
    prompt = extract_text([part for part in parts if part.get("type") == "text"])
    # `opencode run "a b"` sends the prompt with its quotes.
    is_quoted = len(prompt) > 1 and prompt[0] == prompt[-1] == '"' and '"' not in prompt[1:-1]
    return prompt[1:-1] if is_quoted else prompt


AGENT = Agent(
    name=NAME,
    title="OpenCode",
    homes=(".config/opencode", ".local/share/opencode"),
    programs=("opencode",),
    build_pieces=build_pieces,
    event_fields=(),
    events=EVENTS,
    unused=UNUSED,
    rename_fields=_rename_fields,
    # Our plugin expects plain text.
    format_context=lambda _, context: context,
    # No plain text here: only what was meant as a refusal refuses a call.
    refusals=REFUSES,
    format_refusal=lambda _event, _answer, reason: json.dumps({"refusal": reason}),
    same_ids=True,
    # One database for all sessions; before 1.2, one file per session.
    transcripts=(".local/share/opencode/opencode.db", ".local/share/opencode/storage/session/**/*.json"),
    read_transcript=read_transcript,
)
