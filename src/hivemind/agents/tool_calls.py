"""Find the command, file, edit and exit code in a tool call of any agent.

Agents use different names for the same field (``file_path``, ``filePath``, ``path``), but no name has two meanings, so
one reader works for all of them.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from hivemind.agents.callers import COMMAND_FIELDS, FILE_FIELDS, PATCH_HEADER
from hivemind.agents.json_input import get_text, parse_object, split_names, strip_injected

SHELL_TOOLS = split_names(
    "bash shell powershell terminal run_shell_command run_commands run_command exec_command "
    "execute_command run_in_terminal run_terminal_cmd local_shell"
)
OLD_TEXT_FIELDS = ("old_string", "old_str", "oldString", "old_text")
NEW_TEXT_FIELDS = ("new_string", "new_str", "newString", "new_text")
CONTENT_FIELDS = ("content", "file_text", "new_text", "contents", "code_edit")
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
    r"|<shellId: \S+ completed with exit code (\d+)>\s*\Z"
)
"""How agents write the exit code into a command's output. Each form is anchored to where its agent puts it, so that a
program that prints such a line is not mistaken for the agent."""
REPORT_PREFIXES = ("Output: ", "Command: ")
"""How the reports of Gemini and Qwen on a command begin; they give the exit code only if it was not zero."""
REPORTED_CODE = re.compile(r"(?:\n|\\n)Exit Code: (\d+)(?!.*(?:\n|\\n)Exit Code: )", re.DOTALL)
PATCH_END = re.compile(r"^\*\*\* (?:End Patch|End of File).*$\n?", re.MULTILINE)


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
        # Codex and OpenCode name a directory in the call instead of changing to it.
        "directory": _get_string(fields, ("workdir",)) if command else "",
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
    edits = fields.get("edits")
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
