"""Codex: the server in config.toml, hooks in hooks.json that run only once trusted, rollout files as transcripts."""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hivemind.agents import jsonc
from hivemind.agents.agent import REFUSES, Agent
from hivemind.agents.config_entries import (
    OR_PASS,
    SERVER,
    FileReader,
    InstallTarget,
    Launch,
    Lines,
    Piece,
    build_claude_hooks,
)
from hivemind.agents.decoder import StepContext, TranscriptState
from hivemind.agents.file_changes import Purpose, read_file
from hivemind.agents.json_input import (
    Observations,
    decode_lines,
    extract_text,
    get_object,
    get_objects,
    get_text,
    split_names,
)
from hivemind.agents.slash_commands import SKILL, SKILL_FIELDS, build_command_files
from hivemind.errors import InvalidInput
from hivemind.model.session import ObservationKind, SkippedInput

NAME = "codex"
EVENTS = "SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStart SubagentStop PostCompact Stop SessionEnd"
DEFAULT_TIMEOUT_SECONDS, MIN_END_TIMEOUT_SECONDS, MAX_END_TIMEOUT_SECONDS = 600, 1, 3
"""Codex limits the timeout of SessionEnd hooks, and hashes a hook with the limited value."""

UNUSED = split_names("world_state token_usage_record turn_context additional_tools")
UNUSED_MESSAGES = split_names(
    "task_started task_complete "
    "token_count thread_settings_applied agent_reasoning agent_reasoning_section_break turn_aborted "
    "entered_review_mode exited_review_mode context_compacted thread_rolled_back web_search_end "
    "view_image_tool_call mcp_tool_call_end exec_command_end thread_name_updated background_event error "
    "warning stream_error"
)
UNUSED_ITEMS = split_names(
    "reasoning message tool_search_call tool_search_output web_search_call ghost_snapshot compaction"
)
SHELL_TOOLS = ("exec_command", "shell", "shell_command", "local_shell")
EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (\d+)$", re.MULTILINE)
OUTPUT = re.compile(r"\A(?:[^\n]*\n){0,6}?Output:\n")


def build_pieces(target: InstallTarget, launch: Launch) -> tuple[Piece, ...]:
    """Return the server, and hooks, which Codex does not run until the user trusts them."""
    # Not a plugin: the hash of a plugin's hook cannot be computed, so nobody could check whether Codex trusts it.
    directory = target.root / ".codex"
    toml_fields = "".join(f"\n{name} = {json.dumps(value)}" for name, value in launch.build_server_entry().items())
    return (
        Lines(path=directory / "config.toml", text=f"[mcp_servers.{SERVER}]{toml_fields}"),
        build_claude_hooks(directory / "hooks.json", NAME, launch, EVENTS, end_timeout_seconds=MAX_END_TIMEOUT_SECONDS),
        # Skills, because Codex no longer lists custom prompts; a person types $remember.
        *build_command_files(directory / "skills", SKILL_FIELDS, file=SKILL),
    )


def are_trusted(target: InstallTarget) -> bool:
    """Return whether Codex will run all of our hooks; it skips untrusted ones silently."""
    try:
        config = tomllib.loads(read_file(target.home / ".codex" / "config.toml") or "")
    except (tomllib.TOMLDecodeError, InvalidInput):
        return False
    state = get_object(get_object(config, "hooks"), "state")
    trusted_hashes = {key: entry.get("trusted_hash") for key, entry in state.items() if entry.get("enabled", True)}
    return all(trusted_hashes.get(key) == hook_hash for key, hook_hash in _find_own_hooks(target, read_file))


def build_trust_pieces(target: InstallTarget, read: FileReader) -> tuple[Piece, ...]:
    """Return what marks our hooks as trusted; only for users who ask for it, as the review is theirs."""
    config = target.home / ".codex" / "config.toml"
    tables = (
        f"[hooks.state.{json.dumps(key)}]\ntrusted_hash = {json.dumps(hook_hash)}"
        for key, hook_hash in _find_own_hooks(target, read)
    )
    return tuple(Lines(path=config, text=table, purpose=Purpose.TRUST) for table in tables)


def fingerprint(event: str, group: Mapping[str, Any], hook: Mapping[str, Any]) -> str:
    """Return the hash by which Codex recognises a hook that the user has trusted."""
    # Codex hashes a hook as it would run it, with its defaults and limits applied.
    timeout = hook.get("timeout", MIN_END_TIMEOUT_SECONDS if event == "SessionEnd" else DEFAULT_TIMEOUT_SECONDS)
    if event == "SessionEnd":
        timeout = min(max(timeout, MIN_END_TIMEOUT_SECONDS), MAX_END_TIMEOUT_SECONDS)
    command = {"type": "command", "command": hook["command"], "timeout": timeout, "async": hook.get("async", False)}
    if hook.get("statusMessage"):
        command["statusMessage"] = hook["statusMessage"]
    identity = {"event_name": _to_snake_case(event), "hooks": [command]}
    if group.get("matcher") is not None:
        identity["matcher"] = group["matcher"]
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def _find_own_hooks(target: InstallTarget, read: FileReader) -> Iterator[tuple[str, str]]:
    """Yield key and fingerprint of each of our hooks in hooks.json."""
    path = target.root / ".codex" / "hooks.json"
    try:
        hooks = jsonc.get(read(path) or "{}", ["hooks"])
    except InvalidInput:
        # A file that cannot be parsed has no hook of ours; installing reports what is wrong with it.
        return
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        for group_index, group in _enumerate_objects(groups):
            for hook_index, hook in _enumerate_objects(group.get("hooks")):
                command = str(hook.get("command") or "")
                if SERVER in command and command.removesuffix(OR_PASS).endswith(f" {NAME} {event}"):
                    key = f"{path}:{_to_snake_case(event)}:{group_index}:{hook_index}"
                    yield key, fingerprint(event, group, hook)


def _enumerate_objects(value: Any) -> list[tuple[int, dict[str, Any]]]:
    """Return the objects of a list with their indexes, which are part of a hook's key in Codex."""
    return [
        (index, item) for index, item in enumerate(value if isinstance(value, list) else ()) if isinstance(item, dict)
    ]


def _to_snake_case(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def read_transcript(path: Path) -> Observations:
    """Read the observations of a rollout file, in any format since the oldest."""
    return decode_lines(path, partial(_decode_line, TranscriptState.start(NAME, path)))


def _decode_line(state: TranscriptState, line: dict[str, Any]) -> Observations:
    kind, payload = str(line.get("type")), get_object(line, "payload")
    step = state.step.with_time(line.get("timestamp"))
    state.turn = get_text(payload, "turn_id") or state.turn
    match kind:
        case _ if not isinstance(line.get("payload"), dict):
            yield SkippedInput(reason=f"a line of type {line.get('type')!r} without a payload")
        case "session_meta":
            thread = get_text(payload, "id") or step.session
            session = get_text(payload, "session_id") or thread
            subagent = thread if thread != session else ""
            changes = {"session": session, "subagent": subagent, "directory": get_text(payload, "cwd")}
            state.step = replace(state.step, **changes)
            if not subagent:
                yield replace(step, **changes).observe_start()
        case "turn_context":
            directory, model = get_text(payload, "cwd") or step.directory, get_text(payload, "model") or step.model
            state.step = replace(state.step, directory=directory, model=model)
        case "compacted":
            yield step.observe(ObservationKind.COMPACTED, state.turn or step.at, text=get_text(payload, "message"))
        case "event_msg":
            yield from _decode_message(state, step, payload)
        case "response_item":
            yield from _decode_response_item(state, step, payload)
        case _ if kind not in UNUSED:
            yield SkippedInput(reason=f"a line of type {kind!r}")


def _decode_message(state: TranscriptState, step: StepContext, payload: dict[str, Any]) -> Observations:
    match str(payload.get("type")):
        case "user_message":
            yield from step.observe_prompt(state.turn, get_text(payload, "message"))
        case "agent_message":
            yield from step.observe_reply(state.turn, get_text(payload, "message"))
        case "item_completed":
            yield from _decode_completed_item(state, step, get_object(payload, "item"))
        case "patch_apply_end":
            call_id = str(payload.get("call_id"))
            # The call comes again as a response item.
            state.recorded_counts[call_id] = 1
            yield from step.observe_call(
                call_id, "apply_patch", {"changes": payload.get("changes")}, payload.get("stdout")
            )
        case other if other not in UNUSED_MESSAGES:
            yield SkippedInput(reason=f"a message of type {other!r}")


def _decode_completed_item(state: TranscriptState, step: StepContext, item: dict[str, Any]) -> Observations:
    call_id, is_error = str(item.get("id")), item.get("status") == "failed"
    message = extract_text([{"text": part.get("text")} for part in get_objects(item, "content")])
    state.recorded_counts[call_id] = 1
    call: tuple[str, Any, Any] | None = None
    match str(item.get("type")):
        case "UserMessage":
            yield from step.observe_prompt(state.turn, message)
        case "AgentMessage":
            yield from step.observe_reply(state.turn, message)
        case "CommandExecution":
            execution = {"output": item.get("aggregated_output"), "exit_code": item.get("exit_code")}
            call = "Bash", {"command": item.get("command")}, execution
        case "McpToolCall":
            tool, result = f"mcp__{item.get('server')}__{item.get('tool')}", item.get("result") or item.get("error")
            call = tool, item.get("arguments"), result
        case "FileChange":
            call = "apply_patch", {"changes": item.get("changes")}, item.get("stdout")
        case _:
            # Nothing was recorded, so the call's response item must be.
            del state.recorded_counts[call_id]
    if call:
        yield from step.observe_call(call_id, *call, is_error=is_error)


def _decode_response_item(state: TranscriptState, step: StepContext, payload: dict[str, Any]) -> Observations:
    """Decode calls and their results, for tools that have no complete event of their own."""
    call_id = str(payload.get("call_id"))
    match str(payload.get("type")):
        case "function_call" | "custom_tool_call" | "local_shell_call":
            state.open_calls[call_id] = payload
        case "function_call_output" | "custom_tool_call_output":
            call = state.open_calls.pop(call_id, {})
            if call_id not in state.recorded_counts:
                arguments = call.get("arguments") or call.get("input") or call.get("action")
                yield from step.observe_call(
                    call_id, _get_hook_tool_name(call), arguments, _split_report(payload.get("output"))
                )
        case other if other not in UNUSED_ITEMS:
            yield SkippedInput(reason=f"an item of type {other!r}")


def _split_report(output: Any) -> Any:
    """Split a command's output from the lines above it, which have its exit code."""
    head = OUTPUT.match(output) if isinstance(output, str) else None
    if head is None:
        return output
    code = EXIT_CODE.search(head[0])
    return {"output": output[head.end() :], "exit_code": int(code[1]) if code else None}


def _get_hook_tool_name(call: Mapping[str, Any]) -> str:
    """Return the name that hooks use for the tool, so that both give the same observation."""
    name, namespace = get_text(call, "name"), get_text(call, "namespace")
    if name in SHELL_TOOLS or call.get("type") == "local_shell_call":
        return "Bash"
    return f"{namespace}__{name}" if namespace.startswith("mcp__") else name


# Codex gives hooks no exit codes; only its transcript has them. It ignores a reply that has an unknown field.
AGENT = Agent(
    name=NAME,
    title="Codex",
    homes=(".codex",),
    programs=("codex",),
    build_pieces=build_pieces,
    # It drops a reply that asks.
    refusals=REFUSES,
    shows_messages=True,
    same_ids=True,
    # One file per session and per subagent, archived ones included.
    transcripts=(".codex/sessions/**/rollout-*.jsonl", ".codex/archived_sessions/**/rollout-*.jsonl"),
    read_transcript=read_transcript,
)
