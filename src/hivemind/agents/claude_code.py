"""Claude Code: hooks in settings.json, the server in .claude.json, a transcript file for each session."""

import re
from functools import partial
from pathlib import Path
from typing import Any

from hivemind.agents import claude_shape
from hivemind.agents.base import Told, blocks, lines, named, text, words
from hivemind.agents.pieces import Launch, Piece, Place, Server
from hivemind.agents.steps import Reading, Step, called, observed, prompted, replied
from hivemind.model.session import Seen, Skipped

NAME = "claude-code"
TITLE = "Claude Code"
HOMES: tuple[str, ...] = (".claude", ".claude.json")
SAME_IDS = True
ANSWERS = claude_shape.ANSWERS
TRANSCRIPTS: tuple[str, ...] = (".claude/projects/*/**/*.jsonl",)
"""One file for each session, and one for each subagent below it."""

EVENTS = "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure SubagentStop PostCompact Stop SessionEnd"

UNUSED = words(
    "attachment queue-operation last-prompt atis-latch tools-used cost-state api-request "
    "api-request-shape api-request-blob progress summary file-history-snapshot mode custom-title ai-title "
    "agent-name tag permission-mode system worktree-state pr-link last-prompt-suggestion"
)
"""Lines that repeat whole prompts or keep the screen's state."""
NOISE = re.compile(r"<(?:command-name|command-message|local-command-stdout|local-command-caveat|bash-stdout)>")
SUMMARY = re.compile(r"\AThis session is being continued from a previous conversation.*?\n\n?", re.DOTALL)


decode = partial(claude_shape.decode, NAME)
reply = claude_shape.reply


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, always loaded so that the model need not search for its tools, and the hooks."""
    servers = place.project / ".mcp.json" if place.project else place.home / ".claude.json"
    return (
        Server(path=servers, value=launch.entry(type="stdio", alwaysLoad=True)),
        # SessionEnd has a second and a half unless the settings give it more.
        claude_shape.hooks(place.root / ".claude" / "settings.json", NAME, launch, EVENTS),
    )


def read_transcript(path: Path) -> Told:
    """What a transcript says happened."""
    return lines(path, partial(_line, Reading.of(NAME, path)))


def _line(reading: Reading, line: dict[str, Any]) -> Told:
    reading.turn = named(line, "promptId") or reading.turn
    kind, message = str(line.get("type")), line.get("message")
    if kind in ("user", "assistant") and isinstance(message, dict):
        step = claude_shape.step(reading, line, named(message, "model"))
        yield from _said(step, reading.turn, line, blocks(message))
        for own_id, call, block in reading.results(blocks(message)):
            # The line has it twice, once for the model and once in full.
            failed = bool(block.get("is_error"))
            came_back = (not failed and line.get("toolUseResult")) or block.get("content")
            yield from called(step, own_id, named(call, "name"), call.get("input"), came_back, failed=failed)
    elif kind not in UNUSED:
        yield Skipped(reason=f"a line of type {kind!r}")


def _said(step: Step, turn: str, line: dict[str, Any], content: list[dict[str, Any]]) -> Told:
    texts = [block for block in content if block.get("type") == "text"]
    said = text(texts)
    if line["type"] == "assistant":
        for block in texts:
            yield from replied(step, turn, text(block))
    elif line.get("isCompactSummary"):
        yield observed(step, Seen.COMPACTED, turn or step.at, text=SUMMARY.sub("", said))
    elif not line.get("isMeta") and not NOISE.match(said):
        yield from prompted(step, named(line, "promptId", "uuid"), said)
