"""Gemini CLI: Claude Code's hooks under other names and without ids, transcripts that repeat messages."""

import json
from pathlib import Path
from typing import Any

from hivemind.agents.agent import REFUSES, Agent
from hivemind.agents.config_entries import Hooks, InstallTarget, JsonEntry, Launch, Piece, build_claude_hooks
from hivemind.agents.decoder import StepContext, describe_call
from hivemind.agents.json_input import (
    Observations,
    Payload,
    digest,
    extract_text,
    get_modified_time,
    get_object,
    get_objects,
    get_text,
    read_json_file,
    read_objects,
    split_names,
    strip_injected,
)
from hivemind.agents.slash_commands import TOML, TOML_FIELDS, build_command_files
from hivemind.model.session import SkippedInput
from hivemind.text.untrusted import read_limited

NAME = "gemini"
EVENTS = {"BeforeAgent": "UserPromptSubmit", "AfterTool": "PostToolUse", "AfterAgent": "Stop"}
UNUSED = split_names("BeforeModel AfterModel BeforeToolSelection BeforeTool PreCompress Notification")
"""PreCompress comes before every call of the model, so it does not say that anything was compacted."""

LONGEST_PATH = 32 * 1024
"""Bytes of the file that names a project's directory."""
HOOK_EVENTS = "SessionStart BeforeAgent BeforeTool AfterTool AfterAgent SessionEnd"
TOOLS_BEFORE_CALL = "^(?:replace|write_file|run_shell_command|web_fetch|google_web_search|mcp_.*)$"
"""Tools that change files, run commands or reach out: those that guards concern."""


def _rename_fields(event: str, payload: Payload, at: str) -> Payload:
    if event != "AfterTool":
        return {"last_assistant_message": payload.get("prompt_response")}
    response = payload.get("tool_response")
    is_error = get_object(payload, "tool_response").get("error")
    failure = {"hook_event_name": "PostToolUseFailure", "error": response} if is_error else {}
    # A step without an id is identified by its content.
    call_id = _derive_call_id(str(payload.get("tool_name")), payload.get("tool_input"), response)
    return {"tool_use_id": call_id, **failure}


def build_hooks(path: Path, launch: Launch) -> Hooks:
    """Return the hooks of the settings, or of an extension."""
    return build_claude_hooks(
        path, NAME, launch, HOOK_EVENTS, units_per_second=1000, tools_before_call=TOOLS_BEFORE_CALL, matcher="*"
    )


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return server and hooks, both in settings.json; Gemini runs neither in folders the user does not trust."""
    # Not an extension: settings do the same without the `gemini` command.
    settings = target.root / ".gemini" / "settings.json"
    return (
        JsonEntry(path=settings, value=launch.build_server_entry()),
        build_hooks(settings, launch),
        *build_command_files(settings.parent / "commands", TOML_FIELDS, arguments="{{args}}", file=TOML),
    )


def read_transcript(path: Path) -> Observations:
    """Read the observations of a transcript, with the last version of each message."""
    header, messages, skips = _read_messages(path)
    yield from skips
    first_step = StepContext(
        agent=NAME, session=get_text(header, "sessionId") or path.stem, at=get_modified_time(path)
    ).with_time(header.get("startTime") or header.get("start_time"), directory=_read_directory(path))
    step = first_step
    # A hook gets all replies of a turn as one text, so they are joined here too, to get the same id.
    replies: list[str] = []
    if header:
        yield step.observe_start()
    for message in messages:
        step = first_step.with_time(message.get("timestamp"), model=get_text(message, "model"))
        message_text = extract_text(message.get("content") or message.get("parts") or "")
        match message.get("type") or message.get("role"):
            case "user":
                if strip_injected(message_text):
                    yield from step.observe_reply("", "\n".join(replies))
                    replies.clear()
                    yield from step.observe_prompt("", message_text)
            case "gemini" | "model":
                replies += [message_text] if message_text else []
                for call in get_objects(message, "toolCalls"):
                    yield from _decode_call(step, call)
            case "info" | "error" | "warning":
                continue
            case other:
                yield SkippedInput(reason=f"a message of type {other!r}")
    yield from step.observe_reply("", "\n".join(replies))


def _read_messages(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[SkippedInput]]:
    """Return header, messages and unreadable lines; a log repeats messages that grow, and can rewind to one."""
    header: dict[str, Any] = {}
    messages: dict[str, dict[str, Any]] = {}
    skips: list[SkippedInput] = []
    if path.suffix == ".json":
        content = read_json_file(path)
        if isinstance(content, SkippedInput):
            return {}, [], [content]
        return content, get_objects(content, "messages") or get_objects(content, "history"), []
    for line in read_objects(path):
        if isinstance(line, SkippedInput):
            skips.append(line)
        elif "$rewindTo" in line:
            back_to = str(line["$rewindTo"])
            kept_ids = list(messages)[: list(messages).index(back_to)] if back_to in messages else []
            messages = {key: messages[key] for key in kept_ids}
        elif "$set" in line:
            for message in get_objects(get_object(line, "$set"), "messages"):
                messages[str(message.get("id"))] = message
        elif "id" in line:
            messages[str(line["id"])] = line
        elif "sessionId" in line:
            header = line
        else:
            skips.append(SkippedInput(reason=f"a line with {', '.join(sorted(line))[:80]}"))
    return header, list(messages.values()), skips


def _decode_call(step: StepContext, call: dict[str, Any]) -> Observations:
    responses = [get_object(get_object(part, "functionResponse"), "response") for part in get_objects(call, "result")]
    output = "\n".join(str(response.get("output") or response.get("error") or "") for response in responses)
    result = {"llmContent": output or extract_text(call.get("result")), "returnDisplay": call.get("resultDisplay")}
    tool, arguments = str(call.get("name")), call.get("args")
    own_id, is_error = _derive_call_id(tool, arguments, result), call.get("status") == "error"
    step = step.with_time(call.get("timestamp"))
    yield from step.observe_call(own_id, tool, arguments, result, is_error=is_error)


def _derive_call_id(tool: str, arguments: Any, result: Any) -> str:
    """Derive an id from a call and its output, as hooks get none; equal calls with equal output count as one."""
    output = describe_call(tool, arguments, result)[0]["output"]
    return f"{tool} {digest(json.dumps(arguments, sort_keys=True))} {digest(output)}"


def _read_directory(path: Path) -> str:
    """Return the project's directory, which Gemini writes into a file beside its chats."""
    root = path.parent.parent / ".project_root"
    try:
        return read_limited(root, LONGEST_PATH).decode().strip()
    except (OSError, ValueError):
        return ""


AGENT = Agent(
    name=NAME,
    title="Gemini CLI",
    homes=(".gemini/settings.json", ".gemini/tmp", ".gemini/projects.json"),
    programs=("gemini",),
    build_pieces=build_pieces,
    events=EVENTS,
    unused=UNUSED,
    rename_fields=_rename_fields,
    # Not "ask": with -p Gemini would wait for an answer for ever.
    refusals=REFUSES,
    format_refusal=lambda _, answer, reason: json.dumps({"decision": answer.value, "reason": reason}),
    shows_messages=True,
    same_ids=True,
    # One file per session: a log of events; before 0.40, one JSON object.
    transcripts=(".gemini/tmp/*/chats/session-*.json*",),
    read_transcript=read_transcript,
)
