"""Cline: hooks are programs in a directory, named after their event; sessions are files of messages."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from hivemind.agents import claude_shape
from hivemind.agents.base import Payload, Told, answering, blocks, listed, member, named, text, whole
from hivemind.agents.pieces import MARK, Launch, OwnFile, Piece, Place, Server
from hivemind.agents.steps import Reading, called, prompted, replied, started
from hivemind.model.session import Skipped

NAME = "cline"
TITLE = "Cline"
SAME_IDS = True
ANSWERS = {"PreToolUse": "brief"}
"""Cline takes context at tool calls only: the brief goes in with the first of a session."""

HOOKED = "TaskStart TaskResume UserPromptSubmit PreToolUse PostToolUse TaskComplete TaskError TaskCancel"
EVENTS = {
    "TaskStart": "SessionStart",
    "TaskResume": "SessionStart",
    "TaskComplete": "Stop",
    **dict.fromkeys(("TaskError", "TaskCancel", "SessionShutdown"), "SessionEnd"),
}
EXTENSION = "globalStorage/saoudrizwan.claude-dev"
SETTINGS = "settings/cline_mcp_settings.json"
EDITORS = (".config/Code/User", "Library/Application Support/Code/User", ".config/Cursor/User")

HOMES: tuple[str, ...] = (".cline", *(f"{editor}/{EXTENSION}" for editor in EDITORS))
TRANSCRIPTS: tuple[str, ...] = (
    ".cline/data/sessions/*/*.messages.json",
    *(f"{editor}/{EXTENSION}/tasks/*/api_conversation_history.json" for editor in EDITORS),
)
"""One file of messages for each session."""


def decode(event: str, payload: Payload, at: str) -> Told:
    """What a hook payload says happened, by the command line or by an extension, which gives a call no id."""
    call, summary = member(payload, "tool_result"), member(payload, "postToolUse")
    came_back = call.get("output") or summary.get("result")
    failed = event == "PostToolUse" and (summary.get("success") is False or _failed(came_back))
    told = {
        "session_id": named(member(payload, "sessionContext"), "rootSessionId") or payload.get("taskId"),
        "timestamp": payload.get("timestamp"),
        "cwd": next(iter(listed(payload, "workspaceRoots")), ""),
        "agent_id": payload.get("agent_id") if payload.get("parent_agent_id") else "",
        "source": "resume" if event == "TaskResume" else "",
        "prompt": named(member(payload, "userPromptSubmit"), "prompt") or payload.get("prompt"),
        "tool_use_id": call.get("id"),
        "tool_name": named(call, "name") or summary.get("toolName"),
        "tool_input": call.get("input") or summary.get("parameters"),
        "error" if failed else "tool_response": came_back,
        "last_assistant_message": member(payload, "turn").get("outputText"),
        "reason": event,
    }
    return claude_shape.decode(NAME, "PostToolUseFailure" if failed else EVENTS.get(event, event), told, at)


reply = answering(ANSWERS, lambda _, context: {"context": context})


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, for the terminal and each editor with the extension, and a program for each event."""
    programs = tuple(
        OwnFile(
            path=place.root / ".cline" / "hooks" / f"{event}.sh",
            text=f"#!/bin/sh\n# {MARK}.\nexec {launch.command(NAME, event)}\n",
            mark=MARK,
            what="hooks",
        )
        for event in HOOKED.split()
    )
    if place.project:
        return programs
    terminal = {"transport": {"type": "stdio", **launch.entry()}}
    extensions = (place.home / editor / EXTENSION for editor in EDITORS)
    in_editors = (extension / SETTINGS for extension in extensions if extension.is_dir())
    return (
        Server(path=place.home / ".cline" / "data" / SETTINGS, value=terminal),
        *(Server(path=path, value=launch.entry(disabled=False)) for path in in_editors),
        *programs,
    )


def read_transcript(path: Path) -> Told:
    """What a session's messages say happened."""
    held = whole(path, lists="messages")
    if isinstance(held, Skipped):
        yield held
        return
    session = named(held, "sessionId") or path.parent.name
    # The name is the transcript's own word: it may be no file's name, and must not lead to another folder.
    beside = path.parent / f"{Path(session).name}.json"
    found = whole(beside) if os.path.isfile(beside) else {}
    about = found if isinstance(found, dict) else {}
    reading = Reading.of(NAME, path, session)
    reading.step = replace(reading.step, directory=named(about, "cwd"))
    yield started(reading.step.then(about.get("started_at")), "")
    for message in listed(held, "messages"):
        if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
            yield from _message(reading, message)
        else:
            yield Skipped(reason="a message that is neither the user's nor the assistant's")


def _message(reading: Reading, message: dict[str, Any]) -> Told:
    step = reading.step.then(message.get("ts"), model=named(member(message, "modelInfo"), "id"))
    said = text([block for block in blocks(message) if block.get("type") == "text"])
    yield from replied(step, "", said) if message["role"] == "assistant" else prompted(step, "", said)
    for own_id, call, block in reading.results(blocks(message)):
        came_back, tool = block.get("content"), named(call, "name") or named(block, "name")
        failed = bool(block.get("is_error")) or _failed(came_back)
        yield from called(step, own_id, tool, call.get("input"), came_back, failed=failed)


def _failed(came_back: Any) -> bool:
    parts = came_back if isinstance(came_back, list) else [came_back]
    told = [part for part in parts if isinstance(part, dict)]
    return any(part.get("success") is False or part.get("isError") is True for part in told)
