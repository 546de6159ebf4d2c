"""Qwen Code: Claude's hooks with times in milliseconds, Gemini's message parts in its transcripts."""

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hivemind.agents import claude_shape
from hivemind.agents.base import Told, member, members, moment, objects, text, written
from hivemind.agents.pieces import Launch, Piece, Place, Server
from hivemind.agents.steps import Step, called, observed, prompted, replied
from hivemind.model.session import Seen, Skipped

NAME = "qwen"
TITLE = "Qwen Code"
HOMES: tuple[str, ...] = (".qwen",)
SAME_IDS = True
ANSWERS = claude_shape.ANSWERS
TRANSCRIPTS: tuple[str, ...] = (".qwen/projects/*/chats/*.jsonl", ".qwen/projects/*/subagents/**/*.jsonl")
"""One file for each session, and one for each subagent."""

EVENTS = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure SubagentStop Stop SessionEnd"

# Its prompt event comes again, with no prompt, each time the agent continues by itself.
decode = partial(claude_shape.decode, NAME)
reply = claude_shape.reply


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """Server and hooks, both in settings.json."""
    settings = place.root / ".qwen" / "settings.json"
    return (
        Server(path=settings, value=launch.entry()),
        claude_shape.hooks(settings, NAME, launch, EVENTS, second=1000, matcher="*"),
    )


@dataclass(slots=True)
class _Chat:
    """What has been read of a transcript so far."""

    turn: str = ""
    asked: dict[str, dict[str, Any]] = field(default_factory=dict)
    waiting: list[dict[str, Any]] = field(default_factory=list)
    """Prompts, until a later line tells the id of their turn."""


def read_transcript(path: Path) -> Told:
    """What a transcript says happened."""
    chat = _Chat()
    for line in objects(path):
        if isinstance(line, Skipped):
            yield line
            continue
        chat.turn = str(member(member(line, "systemPayload"), "uiEvent").get("prompt_id") or chat.turn)
        if line.get("type") != "system" or chat.turn:
            yield from _line(chat, line, path)
    yield from _prompts(chat, path)


def _line(chat: _Chat, line: dict[str, Any], path: Path) -> Told:
    parts = members(member(line, "message"), "parts")
    match line.get("type"):
        case "user":
            # Notifications come as if a person had said them.
            if line.get("subtype") != "notification":
                yield from _prompts(chat, path)
                chat.turn = ""
                chat.waiting.append(line)
        case "assistant":
            yield from _prompts(chat, path)
            yield from replied(_step(line, path), chat.turn, text(parts))
            calls = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
            chat.asked |= {str(call.get("id")): call for call in calls}
        case "tool_result":
            yield from _result(chat, line, parts, path)
        case "system":
            yield from _prompts(chat, path)
            if line.get("subtype") == "chat_compression":
                summary = text(member(line, "systemPayload").get("summary"))
                yield observed(_step(line, path), Seen.COMPACTED, str(line.get("uuid")), text=summary)
        case other:
            yield Skipped(reason=f"a line of type {other!r}")


def _prompts(chat: _Chat, path: Path) -> Told:
    for line in chat.waiting:
        said = member(line, "systemPayload").get("displayText") or text(member(line, "message").get("parts"))
        yield from prompted(_step(line, path), chat.turn or str(line.get("uuid")), str(said))
    chat.waiting.clear()


def _result(chat: _Chat, line: dict[str, Any], parts: list[dict[str, Any]], path: Path) -> Told:
    shown = member(line, "toolCallResult")
    for part in parts:
        answer = member(part, "functionResponse")
        if not answer:
            continue
        call = str(answer.get("id") or shown.get("callId"))
        asked, response = chat.asked.pop(call, {}), member(answer, "response")
        said = response.get("output") or response.get("error")
        came_back = {"llmContent": said, "returnDisplay": shown.get("resultDisplay")}
        tool = str(asked.get("name") or answer.get("name") or "")
        failed = shown.get("status") == "error"
        yield from called(_step(line, path), call, tool, asked.get("args"), came_back, failed=failed)


def _step(line: dict[str, Any], path: Path) -> Step:
    return Step(
        agent=NAME,
        session=str(line.get("sessionId") or path.stem),
        at=moment(line.get("timestamp"), written(path)),
        directory=str(line.get("cwd") or ""),
        model=str(line.get("model") or ""),
        subagent=str(line.get("agentId") or "") if line.get("isSidechain") else "",
    )
