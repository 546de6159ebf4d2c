"""Decode hook payloads, the steps of transcripts and tool calls into observations.

Most agents copied the hooks of Claude Code: ``decode_hook`` reads that format, and ``Agent.rename_fields`` of an agent
with another format gives its fields those names first. Transcripts differ, so each agent's module reads its own, with a
``StepContext`` to make observations and a ``TranscriptState`` to remember earlier lines.

The id of an observation is derived from the agent's own ids, so that it is the same from hook and transcript. Where an
agent identifies only the turn, a hash of the text is part of the id: at worst a step is then recorded twice, but two
different steps never share an id.

Agents use different names for the same field of a tool call (``file_path``, ``filePath``, ``path``), but no name has
two meanings, so ``describe_call`` finds command, file, edit and exit code for all of them.
"""

import difflib
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any, Self

from hivemind.agents.callers import COMMAND_FIELDS, FILE_FIELDS, PATCH_HEADER, WORK_FIELDS
from hivemind.agents.json_input import (
    Observations,
    Payload,
    digest,
    get_modified_time,
    get_text,
    parse_object,
    parse_timestamp,
    split_names,
    strip_injected,
)
from hivemind.model.ids import SessionId, derive_id
from hivemind.model.session import Observation, ObservationKind, SkippedInput

UNUSED = split_names(
    "PreToolUse PostToolBatch Notification MessageDisplay PreCompact SubagentStart PermissionRequest "
    "PermissionDenied UserPromptExpansion StopFailure PreModelSwitch PostModelSwitch Setup TeammateIdle "
    "TaskCreated TaskCompleted Elicitation ElicitationResult ConfigChange WorktreeCreate WorktreeRemove "
    "InstructionsLoaded CwdChanged FileChanged DirectoryAdded SessionDelete TodoCreated TodoCompleted"
)
"""Events whose content comes more completely with another event."""

SHELL_TOOLS = split_names(
    "bash shell powershell terminal run_shell_command run_commands run_command exec_command "
    "execute_command run_in_terminal run_terminal_cmd local_shell"
)
OLD_TEXT_FIELDS = ("old_string", "old_str", "oldString", "old_text", "TargetContent")
NEW_TEXT_FIELDS = ("new_string", "new_str", "newString", "new_text", "ReplacementContent")
CONTENT_FIELDS = ("content", "file_text", "new_text", "contents", "code_edit", "CodeContent")
OUTPUT_FIELDS = (
    *("llmContent", "textResultForLlm", "text_result_for_llm", "text", "content", "output", "result", "error", "file"),
)
"""Fields of a result that may hold what the model was shown, the likeliest first."""
DISPLAY_FIELDS = ("returnDisplay", "resultDisplay", "metadata")
"""Fields of a result that hold what the user was shown, among it an edit's diff."""
WRITE_TOOL = re.compile(r"write|create|editor|save_file", re.IGNORECASE)
EXIT_CODE = re.compile(
    r"\A(?:Error: )?Exit code:? (\d+)"
    r"|\A\[Command exited with code (\d+)\]"
    r"|\A(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?Process exited with code (\d+)"
    r"|\AThe command exited with code (\d+)\."
    r"|<shellId: \S+ completed with exit code (\d+)>\s*\Z"
)
"""How agents write the exit code into a command's output. Each form is anchored to where its agent puts it, so that a
program that prints such a line is not mistaken for the agent."""
REPORT_PREFIXES = ("Output: ", "Command: ")
"""How the reports of Gemini and Qwen on a command begin; they give the exit code only if it was not zero."""
REPORTED_CODE = re.compile(r"(?:\n|\\n)Exit Code: (\d+)(?!.*(?:\n|\\n)Exit Code: )", re.DOTALL)
PATCH_END = re.compile(r"^\*\*\* (?:End Patch|End of File).*$\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepContext:
    """The session, time and directory of a step; its methods make the step's observations."""

    agent: str
    session: str
    at: str
    directory: str = ""
    model: str = ""
    subagent: str = ""

    def with_time(self, stamp: Any, **changes: str) -> Self:
        """Return a copy with the time of this timestamp, if it is valid, and with these changes."""
        return replace(self, at=parse_timestamp(stamp, self.at), **changes)

    def observe(self, kind: ObservationKind, own_id: str, **fields: Any) -> Observation:
        """Return an observation of this step, with an id derived from the agent's own ids."""
        return Observation(
            agent=self.agent,
            session_id=SessionId(self.session),
            seen=kind,
            source_id=derive_id(self.agent, self.session, kind, own_id),
            at=self.at,
            directory=self.directory,
            model=self.model,
            subagent=self.subagent,
            **fields,
        )

    def observe_start(self, source: str = "") -> Observation:
        """Return the start of a session; a resumed one differs by source and time."""
        is_new = source in ("", "startup", "new")
        own_id = "start" if is_new else f"{source} {self.at}"
        return self.observe(ObservationKind.STARTED, own_id, text="" if is_new else source)

    def observe_prompt(self, turn: str, prompt: str) -> Iterator[Observation]:
        """Yield a prompt; nothing if it is empty, as when an agent continues by itself."""
        return self._observe_text(ObservationKind.PROMPT, turn, prompt)

    def observe_reply(self, turn: str, reply: str) -> Iterator[Observation]:
        """Yield a reply of the agent; a turn can have several."""
        return self._observe_text(ObservationKind.REPLY, turn, reply)

    def _observe_text(self, kind: ObservationKind, turn: str, message: str) -> Iterator[Observation]:
        if text := strip_injected(message):
            yield self.observe(kind, f"{turn} {digest(text)}", turn=turn, text=text)

    def observe_call(
        self, call_id: str, tool: str, arguments: Any, result: Any, *, is_error: bool = False
    ) -> Iterator[Observation]:
        """Yield a completed tool call, and one more observation for each further file it changed."""
        for index, fields in enumerate(describe_call(tool, arguments, result, is_error=is_error)):
            if fields.get("file"):
                fields["file"] = str(PurePath(self.directory, fields["file"]))
            workdir = fields.pop("directory", "")
            step = replace(self, directory=str(PurePath(self.directory, workdir))) if workdir else self
            # The first file has the id of the call; further files of a patch need ids of their own.
            yield step.observe(ObservationKind.TOOL, f"{call_id} {fields['file']}" if index else call_id, **fields)


@dataclass(slots=True, kw_only=True)
class TranscriptState:
    """What the reader of a transcript remembers from one line to the next."""

    step: StepContext
    """The context of the session; a line without a time has the time of this one."""
    turn: str = ""
    open_calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Tool calls without a result yet, by id."""
    recorded_counts: Counter[str] = field(default_factory=Counter)
    """Prompts and calls that were already recorded from one kind of line and will come again in another."""

    @classmethod
    def start(cls, agent: str, path: Path, session: str = "") -> Self:
        """Return the state before the first line; the file's name is the session's id unless one is given."""
        return cls(step=StepContext(agent=agent, session=session or path.stem, at=get_modified_time(path)))

    def build_step(self, line: Payload, model: str) -> StepContext:
        """Return the context of a transcript line in the format of Claude Code."""
        return self.step.with_time(
            line.get("timestamp"),
            session=get_text(line, "sessionId") or self.step.session,
            directory=get_text(line, "cwd"),
            model=model,
            subagent=get_text(line, "agentId") if line.get("isSidechain") else "",
        )

    def match_results(self, content: Iterable[Payload]) -> Iterator[tuple[str, Payload, Payload]]:
        """Return the id, call and result of each tool call that these blocks complete."""
        for block in content:
            if block.get("type") == "tool_use":
                self.open_calls[str(block.get("id"))] = dict(block)
            elif block.get("type") == "tool_result":
                own_id = str(block.get("tool_use_id"))
                yield own_id, self.open_calls.pop(own_id, {}), block


def decode_hook(agent: str, payload: Payload, at: str) -> Observations:
    """Read the observations of a hook payload in the format of Claude Code."""
    name, session = get_text(payload, "hook_event_name"), get_text(payload, "session_id")
    step = StepContext(
        agent=agent,
        session=session,
        at=parse_timestamp(payload.get("timestamp"), at),
        directory=get_text(payload, "cwd"),
        model=get_text(payload, "model"),
        subagent=get_text(payload, "agent_id"),
    )
    # Claude Code identifies a turn by its prompt, Codex by the turn.
    turn, last_message = get_text(payload, "prompt_id", "turn_id"), get_text(payload, "last_assistant_message")
    match name:
        case _ if name in UNUSED:
            return
        case _ if not session:
            yield SkippedInput(reason=f"{name} has no session id")
        case "SessionStart":
            yield step.observe_start(get_text(payload, "source"))
        case "UserPromptSubmit":
            yield from step.observe_prompt(turn, get_text(payload, "prompt"))
        case "PostToolUse" | "PostToolUseFailure":
            is_error = name == "PostToolUseFailure"
            tool, call_id = get_text(payload, "tool_name"), get_text(payload, "tool_call_id", "tool_use_id") or step.at
            result = payload.get("error" if is_error else "tool_response")
            yield from step.observe_call(call_id, tool, payload.get("tool_input"), result, is_error=is_error)
        case "Stop":
            yield from step.observe_reply(turn, last_message)
        case "SubagentStop":
            # Forks that Claude Code starts by itself, as for /compact, have no type and are not recorded.
            if kind := payload.get("agent_type"):
                own_id = f"{step.subagent} {turn or step.at}"
                yield step.observe(ObservationKind.SUBAGENT, own_id, text=strip_injected(last_message), tool=str(kind))
        case "PostCompact":
            yield step.observe(ObservationKind.COMPACTED, turn or step.at, text=get_text(payload, "compact_summary"))
        case "SessionEnd":
            yield step.observe(ObservationKind.ENDED, step.at, text=get_text(payload, "reason"))
        case _:
            yield SkippedInput(reason=f"unknown event {name}")


def redact_observation(observation: Observation, redact: Callable[[str], str]) -> Observation:
    """Return the observation with redacted text and the id that its hook gave it.

    A hook redacts before it hashes the text, so the id of an unredacted transcript line would differ.
    """
    has_text_in_id = observation.seen in (ObservationKind.PROMPT, ObservationKind.REPLY)
    text = redact(observation.text) if has_text_in_id else observation.text
    if text == observation.text:
        return observation
    own_id = f"{observation.turn} {digest(text)}"
    source_id = derive_id(observation.agent, observation.session_id, observation.seen, own_id)
    return replace(observation, text=text, source_id=source_id)


def describe_call(tool: str, arguments: Any, result: Any, *, is_error: bool = False) -> list[dict[str, Any]]:
    """Return the fields of the observations of a call: one, and one more for each further file it changed."""
    fields = parse_object(arguments)
    command = _get_command(fields) if tool.lower() in SHELL_TOOLS else ""
    output = strip_injected(_get_output(result))
    exit_code = _get_exit_code(result, output, is_error=is_error) if command else None
    call = {
        "tool": tool,
        "input": "" if "changes" in fields else arguments if isinstance(arguments, str) else _dump_json(arguments),
        "output": output,
        "command": command,
        "directory": _get_string(fields, WORK_FIELDS) if command else "",
        "exit_code": exit_code,
        "failed": is_error or bool(exit_code),
        "file": _get_string(fields, FILE_FIELDS) or _get_string(parse_object(result), FILE_FIELDS),
    }
    # Sorted, so that hook and transcript give each file the same id: agents list the files of a patch in any order.
    edits = [] if is_error else sorted(_find_edits(tool, fields, result), key=lambda edit: str(edit["file"]))
    return [call | (edits[0] if edits else {}), *({"tool": tool, **edit} for edit in edits[1:])]


def hash_blob(content: Any) -> str:
    """Return git's blob hash of this text, so that an edit can be matched to a commit."""
    if not isinstance(content, str):
        return ""
    body = content.encode("utf-8", "surrogatepass")
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def _find_edits(tool: str, fields: dict[str, Any], result: Any) -> Iterator[dict[str, Any]]:
    result_fields = parse_object(result)
    display = parse_object(next(filter(None, map(result_fields.get, DISPLAY_FIELDS)), None))
    file = _get_string(fields, FILE_FIELDS) or _get_string(result_fields, FILE_FIELDS)
    if patch := next((value for value in fields.values() if str(value).startswith("*** Begin Patch")), None):
        yield from _parse_patch(str(patch))
    elif isinstance(changes := fields.get("changes"), dict):
        for path, change in changes.items():
            yield _build_change_edit(str(path), parse_object(change))
    elif "structuredPatch" in result_fields or "originalFile" in result_fields:
        yield _build_replacement_edit(file, result_fields.get("originalFile"), fields)
    elif diff := display.get("fileDiff") or display.get("diff"):
        where = get_text(display, "filePath") or file
        yield _make_edit(where, display.get("originalContent"), display.get("newContent"), str(diff))
    elif _get_replacements(fields) or (WRITE_TOOL.search(tool) and file and _get_string(fields, CONTENT_FIELDS)):
        yield _build_replacement_edit(file, None, fields)


def _make_edit(file: str, before: Any, after: Any, diff: str | None = None) -> dict[str, Any]:
    """Return an edit, given the whole file before and after, as far as they are known, or its diff."""
    if diff is None:
        diff = _make_diff(file, before or "", after or "")
    return {"file": file, "diff": diff, "before": hash_blob(before), "after": hash_blob(after)}


def _build_replacement_edit(file: str, original: Any, fields: dict[str, Any]) -> dict[str, Any]:
    """Return an edit that is given as old and new text; file hashes need the whole original."""
    pairs, before = _get_replacements(fields), original if isinstance(original, str) else None
    if not pairs:
        return _make_edit(file, before, _get_string(fields, CONTENT_FIELDS))
    if before is None:
        return _make_edit(file, None, None, "".join(_make_diff(file, old, new) for old, new in pairs))
    after = before
    for old, new in pairs:
        after = after.replace(old, new, -1 if fields.get("replace_all") else 1)
    return _make_edit(file, before, after)


def _build_change_edit(file: str, change: dict[str, Any]) -> dict[str, Any]:
    content = change.get("content")
    match change.get("type"):
        case "add" if isinstance(content, str):
            return _make_edit(file, None, content)
        case "delete" if isinstance(content, str):
            return _make_edit(file, content, None)
        case _:
            return _make_edit(get_text(change, "move_path") or file, None, None, get_text(change, "unified_diff"))


def _parse_patch(patch: str) -> Iterator[dict[str, Any]]:
    heads = list(re.finditer(PATCH_HEADER, patch, re.MULTILINE))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        body = PATCH_END.sub("", patch[head.end() + 1 : following.start() if following else None])
        content = "".join(f"{line[1:]}\n" for line in body.splitlines()) if head[1] == "Add" else None
        yield _make_edit(head[2].strip(), None, content, body)


def _get_replacements(fields: dict[str, Any]) -> list[tuple[str, str]]:
    edits = fields.get("edits") or fields.get("ReplacementChunks")
    replacements = [parse_object(edit) for edit in edits] if isinstance(edits, list) else [fields]
    return [
        (_get_string(replacement, OLD_TEXT_FIELDS), _get_string(replacement, NEW_TEXT_FIELDS))
        for replacement in replacements
        if any(name in replacement for name in OLD_TEXT_FIELDS)
    ]


def _make_diff(file: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), file, file, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _get_command(fields: dict[str, Any]) -> str:
    command = next(filter(None, map(fields.get, COMMAND_FIELDS)), "")
    if isinstance(command, list):
        parts = [str(word) for word in command]
        # Codex runs ["bash", "-lc", COMMAND]; a list under "commands" is several commands.
        return parts[-1] if parts[1:2] in (["-lc"], ["-c"]) else "\n".join(parts)
    return str(command)


def _get_output(result: Any) -> str:
    if isinstance(result, str) or result is None:
        return result or ""
    if isinstance(result, list):
        return "\n".join(filter(None, map(_get_output, result)))
    if isinstance(result, dict):
        # The result of an edit is its diff, which is recorded as such.
        if "structuredPatch" in result:
            return ""
        if "stdout" in result:
            return "\n".join(filter(None, (str(result["stdout"]), str(result.get("stderr") or ""))))
        if content := next(filter(None, map(result.get, OUTPUT_FIELDS)), None):
            return _get_output(content)
        if "output" in result or "result" in result:
            return ""
    return _dump_json(result)


def _get_exit_code(result: Any, output: str, *, is_error: bool) -> int | None:
    result_fields = parse_object(result)
    for fields in (result_fields, *(parse_object(result_fields.get(name)) for name in ("metadata", "returnDisplay"))):
        for name in ("exit_code", "exitCode", "exit"):
            if isinstance(fields.get(name), int):
                return int(fields[name])
    # Claude Code gives no code: a command that failed comes as an error, any other succeeded.
    if "stdout" in result_fields and not is_error:
        return None if result_fields.get("interrupted") else 0
    if output.startswith(REPORT_PREFIXES):
        report_match = REPORTED_CODE.search(output)
        return int(report_match[1]) if report_match else None if is_error else 0
    code_match = EXIT_CODE.search(output)
    return int(next(filter(None, code_match.groups()))) if code_match else None


def _get_string(fields: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := fields.get(name), str)), "")


def _dump_json(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
