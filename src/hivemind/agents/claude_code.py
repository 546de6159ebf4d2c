"""Claude Code: hooks in settings.json, the server in .claude.json, one transcript file per session."""

import re
from functools import partial
from pathlib import Path
from typing import Any

from hivemind.agents.agent import ASKS_AND_REFUSES, Agent
from hivemind.agents.config_entries import OWN_STATUS_LINE, InstallTarget, JsonEntry, Launch, Piece, build_claude_hooks
from hivemind.agents.decoder import StepContext, TranscriptState
from hivemind.agents.file_changes import Purpose
from hivemind.agents.json_input import Observations, decode_lines, extract_text, get_blocks, get_text, split_names
from hivemind.agents.slash_commands import CLAUDE_FIELDS, build_command_files
from hivemind.model.session import ObservationKind, SkippedInput
from hivemind.system import join_command

NAME = "claude-code"
EVENTS = (
    "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStart SubagentStop PostCompact "
    "Stop SessionEnd"
)

TOOLS_BEFORE_CALL = "^(?:Edit|MultiEdit|Write|NotebookEdit|Bash|WebFetch|WebSearch|mcp__.*)$"
"""Tools that change files, run commands or reach out; before any other there is nothing to say."""

UNUSED = split_names(
    "attachment queue-operation last-prompt atis-latch tools-used cost-state api-request "
    "api-request-shape api-request-blob progress summary file-history-snapshot mode custom-title ai-title "
    "agent-name tag permission-mode system worktree-state pr-link last-prompt-suggestion"
)
"""Types of lines that repeat whole prompts or keep the state of the screen."""
COMMAND_OUTPUT = re.compile(r"<(?:command-name|command-message|local-command-stdout|local-command-caveat|bash-stdout)>")
SUMMARY_OPENING = re.compile(r"\AThis session is being continued from a previous conversation.*?\n\n?", re.DOTALL)


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return the server, always loaded so that the model need not search for its tools, the hooks and the commands."""
    # Not a plugin: that needs the `claude` command, renames our tools, and gives SessionEnd 1.5 seconds at most.
    servers = target.project / ".mcp.json" if target.project else target.home / ".claude.json"
    settings = target.root / ".claude" / "settings.json"
    line = {"type": "command", "command": join_command(launch.status_line)}
    status_line = JsonEntry(
        path=settings, keys=("statusLine",), value=line, own_command=OWN_STATUS_LINE, purpose=Purpose.STATUS_LINE
    )
    return (
        JsonEntry(path=servers, value=launch.build_server_entry(type="stdio", alwaysLoad=True)),
        # SessionEnd hooks get 1.5 seconds unless the settings give a timeout.
        build_claude_hooks(settings, NAME, launch, EVENTS, tools_before_call=TOOLS_BEFORE_CALL),
        # Not in a project: its settings override the user's own status line.
        *([] if target.project else [status_line]),
        *build_command_files(target.root / ".claude" / "commands", CLAUDE_FIELDS, arguments="$ARGUMENTS"),
    )


def read_transcript(path: Path) -> Observations:
    """Read the observations of a transcript."""
    return decode_lines(path, partial(_decode_line, TranscriptState.start(NAME, path)))


def _decode_line(state: TranscriptState, line: dict[str, Any]) -> Observations:
    state.turn = get_text(line, "promptId") or state.turn
    kind, message = str(line.get("type")), line.get("message")
    if kind in ("user", "assistant") and isinstance(message, dict):
        step = state.build_step(line, get_text(message, "model"))
        yield from _decode_message(step, state.turn, line, get_blocks(message))
        for own_id, call, block in state.match_results(get_blocks(message)):
            # The line has the result twice: for the model, and in full under toolUseResult.
            is_error = bool(block.get("is_error"))
            result = (not is_error and line.get("toolUseResult")) or block.get("content")
            yield from step.observe_call(own_id, get_text(call, "name"), call.get("input"), result, is_error=is_error)
    elif kind not in UNUSED:
        yield SkippedInput(reason=f"a line of type {kind!r}")


def _decode_message(step: StepContext, turn: str, line: dict[str, Any], content: list[dict[str, Any]]) -> Observations:
    text_blocks = [block for block in content if block.get("type") == "text"]
    message_text = extract_text(text_blocks)
    if line["type"] == "assistant":
        for block in text_blocks:
            yield from step.observe_reply(turn, extract_text(block))
    elif line.get("isCompactSummary"):
        yield step.observe(ObservationKind.COMPACTED, turn or step.at, text=SUMMARY_OPENING.sub("", message_text))
    elif not line.get("isMeta") and not COMMAND_OUTPUT.match(message_text):
        yield from step.observe_prompt(get_text(line, "promptId", "uuid"), message_text)


AGENT = Agent(
    name=NAME,
    title="Claude Code",
    homes=(".claude", ".claude.json"),
    programs=("claude",),
    build_pieces=build_pieces,
    refusals=ASKS_AND_REFUSES,
    shows_messages=True,
    same_ids=True,
    # One file per session, and one per subagent below it. Claude Code deletes a transcript after 30 days, unless
    # cleanupPeriodDays says otherwise.
    transcripts=(".claude/projects/*/**/*.jsonl",),
    read_transcript=read_transcript,
)
