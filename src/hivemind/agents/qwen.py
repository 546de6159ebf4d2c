"""Qwen Code: Claude Code's hooks with timeouts in milliseconds, Gemini's message parts in its transcripts."""

from functools import partial
from pathlib import Path
from typing import Any

from hivemind.agents.agent import ASKS_AND_REFUSES, Agent
from hivemind.agents.config_entries import InstallTarget, JsonEntry, Launch, Piece, build_claude_hooks
from hivemind.agents.decoder import StepContext, TranscriptState
from hivemind.agents.json_input import Observations, decode_lines, extract_text, get_object, get_objects, get_text
from hivemind.agents.slash_commands import CLAUDE_FIELDS, build_command_files
from hivemind.model.session import ObservationKind, SkippedInput

NAME = "qwen"
# Run with -p, Qwen Code sends no SessionEnd.
EVENTS = "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStop Stop SessionEnd"
TOOLS_BEFORE_CALL = "^(?:edit|write_file|notebook_edit|run_shell_command|monitor|web_fetch|web_search|mcp__.*)$"
"""Tools that change files, run commands or reach out: those that guards concern."""


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return server and hooks, both in settings.json."""
    settings = target.root / ".qwen" / "settings.json"
    return (
        JsonEntry(path=settings, value=launch.build_server_entry()),
        build_claude_hooks(
            settings, NAME, launch, EVENTS, units_per_second=1000, tools_before_call=TOOLS_BEFORE_CALL, matcher="*"
        ),
        *build_command_files(settings.parent / "commands", CLAUDE_FIELDS, arguments="$ARGUMENTS"),
    )


def read_transcript(path: Path) -> Observations:
    """Read the observations of a transcript; a prompt waits until a later line gives the id of its turn."""
    state = TranscriptState.start(NAME, path)
    pending_prompts: list[dict[str, Any]] = []
    yield from decode_lines(path, partial(_decode_line, state, pending_prompts))
    yield from _flush_prompts(state, pending_prompts)


def _decode_line(state: TranscriptState, pending_prompts: list[dict[str, Any]], line: dict[str, Any]) -> Observations:
    kind, system = line.get("type"), get_object(line, "systemPayload")
    state.turn = get_text(get_object(system, "uiEvent"), "prompt_id") or state.turn
    step = state.build_step(line, get_text(line, "model"))
    parts = get_objects(get_object(line, "message"), "parts")
    if kind == "assistant" or (kind == "system" and state.turn):
        yield from _flush_prompts(state, pending_prompts)
    match kind:
        case "user":
            # Notifications look like prompts of the user.
            if line.get("subtype") != "notification":
                yield from _flush_prompts(state, pending_prompts)
                state.turn = ""
                pending_prompts.append(line)
        case "assistant":
            yield from step.observe_reply(state.turn, extract_text(parts))
            calls = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
            state.open_calls |= {str(call.get("id")): call for call in calls}
        case "tool_result":
            yield from _decode_results(state, step, get_object(line, "toolCallResult"), parts)
        case "system":
            if line.get("subtype") == "chat_compression" and state.turn:
                yield step.observe(
                    ObservationKind.COMPACTED, str(line.get("uuid")), text=extract_text(system.get("summary"))
                )
        case other:
            yield SkippedInput(reason=f"a line of type {other!r}")


def _flush_prompts(state: TranscriptState, pending_prompts: list[dict[str, Any]]) -> Observations:
    for line in pending_prompts:
        display_text = get_text(get_object(line, "systemPayload"), "displayText")
        prompt = display_text or extract_text(get_object(line, "message").get("parts"))
        step = state.build_step(line, get_text(line, "model"))
        yield from step.observe_prompt(state.turn or str(line.get("uuid")), prompt)
    pending_prompts.clear()


def _decode_results(
    state: TranscriptState, step: StepContext, call_result: dict[str, Any], parts: list[dict[str, Any]]
) -> Observations:
    for answer in filter(None, (get_object(part, "functionResponse") for part in parts)):
        call_id = get_text(answer, "id") or str(call_result.get("callId"))
        call, response = state.open_calls.pop(call_id, {}), get_object(answer, "response")
        result = {
            "llmContent": response.get("output") or response.get("error"),
            "returnDisplay": call_result.get("resultDisplay"),
        }
        tool, is_error = get_text(call, "name") or get_text(answer, "name"), call_result.get("status") == "error"
        yield from step.observe_call(call_id, tool, call.get("args"), result, is_error=is_error)


# UserPromptSubmit comes again, without a prompt, each time the agent continues by itself; those yield nothing.
AGENT = Agent(
    name=NAME,
    title="Qwen Code",
    homes=(".qwen",),
    programs=("qwen",),
    build_pieces=build_pieces,
    refusals=ASKS_AND_REFUSES,
    shows_messages=True,
    same_ids=True,
    # One file per session, and one per subagent.
    transcripts=(".qwen/projects/*/chats/*.jsonl", ".qwen/projects/*/subagents/**/*.jsonl"),
    read_transcript=read_transcript,
)
