"""Gemini CLI: Claude's hooks under names of its own and without ids, transcripts that repeat themselves."""

import json
from pathlib import Path
from typing import Any

from hivemind.agents import claude_shape
from hivemind.agents.base import (
    Payload,
    Told,
    answering,
    clean,
    digest,
    member,
    members,
    named,
    objects,
    text,
    whole,
    words,
    written,
)
from hivemind.agents.calls import described
from hivemind.agents.pieces import Launch, Piece, Place, Server
from hivemind.agents.steps import Step, called, prompted, replied, started
from hivemind.model.session import Skipped

NAME = "gemini"
TITLE = "Gemini CLI"
HOMES: tuple[str, ...] = (".gemini/settings.json", ".gemini/tmp", ".gemini/projects.json")
SAME_IDS = True
ANSWERS = {"SessionStart": "brief", "BeforeAgent": "recall"}
TRANSCRIPTS: tuple[str, ...] = (".gemini/tmp/*/chats/session-*.json*",)
"""One file for each session: a log of events, before 0.40 one object."""

EVENTS = {"BeforeAgent": "UserPromptSubmit", "AfterTool": "PostToolUse", "AfterAgent": "Stop"}
UNUSED = words("BeforeModel AfterModel BeforeToolSelection BeforeTool PreCompress Notification")
"""PreCompress comes before every call of the model, compressing or not."""

HOOKED = "SessionStart BeforeAgent AfterTool AfterAgent SessionEnd"


def decode(event: str, payload: Payload, at: str) -> Told:
    """What a hook payload says happened; steps without an id are known by what they said."""
    name = named(payload, "hook_event_name") or event
    if name in UNUSED:
        return iter(())
    told = {**payload, "hook_event_name": EVENTS.get(name, name)}
    if name == "AfterTool":
        response = told.get("tool_response")
        told["tool_use_id"] = _call_id(str(told.get("tool_name")), told.get("tool_input"), response)
        if member(told, "tool_response").get("error"):
            told |= {"hook_event_name": "PostToolUseFailure", "error": response}
    if name == "AfterAgent":
        told["last_assistant_message"] = told.get("prompt_response")
    return claude_shape.decode(NAME, "", told, at)


reply = answering(ANSWERS, claude_shape.form)


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """Server and hooks, both in settings.json; in folders the user does not trust Gemini runs neither."""
    settings = place.root / ".gemini" / "settings.json"
    return (
        Server(path=settings, value=launch.entry()),
        claude_shape.hooks(settings, NAME, launch, HOOKED, second=1000, matcher="*"),
    )


def read_transcript(path: Path) -> Told:
    """What a transcript says happened, each message as it stood last; hooks get a turn's replies as one."""
    header, messages, skipped = _messages(path)
    yield from skipped
    begun = Step(agent=NAME, session=named(header, "sessionId") or path.stem, at=written(path)).then(
        header.get("startTime") or header.get("start_time"), directory=_directory(path)
    )
    step = begun
    said: list[str] = []
    if header:
        yield started(step, "startup")
    for message in messages:
        step = begun.then(message.get("timestamp"), model=named(message, "model"))
        told = text(message.get("content") or message.get("parts") or "")
        match message.get("type") or message.get("role"):
            case "user":
                if clean(told):
                    yield from replied(step, "", "\n".join(said))
                    said.clear()
                    yield from prompted(step, "", told)
            case "gemini" | "model":
                said += [told] if told else []
                for call in members(message, "toolCalls"):
                    yield from _called(step, call)
            case "info" | "error" | "warning":
                continue
            case other:
                yield Skipped(reason=f"a message of type {other!r}")
    yield from replied(step, "", "\n".join(said))


def _messages(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]], list[Skipped]]:
    """Header and messages. A log repeats a message with more in it, and can go back to an earlier one."""
    header: dict[str, Any] = {}
    held: dict[str, dict[str, Any]] = {}
    skipped: list[Skipped] = []
    if path.suffix == ".json":
        found = whole(path)
        if isinstance(found, Skipped):
            return {}, [], [found]
        return found, members(found, "messages") or members(found, "history"), []
    for line in objects(path):
        if isinstance(line, Skipped):
            skipped.append(line)
        elif "$rewindTo" in line:
            back_to = str(line["$rewindTo"])
            kept = list(held)[: list(held).index(back_to)] if back_to in held else []
            held = {key: held[key] for key in kept}
        elif "$set" in line:
            for message in members(member(line, "$set"), "messages"):
                held[str(message.get("id"))] = message
        elif "id" in line:
            held[str(line["id"])] = line
        elif "sessionId" in line:
            header = line
        else:
            skipped.append(Skipped(reason=f"a line with {', '.join(sorted(line))[:80]}"))
    return header, list(held.values()), skipped


def _called(step: Step, call: dict[str, Any]) -> Told:
    responses = [member(member(part, "functionResponse"), "response") for part in members(call, "result")]
    said = "\n".join(str(one.get("output") or one.get("error") or "") for one in responses)
    came_back = {"llmContent": said or text(call.get("result")), "returnDisplay": call.get("resultDisplay")}
    tool, given = str(call.get("name")), call.get("args")
    own_id, failed = _call_id(tool, given, came_back), call.get("status") == "error"
    yield from called(step.then(call.get("timestamp")), own_id, tool, given, came_back, failed=failed)


def _call_id(tool: str, given: Any, came_back: Any) -> str:
    """Hooks get no id for a call: the same call with the same outcome is taken for the same."""
    output = described(tool, given, came_back)[0]["output"]
    return f"{tool} {digest(json.dumps(given, sort_keys=True))} {digest(output)}"


def _directory(path: Path) -> str:
    """The project, which Gemini writes beside its chats."""
    root = path.parent.parent / ".project_root"
    return root.read_text("utf-8").strip() if root.is_file() else ""
