"""Cline: hooks are scripts in a directory, named after their event; sessions are JSON files of messages."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from hivemind.agents.agent import REFUSES, Agent
from hivemind.agents.config_entries import MARK, InstallTarget, JsonEntry, Launch, OwnFile, Piece
from hivemind.agents.decoder import TranscriptState
from hivemind.agents.file_changes import Purpose
from hivemind.agents.json_input import (
    Observations,
    Payload,
    extract_text,
    get_blocks,
    get_list,
    get_object,
    get_text,
    read_json_file,
)
from hivemind.model.session import SkippedInput

NAME = "cline"
HOOK_EVENTS = "TaskStart TaskResume UserPromptSubmit PreToolUse PostToolUse TaskComplete TaskError TaskCancel"
EVENTS = {
    "TaskStart": "SessionStart",
    "TaskResume": "SessionStart",
    "TaskComplete": "Stop",
    **dict.fromkeys(("TaskError", "TaskCancel", "SessionShutdown"), "SessionEnd"),
}
EXTENSION = "globalStorage/saoudrizwan.claude-dev"
SETTINGS = "settings/cline_mcp_settings.json"
EDITORS = (".config/Code/User", "Library/Application Support/Code/User", ".config/Cursor/User")


def _rename_fields(event: str, payload: Payload, at: str) -> Payload:
    """Return the fields of a payload of the CLI or of the extension, which gives calls no ids."""
    call = get_object(payload, "tool_result") or get_object(payload, "tool_call")
    summary = get_object(payload, "postToolUse") or get_object(payload, "preToolUse")
    result = call.get("output") or summary.get("result")
    is_error = event == "PostToolUse" and (summary.get("success") is False or _has_error(result))
    failure = {"hook_event_name": "PostToolUseFailure"} if is_error else {}
    return {
        "session_id": get_text(get_object(payload, "sessionContext"), "rootSessionId") or payload.get("taskId"),
        "cwd": next(iter(get_list(payload, "workspaceRoots")), ""),
        "agent_id": payload.get("agent_id") if payload.get("parent_agent_id") else "",
        "source": "resume" if event == "TaskResume" else "",
        "prompt": get_text(get_object(payload, "userPromptSubmit"), "prompt") or payload.get("prompt"),
        "tool_use_id": call.get("id"),
        "tool_name": get_text(call, "name") or summary.get("toolName"),
        "tool_input": call.get("input") or summary.get("parameters"),
        "error" if is_error else "tool_response": result,
        "last_assistant_message": get_object(payload, "turn").get("outputText"),
        "reason": event,
        # An object, with the provider.
        "model": "",
        **failure,
    }


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return the server, for the CLI and each editor with the extension, and a script for each event."""
    programs = tuple(
        OwnFile(
            path=target.root / ".cline" / "hooks" / f"{event}.sh",
            text=f"#!/bin/sh\n# {MARK}.\n{launch.build_hook_command(NAME, event)}\n",
            mark=MARK,
            purpose=Purpose.HOOKS,
        )
        for event in HOOK_EVENTS.split()
    )
    if target.project:
        return programs
    terminal = {"transport": {"type": "stdio", **launch.build_server_entry()}}
    extensions = (target.home / editor / EXTENSION for editor in EDITORS)
    in_editors = (extension / SETTINGS for extension in extensions if extension.is_dir())
    return (
        JsonEntry(path=target.home / ".cline" / "data" / SETTINGS, value=terminal),
        *(JsonEntry(path=path, value=launch.build_server_entry(disabled=False)) for path in in_editors),
        *programs,
    )


def read_transcript(path: Path) -> Observations:
    """Read the observations of a session's messages."""
    transcript = read_json_file(path, list_key="messages")
    if isinstance(transcript, SkippedInput):
        yield transcript
        return
    session = get_text(transcript, "sessionId") or path.parent.name
    # The session id comes from the transcript, so it may be no valid file name and must not lead to another directory.
    metadata_path = path.parent / f"{Path(session).name}.json"
    content = read_json_file(metadata_path) if os.path.isfile(metadata_path) else {}
    metadata = content if isinstance(content, dict) else {}
    state = TranscriptState.start(NAME, path, session)
    state.step = replace(state.step, directory=get_text(metadata, "cwd"))
    yield state.step.with_time(metadata.get("started_at")).observe_start()
    for message in get_list(transcript, "messages"):
        if isinstance(message, dict) and message.get("role") in ("user", "assistant"):
            yield from _decode_message(state, message)
        else:
            yield SkippedInput(reason="a message that is neither the user's nor the assistant's")


def _decode_message(state: TranscriptState, message: dict[str, Any]) -> Observations:
    step = state.step.with_time(message.get("ts"), model=get_text(get_object(message, "modelInfo"), "id"))
    message_text = extract_text([block for block in get_blocks(message) if block.get("type") == "text"])
    observe_text = step.observe_reply if message["role"] == "assistant" else step.observe_prompt
    yield from observe_text("", message_text)
    for own_id, call, block in state.match_results(get_blocks(message)):
        result, tool = block.get("content"), get_text(call, "name") or get_text(block, "name")
        is_error = bool(block.get("is_error")) or _has_error(result)
        yield from step.observe_call(own_id, tool, call.get("input"), result, is_error=is_error)


def _has_error(result: Any) -> bool:
    parts = result if isinstance(result, list) else [result]
    part_objects = [part for part in parts if isinstance(part, dict)]
    return any(part.get("success") is False or part.get("isError") is True for part in part_objects)


AGENT = Agent(
    name=NAME,
    title="Cline",
    homes=(".cline", *(f"{editor}/{EXTENSION}" for editor in EDITORS)),
    programs=("cline",),
    build_pieces=build_pieces,
    # Payloads of the CLI have other names for events than its hooks.
    event_fields=(),
    events=EVENTS,
    rename_fields=_rename_fields,
    format_context=lambda _, context: json.dumps({"context": context}),
    # A refused call ends the run. The editor shows the reason; the CLI writes it to its log only.
    refusals=REFUSES,
    format_refusal=lambda _event, _answer, reason: json.dumps({"cancel": True, "errorMessage": reason}),
    same_ids=True,
    # One file per session.
    transcripts=(
        ".cline/data/sessions/*/*.messages.json",
        *(f"{editor}/{EXTENSION}/tasks/*/api_conversation_history.json" for editor in EDITORS),
    ),
    read_transcript=read_transcript,
)
