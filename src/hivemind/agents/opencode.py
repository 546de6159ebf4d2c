"""OpenCode: a plugin of ours runs the hook, the server in opencode.json, sessions in a SQLite file."""

import json
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import apsw

from hivemind.agents import claude_shape
from hivemind.agents.base import Payload, Told, member, members, moment, named, text, unpacked, whole, words
from hivemind.agents.pieces import MARK, Launch, OwnFile, Piece, Place, Server
from hivemind.agents.steps import Step, called, observed, prompted, replied, started
from hivemind.model.session import Seen, Skipped

NAME = "opencode"
TITLE = "OpenCode"
HOMES: tuple[str, ...] = (".config/opencode", ".local/share/opencode")
SAME_IDS = True
ANSWERS = {"chat.message": "recall"} | dict.fromkeys(
    ("session.created", "session.resumed", "session.compacted"), "brief"
)
TRANSCRIPTS: tuple[str, ...] = (".local/share/opencode/opencode.db", ".local/share/opencode/storage/session/**/*.json")
"""One database for all sessions; before 1.2, a file for each."""

EVENTS = {
    "session.created": "SessionStart",
    "session.resumed": "SessionStart",
    "chat.message": "UserPromptSubmit",
    "tool.execute.after": "PostToolUse",
    "experimental.text.complete": "Stop",
    "message.part.updated": "PostCompact",
}
UNUSED = words(
    "dispose plugin.init shell.env file.edited file.watcher.updated message.part.delta message.updated "
    "session.compacted session.diff session.idle session.status session.updated session.deleted "
    "tool.execute.before experimental.chat.system.transform experimental.session.compacting"
)
STORAGE = "storage"
UNUSED_PARTS = words("reasoning step-start step-finish patch snapshot file agent subtask retry")
Row = tuple[str, dict[str, Any], list[dict[str, Any]]]
"""A message: its id, itself and its parts."""


def decode(event: str, payload: Payload, at: str) -> Told:
    """What our plugin was told: a hook's input and output, or an event of the bus."""
    name = event.removeprefix("event.")
    given, came_back, properties = (member(payload, part) for part in ("input", "output", "properties"))
    info, part = member(properties, "info"), member(properties, "part")
    child = named(given, "sessionID") or named(properties, "sessionID") or named(payload, "sessionID")
    parent = named(payload, "parentID") or named(info, "parentID")
    is_other_part = name == "message.part.updated" and part.get("type") != "compaction"
    begins_inside = name in ("session.created", "session.resumed") and parent
    if name in UNUSED or is_other_part or (begins_inside and child):
        return iter(())
    failed = name == "tool.execute.after" and came_back.get("isError")
    told = {
        "session_id": child and (parent or child),
        "agent_id": child if parent else "",
        "cwd": named(payload, "directory") or info.get("directory"),
        "source": "resume" if name == "session.resumed" else "",
        "turn_id": named(given, "partID") or named(member(came_back, "message"), "id") or part.get("id"),
        "prompt": _said(members(came_back, "parts")),
        "last_assistant_message": came_back.get("text"),
        "tool_use_id": given.get("callID"),
        "tool_name": given.get("tool"),
        "tool_input": given.get("args"),
        "error" if failed else "tool_response": came_back,
    }
    return claude_shape.decode(NAME, "PostToolUseFailure" if failed else EVENTS.get(name, name), told, at)


def reply(event: str, context: str) -> str:
    """Context as our plugin takes it: the text itself."""
    return context if event in ANSWERS else ""


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, in the settings file there is, and the plugin."""
    settings = place.project or (place.home / ".config" / "opencode")
    plugins = (place.project / ".opencode" if place.project else settings) / "plugins"
    commented, plain = settings / "opencode.jsonc", settings / "opencode.json"
    server = {"type": "local", "command": list(launch.server), "enabled": True}
    return (
        Server(path=commented if commented.exists() else plain, value=server, under="mcp"),
        OwnFile(path=plugins / "hivemind.js", text=plugin(launch), mark=MARK, what="hooks"),
    )


def plugin(launch: Launch) -> str:
    """The module in which OpenCode runs our hook."""
    source = resources.files("hivemind.agents").joinpath("opencode_plugin.js").read_text("utf-8")
    return source.replace('["hivemind-hook"]', json.dumps(list(launch.hook)), 1)


def read_transcript(path: Path) -> Told:
    """What the database, an exported session or an old session file says happened."""
    if path.suffix == ".db":
        yield from _database(path)
        return
    held = whole(path)
    if isinstance(held, Skipped):
        yield held
    elif "messages" in held:
        told = ((member(one, "info"), members(one, "parts")) for one in members(held, "messages"))
        yield from _session(member(held, "info"), ((str(info.get("id")), info, parts) for info, parts in told))
    elif "id" in held and STORAGE in path.parts:
        yield from _session(held, _files(path))
    else:
        yield Skipped(reason="not a session of OpenCode")


def _database(path: Path) -> Told:
    try:
        database = apsw.Connection(f"file:{path}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        sessions = list(database.execute("SELECT id, parent_id, directory, time_created FROM session ORDER BY id"))
    except apsw.Error as error:
        yield Skipped(reason=f"not a database of OpenCode: {error}")
        return
    for session, parent, directory, created in sessions:
        info = {"id": session, "parentID": parent, "directory": directory, "time": {"created": created}}
        yield from _session(info, _rows(database, session))
    database.close()


def _rows(database: apsw.Connection, session: str) -> Iterator[Row]:
    messages = database.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY id", (session,))
    for message, told in messages:
        parts = database.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (message,))
        yield str(message), unpacked(told), [{**unpacked(part), "id": own_id} for own_id, part in parts]


def _files(path: Path) -> Iterator[Row]:
    storage = next(parent for parent in path.parents if parent.name == STORAGE)
    for message in sorted((storage / "message" / path.stem).glob("*.json")):
        parts = [whole(part) for part in sorted((storage / "part" / message.stem).glob("*.json"))]
        told = whole(message)
        if isinstance(told, dict):
            yield message.stem, told, [part for part in parts if isinstance(part, dict)]


def _session(info: dict[str, Any], rows: Iterable[Row]) -> Told:
    child, parent = str(info.get("id")), named(info, "parentID")
    step = Step(
        agent=NAME,
        session=parent or child,
        at=moment(member(info, "time").get("created")),
        directory=named(info, "directory"),
        subagent=child if parent else "",
    )
    if not parent:
        yield started(step, "")
    for message, told, parts in rows:
        model = named(told, "modelID") or named(member(told, "model"), "modelID")
        step = step.then(member(told, "time").get("created"), model=model)
        if told.get("role") == "user":
            yield from prompted(step, message, _said(parts))
        for part in parts:
            yield from _part(step, part, says=told.get("role") == "assistant")


def _part(step: Step, part: dict[str, Any], *, says: bool) -> Told:
    match str(part.get("type")):
        case "text":
            if says:
                yield from replied(step, str(part.get("id")), text(part))
        case "tool":
            state = member(part, "state")
            if state.get("status") in ("completed", "error"):
                failed = state["status"] == "error"
                step = step.then(member(state, "time").get("end"))
                call, tool = str(part.get("callID")), str(part.get("tool"))
                came_back = state.get("error") if failed else state
                yield from called(step, call, tool, state.get("input"), came_back, failed=failed)
        case "compaction":
            yield observed(step, Seen.COMPACTED, str(part.get("id")))
        case other if other not in UNUSED_PARTS:
            yield Skipped(reason=f"a part of type {other!r}")


def _said(parts: list[dict[str, Any]]) -> str:
    said = text([part for part in parts if part.get("type") == "text"])
    # `opencode run "a b"` keeps the quotes.
    quoted = len(said) > 1 and said[0] == said[-1] == '"' and '"' not in said[1:-1]
    return said[1:-1] if quoted else said
