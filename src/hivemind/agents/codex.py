"""Codex: the server in config.toml, hooks in hooks.json that run only once trusted, rollout files."""

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hivemind.agents import claude_shape, jsonc
from hivemind.agents.base import Told, lines, member, members, named, text, words
from hivemind.agents.changes import on_disk
from hivemind.agents.pieces import SERVER, Files, Launch, Lines, Piece, Place
from hivemind.agents.steps import Reading, Step, called, observed, prompted, replied, started
from hivemind.errors import InvalidInput
from hivemind.model.session import Seen, Skipped

NAME = "codex"
TITLE = "Codex"
HOMES: tuple[str, ...] = (".codex",)
SAME_IDS = True
ANSWERS = claude_shape.ANSWERS
TRANSCRIPTS: tuple[str, ...] = (".codex/sessions/**/rollout-*.jsonl", ".codex/archived_sessions/**/rollout-*.jsonl")
"""One file for each session and each subagent, also those put aside."""

EVENTS = "SessionStart UserPromptSubmit PostToolUse SubagentStop PostCompact Stop SessionEnd"
DEFAULT_TIMEOUT, SHORTEST_END, LONGEST_END = 600, 1, 3

UNUSED = words("world_state token_usage_record turn_context additional_tools")
UNUSED_MESSAGES = words(
    "task_started task_complete "
    "token_count thread_settings_applied agent_reasoning agent_reasoning_section_break turn_aborted "
    "entered_review_mode exited_review_mode context_compacted thread_rolled_back web_search_end "
    "view_image_tool_call mcp_tool_call_end exec_command_end thread_name_updated background_event error "
    "warning stream_error"
)
UNUSED_ITEMS = words("reasoning message tool_search_call tool_search_output web_search_call ghost_snapshot compaction")
SHELLS = ("exec_command", "shell", "shell_command", "local_shell")
EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (\d+)$", re.MULTILINE)
OUTPUT = re.compile(r"\A(?:[^\n]*\n){0,6}?Output:\n")


# Codex tells hooks no exit codes, only its transcript; and one field it does not know voids a whole reply.
decode = partial(claude_shape.decode, NAME)
reply = claude_shape.reply


def pieces(place: Place, launch: Launch) -> tuple[Piece, ...]:
    """The server, and hooks, which stay asleep until the user trusts them in Codex."""
    own = place.root / ".codex"
    members = "".join(f"\n{name} = {json.dumps(value)}" for name, value in launch.entry().items())
    return (
        Lines(path=own / "config.toml", text=f"[mcp_servers.{SERVER}]{members}"),
        claude_shape.hooks(own / "hooks.json", NAME, launch, EVENTS, ending=LONGEST_END),
    )


def are_trusted(place: Place) -> bool:
    """Whether Codex will run all of our hooks; it says nothing where it does not."""
    try:
        config = tomllib.loads(on_disk(place.home / ".codex" / "config.toml") or "")
    except tomllib.TOMLDecodeError:
        return False
    state = member(member(config, "hooks"), "state")
    known = {key: held.get("trusted_hash") for key, held in state.items() if held.get("enabled", True)}
    return all(known.get(key) == hashed for key, hashed in _hooks(place, on_disk))


def trusting(place: Place, read: Files) -> tuple[Piece, ...]:
    """What trusting our hooks would write; that review is the user's, so only when they ask for it."""
    config = place.home / ".codex" / "config.toml"
    tables = (
        f"[hooks.state.{json.dumps(key)}]\ntrusted_hash = {json.dumps(hashed)}" for key, hashed in _hooks(place, read)
    )
    return tuple(Lines(path=config, text=table, what="trust") for table in tables)


def fingerprint(event: str, group: Mapping[str, Any], hook: Mapping[str, Any]) -> str:
    """The hash under which Codex knows a hook the user has looked at."""
    timeout = hook.get("timeout", SHORTEST_END if event == "SessionEnd" else DEFAULT_TIMEOUT)
    if event == "SessionEnd":
        timeout = min(max(timeout, SHORTEST_END), LONGEST_END)
    known = {"type": "command", "command": hook["command"], "timeout": timeout, "async": hook.get("async", False)}
    if hook.get("statusMessage"):
        known["statusMessage"] = hook["statusMessage"]
    identity = {"event_name": _snake(event), "hooks": [known]}
    if group.get("matcher") is not None:
        identity["matcher"] = group["matcher"]
    canonical = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def _hooks(place: Place, read: Files) -> Iterator[tuple[str, str]]:
    """Our hooks as they stand: key and fingerprint."""
    path = place.root / ".codex" / "hooks.json"
    try:
        held = jsonc.get(read(path) or "{}", ["hooks"])
    except InvalidInput:
        # It holds no hook of ours; whoever is to change it says what is wrong with it.
        return
    for event, groups in held.items() if isinstance(held, dict) else ():
        for place_of_group, group in _listed(groups):
            for place_of_hook, hook in _listed(group.get("hooks")):
                command = str(hook.get("command") or "")
                if SERVER in command and command.endswith(f" {NAME} {event}"):
                    key = f"{path}:{_snake(event)}:{place_of_group}:{place_of_hook}"
                    yield key, fingerprint(event, group, hook)


def _listed(held: Any) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a list with their places in it."""
    return [(at, one) for at, one in enumerate(held if isinstance(held, list) else ()) if isinstance(one, dict)]


def _snake(event: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()


def read_transcript(path: Path) -> Told:
    """What a rollout says happened, from the oldest format to the newest."""
    return lines(path, partial(_line, Reading.of(NAME, path)))


def _line(reading: Reading, line: dict[str, Any]) -> Told:
    kind, payload, step = str(line.get("type")), member(line, "payload"), reading.step.then(line.get("timestamp"))
    reading.turn = named(payload, "turn_id") or reading.turn
    match kind:
        case _ if not isinstance(line.get("payload"), dict):
            yield Skipped(reason=f"a line of type {line.get('type')!r} without a payload")
        case "session_meta":
            thread = named(payload, "id") or step.session
            session = named(payload, "session_id") or thread
            subagent = thread if thread != session else ""
            own = {"session": session, "subagent": subagent, "directory": named(payload, "cwd")}
            reading.step = replace(reading.step, **own)
            if not subagent:
                yield started(replace(step, **own), "startup")
        case "turn_context":
            directory, model = named(payload, "cwd") or step.directory, named(payload, "model") or step.model
            reading.step = replace(reading.step, directory=directory, model=model)
        case "compacted":
            yield observed(step, Seen.COMPACTED, reading.turn or step.at, text=named(payload, "message"))
        case "event_msg":
            yield from _message(reading, step, payload)
        case "response_item":
            yield from _item(reading, step, payload)
        case _ if kind not in UNUSED:
            yield Skipped(reason=f"a line of type {kind!r}")


def _message(reading: Reading, step: Step, payload: dict[str, Any]) -> Told:
    match str(payload.get("type")):
        case "user_message":
            yield from prompted(step, reading.turn, named(payload, "message"))
        case "agent_message":
            yield from replied(step, reading.turn, named(payload, "message"))
        case "item_completed":
            yield from _completed(reading, step, member(payload, "item"))
        case "patch_apply_end":
            call = str(payload.get("call_id"))
            reading.told[call] = 1
            yield from called(step, call, "apply_patch", {"changes": payload.get("changes")}, payload.get("stdout"))
        case other if other not in UNUSED_MESSAGES:
            yield Skipped(reason=f"a message of type {other!r}")


def _completed(reading: Reading, step: Step, item: dict[str, Any]) -> Told:
    call, failed = str(item.get("id")), item.get("status") == "failed"
    said = text([{"text": part.get("text")} for part in members(item, "content")])
    reading.told[call] = 1
    match str(item.get("type")):
        case "UserMessage":
            yield from prompted(step, reading.turn, said)
        case "AgentMessage":
            yield from replied(step, reading.turn, said)
        case "CommandExecution":
            came_back = {"output": item.get("aggregated_output"), "exit_code": item.get("exit_code")}
            yield from called(step, call, "Bash", {"command": item.get("command")}, came_back, failed=failed)
        case "McpToolCall":
            tool, result = f"mcp__{item.get('server')}__{item.get('tool')}", item.get("result")
            yield from called(step, call, tool, item.get("arguments"), result or item.get("error"), failed=failed)
        case "FileChange":
            given = {"changes": item.get("changes")}
            yield from called(step, call, "apply_patch", given, item.get("stdout"), failed=failed)
        case _:
            del reading.told[call]


def _item(reading: Reading, step: Step, payload: dict[str, Any]) -> Told:
    """Calls and what came back, for the tools that no event told of in full."""
    call = str(payload.get("call_id"))
    match str(payload.get("type")):
        case "function_call" | "custom_tool_call" | "local_shell_call":
            reading.asked[call] = payload
        case "function_call_output" | "custom_tool_call_output":
            asked = reading.asked.pop(call, {})
            if call not in reading.told:
                given = asked.get("arguments") or asked.get("input") or asked.get("action")
                yield from called(step, call, _name(asked), given, _reported(payload.get("output")))
        case other if other not in UNUSED_ITEMS:
            yield Skipped(reason=f"an item of type {other!r}")


def _reported(output: Any) -> Any:
    """What a command printed, without the lines above it that tell its exit code."""
    head = OUTPUT.match(output) if isinstance(output, str) else None
    if head is None:
        return output
    code = EXIT_CODE.search(head[0])
    return {"output": output[head.end() :], "exit_code": int(code[1]) if code else None}


def _name(asked: Mapping[str, Any]) -> str:
    """The name hooks use for the tool."""
    name, namespace = named(asked, "name"), named(asked, "namespace")
    if name in SHELLS or asked.get("type") == "local_shell_call":
        return "Bash"
    return f"{namespace}__{name}" if namespace.startswith("mcp__") else name
