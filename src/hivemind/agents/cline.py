"""Cline: hooks are programs in a directory, named after their event; sessions are files of messages."""

import json
import os
from pathlib import Path
from typing import Any

from hivemind.agents.base import Payload, Told, blocks, member, moment, text, whole, written
from hivemind.agents.pieces import MARK, Launch, OwnFile, Piece, Place, Server
from hivemind.agents.steps import Step, called, observed, prompted, replied, started
from hivemind.model.session import Seen, Skipped

NAME = "cline"
TITLE = "Cline"
SAME_IDS = True
ANSWERS = {"PreToolUse": "brief"}
"""Cline takes context at tool calls only: the brief goes in with the first of a session."""

EVENTS = "TaskStart TaskResume UserPromptSubmit PreToolUse PostToolUse TaskComplete TaskError TaskCancel"
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
    """What a hook payload says happened."""
    session = str(member(payload, "sessionContext").get("rootSessionId") or payload.get("taskId") or "")
    if not session:
        yield Skipped(reason=f"{event} names no session")
        return
    roots = payload.get("workspaceRoots")
    step = Step(
        agent=NAME,
        session=session,
        at=moment(payload.get("timestamp"), at),
        directory=str(roots[0]) if isinstance(roots, list) and roots else "",
        subagent=str(payload.get("agent_id") or "") if payload.get("parent_agent_id") else "",
    )
    match event:
        case "TaskStart" | "TaskResume":
            yield started(step, "" if event == "TaskStart" else "resume")
        case "UserPromptSubmit":
            said = member(payload, "userPromptSubmit").get("prompt") or payload.get("prompt")
            yield from prompted(step, "", str(said or ""))
        case "PostToolUse":
            yield from _used(step, payload)
        case "TaskComplete":
            yield from replied(step, "", str(member(payload, "turn").get("outputText") or ""))
        case "TaskError" | "TaskCancel" | "SessionShutdown":
            yield observed(step, Seen.ENDED, step.at, text=event)
        case "PreToolUse" | "PreCompact":
            return
        case _:
            yield Skipped(reason=f"{event} is not an event we know")


def _used(step: Step, payload: Payload) -> Told:
    """A call as the command line tells it, or as the editor's extension does, without an id."""
    call, summary = member(payload, "tool_result"), member(payload, "postToolUse")
    own_id, tool = str(call.get("id") or step.at), str(call.get("name") or summary.get("toolName") or "")
    given = call.get("input") or summary.get("parameters")
    came_back = call.get("output") or summary.get("result")
    failed = summary.get("success") is False or _failed(came_back)
    yield from called(step, own_id, tool, given, came_back, failed=failed)


def reply(event: str, context: str) -> str:
    """Context as Cline takes it."""
    return json.dumps({"context": context}) if context and event in ANSWERS else ""


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, for the terminal and each editor with the extension, and a program for each event."""
    programs = tuple(
        OwnFile(
            path=place.root / ".cline" / "hooks" / f"{event}.sh",
            text=f"#!/bin/sh\n# {MARK}.\nexec {launch.command(NAME, event)}\n",
            mark=MARK,
            what="hooks",
        )
        for event in EVENTS.split()
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
    session = str(held.get("sessionId") or path.parent.name)
    # The name is the transcript's own word: it may be no file's name, and must not lead to another folder.
    beside = path.parent / f"{Path(session).name}.json"
    about = whole(beside) if os.path.isfile(beside) else {}
    directory = str(about.get("cwd") or "") if isinstance(about, dict) else ""
    asked: dict[str, dict[str, Any]] = {}
    begun = moment(about.get("started_at"), written(path)) if isinstance(about, dict) else written(path)
    yield started(Step(agent=NAME, session=session, at=begun, directory=directory), "")
    messages = held.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            yield Skipped(reason="a message that is neither the user's nor the assistant's")
            continue
        step = Step(
            agent=NAME,
            session=session,
            at=moment(message.get("ts"), written(path)),
            directory=directory,
            model=str(member(message, "modelInfo").get("id") or ""),
        )
        yield from _message(step, message, asked)


def _message(step: Step, message: dict[str, Any], asked: dict[str, dict[str, Any]]) -> Told:
    said = text([block for block in blocks(message) if block.get("type") == "text"])
    yield from replied(step, "", said) if message["role"] == "assistant" else prompted(step, "", said)
    for block in blocks(message):
        if block.get("type") == "tool_use":
            asked[str(block.get("id"))] = block
        elif block.get("type") == "tool_result":
            own_id, came_back = str(block.get("tool_use_id")), block.get("content")
            call = asked.pop(own_id, {})
            failed = bool(block.get("is_error")) or _failed(came_back)
            tool = str(call.get("name") or block.get("name") or "")
            yield from called(step, own_id, tool, call.get("input"), came_back, failed=failed)


def _failed(came_back: Any) -> bool:
    parts = came_back if isinstance(came_back, list) else [came_back]
    told = [part for part in parts if isinstance(part, dict)]
    return any(part.get("success") is False or part.get("isError") is True for part in told)
