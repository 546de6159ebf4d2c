"""A tool call in the words all agents share: the command it ran, the file it touched, the change it made.

Agents name the same things differently (``file_path``, ``filePath``, ``path``), and no name means two things,
so one reader serves them all.
"""

import difflib
import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from hivemind.agents.base import clean, named, unpacked, words

SHELLS = words(
    "bash shell powershell terminal run_shell_command run_commands run_command exec_command "
    "execute_command run_in_terminal run_terminal_cmd local_shell"
)
FILES = ("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file")
OLD = ("old_string", "old_str", "oldString", "old_text")
NEW = ("new_string", "new_str", "newString", "new_text")
CONTENT = ("content", "file_text", "new_text", "contents", "code_edit")
SAID = ("llmContent", "textResultForLlm", "text_result_for_llm", "text", "content", "output", "result", "error", "file")
"""Where a result has what the model was told, the likeliest first."""
WRITERS = re.compile(r"write|create|editor|save_file", re.IGNORECASE)
EXIT_CODE = re.compile(
    r"\A(?:Error: )?Exit code:? (\d+)"
    r"|\A\[Command exited with code (\d+)\]"
    r"|\A(?:Chunk ID: .*\n)?(?:Wall time: .*\n)?Process exited with code (\d+)"
    r"|<shellId: \S+ completed with exit code (\d+)>\s*\Z"
)
"""How agents write the exit code into a command's output; each form has its place, so that a program that
prints such words is not believed."""
REPORT = ("Output: ", "Command: ")
"""How Gemini's and Qwen's report on a command begins; it tells the code, or none if that was zero."""
REPORTED_CODE = re.compile(r"(?:\n|\\n)Exit Code: (\d+)(?!.*(?:\n|\\n)Exit Code: )", re.DOTALL)
PATCH = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
PATCH_END = re.compile(r"^\*\*\* (?:End Patch|End of File).*$\n?", re.MULTILINE)


def described(tool: str, given: Any, came_back: Any, *, failed: bool = False) -> list[dict[str, Any]]:
    """The fields of the observations a call makes: one, and one more for each further file it changed."""
    asked = unpacked(given)
    command = _command(asked) if tool.lower() in SHELLS else ""
    output = clean(_output(came_back))
    exit_code = _exit_code(came_back, output, failed=failed) if command else None
    call = {
        "tool": tool,
        "input": "" if "changes" in asked else given if isinstance(given, str) else _dumped(given),
        "output": output,
        "command": command,
        "exit_code": exit_code,
        "failed": failed or bool(exit_code),
        "file": _first(asked, FILES) or _first(unpacked(came_back), FILES),
    }
    # In the order of their names, because agents list the files of one patch in any order.
    edits = [] if failed else sorted(_edits(tool, asked, came_back), key=lambda edit: str(edit["file"]))
    return [call | (edits[0] if edits else {}), *({"tool": tool, **edit} for edit in edits[1:])]


def git_name(content: Any) -> str:
    """The name git gives this text, so that an edit can be found again in a commit."""
    if not isinstance(content, str):
        return ""
    body = content.encode("utf-8", "surrogatepass")
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def _edits(tool: str, asked: dict[str, Any], came_back: Any) -> Iterator[dict[str, Any]]:
    answer = unpacked(came_back)
    shown = unpacked(answer.get("returnDisplay") or answer.get("resultDisplay") or answer.get("metadata"))
    file = _first(asked, FILES) or _first(answer, FILES)
    if patch := next((said for said in asked.values() if str(said).startswith("*** Begin Patch")), None):
        yield from _patched(str(patch))
    elif isinstance(changes := asked.get("changes"), dict):
        for path, change in changes.items():
            yield _changed(str(path), unpacked(change))
    elif "structuredPatch" in answer or "originalFile" in answer:
        yield _replaced(file, answer.get("originalFile"), asked)
    elif diff := shown.get("fileDiff") or shown.get("diff"):
        where = named(shown, "filePath") or file
        yield _edit(where, shown.get("originalContent"), shown.get("newContent"), str(diff))
    elif _pairs(asked) or (WRITERS.search(tool) and file and _first(asked, CONTENT)):
        yield _replaced(file, None, asked)


def _edit(file: str, before: Any, after: Any, diff: str | None = None) -> dict[str, Any]:
    """An edit by both sides of the whole file, as far as they are known, or by its diff."""
    if diff is None:
        diff = _diff(file, before or "", after or "")
    return {"file": file, "diff": diff, "before": git_name(before), "after": git_name(after)}


def _replaced(file: str, original: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """An edit told as old and new text; only where the whole original is known are both sides known."""
    pairs, known = _pairs(asked), original if isinstance(original, str) else None
    if not pairs:
        return _edit(file, known, _first(asked, CONTENT))
    if known is None:
        return _edit(file, None, None, "".join(_diff(file, old, new) for old, new in pairs))
    edited = known
    for old, new in pairs:
        edited = edited.replace(old, new, -1 if asked.get("replace_all") else 1)
    return _edit(file, known, edited)


def _changed(file: str, change: dict[str, Any]) -> dict[str, Any]:
    content = change.get("content")
    match change.get("type"):
        case "add" if isinstance(content, str):
            return _edit(file, None, content)
        case "delete" if isinstance(content, str):
            return _edit(file, content, None)
        case _:
            return _edit(named(change, "move_path") or file, None, None, named(change, "unified_diff"))


def _patched(patch: str) -> Iterator[dict[str, Any]]:
    heads = list(PATCH.finditer(patch))
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        body = PATCH_END.sub("", patch[head.end() + 1 : following.start() if following else None])
        added = "".join(f"{line[1:]}\n" for line in body.splitlines()) if head[1] == "Add" else None
        yield _edit(head[2].strip(), None, added, body)


def _pairs(asked: dict[str, Any]) -> list[tuple[str, str]]:
    edits = asked.get("edits")
    told = [unpacked(edit) for edit in edits] if isinstance(edits, list) else [asked]
    return [(_first(one, OLD), _first(one, NEW)) for one in told if any(name in one for name in OLD)]


def _diff(file: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), file, file, lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _command(asked: dict[str, Any]) -> str:
    said = next(filter(None, map(asked.get, ("command", "cmd", "commands", "command_line"))), "")
    if isinstance(said, list):
        words = [str(word) for word in said]
        return words[-1] if words[1:2] in (["-lc"], ["-c"]) else "\n".join(words)
    return str(said)


def _output(came_back: Any) -> str:
    if isinstance(came_back, str) or came_back is None:
        return came_back or ""
    if isinstance(came_back, list):
        return "\n".join(filter(None, map(_output, came_back)))
    if isinstance(came_back, dict):
        if "structuredPatch" in came_back:
            return ""
        if "stdout" in came_back:
            return "\n".join(filter(None, (str(came_back["stdout"]), str(came_back.get("stderr") or ""))))
        if said := next(filter(None, map(came_back.get, SAID)), None):
            return _output(said)
        if "output" in came_back or "result" in came_back:
            return ""
    return _dumped(came_back)


def _exit_code(came_back: Any, output: str, *, failed: bool) -> int | None:
    answer = unpacked(came_back)
    for held in (answer, unpacked(answer.get("metadata")), unpacked(answer.get("returnDisplay"))):
        for name in ("exit_code", "exitCode", "exit"):
            if isinstance(held.get(name), int):
                return int(held[name])
    if "stdout" in answer and not failed:
        return None if answer.get("interrupted") else 0
    if output.startswith(REPORT):
        reported = REPORTED_CODE.search(output)
        return int(reported[1]) if reported else None if failed else 0
    told = EXIT_CODE.search(output)
    return int(next(filter(None, told.groups()))) if told else None


def _first(held: dict[str, Any], names: tuple[str, ...]) -> str:
    return next((said for name in names if isinstance(said := held.get(name), str)), "")


def _dumped(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
