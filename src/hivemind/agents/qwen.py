"""Qwen Code: Claude's hooks with times in milliseconds, Gemini's message parts in its transcripts."""

from functools import partial
from pathlib import Path
from typing import Any

from hivemind.agents import claude_shape
from hivemind.agents.base import Told, lines, member, members, named, text
from hivemind.agents.pieces import Launch, Piece, Place, Server
from hivemind.agents.steps import Reading, Step, called, observed, prompted, replied
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


def read_transcript(path: Path) -> Told:
    """What a transcript says happened; a prompt waits until a later line tells the id of its turn."""
    reading = Reading.of(NAME, path)
    waiting: list[dict[str, Any]] = []
    yield from lines(path, partial(_line, reading, waiting))
    yield from _prompts(reading, waiting)


def _line(reading: Reading, waiting: list[dict[str, Any]], line: dict[str, Any]) -> Told:
    kind, system = line.get("type"), member(line, "systemPayload")
    reading.turn = named(member(system, "uiEvent"), "prompt_id") or reading.turn
    step, parts = claude_shape.step(reading, line, named(line, "model")), members(member(line, "message"), "parts")
    if kind == "assistant" or (kind == "system" and reading.turn):
        yield from _prompts(reading, waiting)
    match kind:
        case "user":
            # Notifications come as if a person had said them.
            if line.get("subtype") != "notification":
                yield from _prompts(reading, waiting)
                reading.turn = ""
                waiting.append(line)
        case "assistant":
            yield from replied(step, reading.turn, text(parts))
            calls = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
            reading.asked |= {str(call.get("id")): call for call in calls}
        case "tool_result":
            yield from _result(reading, step, member(line, "toolCallResult"), parts)
        case "system":
            if line.get("subtype") == "chat_compression" and reading.turn:
                yield observed(step, Seen.COMPACTED, str(line.get("uuid")), text=text(system.get("summary")))
        case other:
            yield Skipped(reason=f"a line of type {other!r}")


def _prompts(reading: Reading, waiting: list[dict[str, Any]]) -> Told:
    for line in waiting:
        said = named(member(line, "systemPayload"), "displayText") or text(member(line, "message").get("parts"))
        step = claude_shape.step(reading, line, named(line, "model"))
        yield from prompted(step, reading.turn or str(line.get("uuid")), said)
    waiting.clear()


def _result(reading: Reading, step: Step, shown: dict[str, Any], parts: list[dict[str, Any]]) -> Told:
    for answer in filter(None, (member(part, "functionResponse") for part in parts)):
        call = named(answer, "id") or str(shown.get("callId"))
        asked, response = reading.asked.pop(call, {}), member(answer, "response")
        came_back = {
            "llmContent": response.get("output") or response.get("error"),
            "returnDisplay": shown.get("resultDisplay"),
        }
        tool, failed = named(asked, "name") or named(answer, "name"), shown.get("status") == "error"
        yield from called(step, call, tool, asked.get("args"), came_back, failed=failed)
