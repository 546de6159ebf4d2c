"""Decide at a tool call whether a memory may concern it, for any agent, without opening the store.

Light imports only: a hook runs this before and after every call of a tool.
"""

from __future__ import annotations

import json
import os
import re

from hivemind.agents import callers
from hivemind.text import cues, shell_edits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LONGEST_PAYLOAD, LONGEST_CALL = 1 << 18, 1 << 22
"""Characters; a longer payload is a large output, and reading it would cost more than it is worth. Before a call there
is no output yet, and a guard may concern the large file that the agent writes."""
DEEPEST = 6
"""How deep fields of a call are nested at most."""
REMEMBERED, FIXED = "remembered", "fixed"
"""Instead of cues: the call stored a memory; a command passed that had failed before in the session."""
FAILED, PASSED = "! ", "= "
OWN_TOOL = r"hivemind.*remember\Z"
"""Clients join the names of server and tool in their own ways."""
TOOL_FIELDS = ("tool_name", "toolName", "tool")
EXIT_CODE = r"(?i)\bexit(?:ed with)?(?: code| status)?:? [1-9]\d*\b"
LOOKING = frozenset(
    ("ls", "cat", "grep", "rg", "find", "head", "tail", "sed", "awk", "which", "test", "git", "cd", "echo", "pwd", "jq")
) | frozenset(("wc", "sleep", "kill", "curl"))
"""Commands that only look, or that fail by themselves; that they pass again teaches nothing."""
INPUT_FIELDS = ("tool_input", "toolArgs", "tool_call", "input", "args", "parameters")
"""Fields with what the agent asked of the tool; all others may hold what the tool answered."""


def find_cues(home: str, agent: str, event: str, payload: str) -> list[str] | None:
    """Return the cues of a tool call that some memory may concern; None if there is nothing to say."""
    action = read_action(agent, event, payload)
    if action is None or not action[2]:
        return None
    root, session, cues_of_call = action
    if event in callers.BEFORE_CALL_EVENTS and agent in callers.GUARDED_ONLY:
        cues_of_call = [cue for cue in cues_of_call if cue.startswith(cues.GUARDED)]
    runs = [cue for cue in cues_of_call if cue.startswith((FAILED, PASSED))]
    others = [cue for cue in cues_of_call if cue not in runs]
    hits = cues.find_hits(home, root, session, [cue for cue in others if cue != REMEMBERED])
    if hits is not None:
        hits = cues.narrow_guard_hits(home, root, session, others, hits)
    found = others if hits is None else hits + [cue for cue in others if cue == REMEMBERED]
    return found + [FIXED] * _compare_runs(home, session, runs) or None


def _compare_runs(home: str, session: str, runs: list[str]) -> bool:
    """Note the commands that failed; return whether one passed that had failed before in the session."""
    names = [run[len(PASSED) :] for run in runs if run.startswith(PASSED)]
    if session:
        cues.note_failures(home, session, [run[len(FAILED) :] for run in runs if run.startswith(FAILED)])
    return bool(names and session) and cues.take_failures(home, session, names)


def read_action(agent: str, event: str, payload: str) -> tuple[str, str, list[str]] | None:
    """Return the working tree, session and cues of the tool call in a payload; None if it is not one we can read."""
    is_after = event in callers.AFTER_CALL_EVENTS
    if len(payload) > (LONGEST_CALL if event in callers.BEFORE_CALL_EVENTS else LONGEST_PAYLOAD):
        return None
    try:
        fields = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    strings = list(_walk(fields, "", False, 0))
    # Not what the agent asks of the tool, which may name any directory.
    places = [(name, text) for name, text, is_input in strings if not is_input]
    directory = next((text for field in callers.DIRECTORY_FIELDS for name, text in places if name == field), "")
    if not directory or "\0" in directory:
        return None
    root = cues.find_root(directory)
    session = next((text for field in callers.SESSION_FIELDS for name, text, _ in strings if name == field), "")
    # After a call, agents that heard about the file before it hear no more of it.
    has_files = not is_after or agent not in callers.HEAR_BEFORE_CALLS
    call_cues = list(_list_file_cues(strings, directory, root)) if has_files else []
    commands = [text for name, text, is_input in strings if is_input and name in callers.COMMAND_FIELDS]
    # After a call its command has been run, and only its result can remind of anything.
    if not is_after:
        call_cues += [cue for command in commands for cue in cues.list_command_cues(command)]
        work = next((text for name, text, is_input in strings if is_input and name in callers.WORK_FIELDS), "")
        place = os.path.join(directory, "" if "\0" in work else work)
        edited_files = [file for command in commands for file in shell_edits.find_edited_files(command)]
        call_cues += _make_file_cues(edited_files, place, root)
        paths = [cue[len(cues.make_file_cue("")) :] for cue in call_cues if cue.startswith(cues.make_file_cue(""))]
        tools = [text for name, text, _ in strings if name in TOOL_FIELDS]
        call_cues += cues.list_guardable_cues(commands, paths, tools)
    # Files and answers of memory are full of words like "error"; only commands and failures are looked at.
    elif commands or event.endswith("Failure"):
        outputs = [text for _, text, is_input in strings if not is_input]
        call_cues += cues.list_error_cues([line for text in outputs for line in cues.find_error_lines(text)])
        has_failed = event.endswith("Failure") or any(re.search(EXIT_CODE, text) for text in outputs)
        call_cues += (f"{FAILED if has_failed else PASSED}{run}" for run in map(_name_run, commands) if run)
    if is_after and any(re.search(OWN_TOOL, text) for name, text, _ in strings if name in TOOL_FIELDS):
        call_cues.append(REMEMBERED)
    return root, session, list(dict.fromkeys(call_cues))


def _name_run(command: str) -> str:
    """Return the words by which two runs of a command are the same, whatever their options; empty if it only looks."""
    runs = [words for words in cues.split_commands(command) if words[0] not in LOOKING]
    return " ; ".join(" ".join(words) for words in runs)


def _walk(value: Any, name: str, is_input: bool, depth: int) -> Iterator[tuple[str, str, bool]]:
    """Yield the name and text of every string, and whether it is part of what the agent asked of the tool."""
    if isinstance(value, str) and name in INPUT_FIELDS and value.startswith("{"):
        # Some clients write what they ask of a tool as JSON in a text.
        try:
            yield from _walk(json.loads(value), "", True, depth + 1)
        except (ValueError, RecursionError):
            yield name, value, is_input
    elif isinstance(value, str):
        yield name, value, is_input
    elif depth < DEEPEST and isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, key, is_input or key in INPUT_FIELDS, depth + 1)
    elif depth < DEEPEST and isinstance(value, list):
        for item in value:
            yield from _walk(item, name, is_input, depth + 1)


def _list_file_cues(strings: list[tuple[str, str, bool]], directory: str, root: str) -> Iterator[str]:
    for name, text, is_input in strings:
        if not is_input:
            continue
        paths = [text] if name in callers.FILE_FIELDS else []
        if "*** Begin Patch" in text:
            paths = [path for _, path in re.findall(callers.PATCH_HEADER, text, re.MULTILINE)]
        yield from _make_file_cues(paths, directory, root)


def _make_file_cues(paths: list[str], directory: str, root: str) -> Iterator[str]:
    """Yield the cues of files and of the folders around them."""
    for path in paths:
        for relative_path in _make_relative(path.strip(), directory, root) if "\0" not in path else ():
            place = relative_path
            while place:
                yield cues.make_file_cue(place)
                place = os.path.dirname(place)


def _make_relative(path: str, directory: str, root: str) -> list[str]:
    """Return the path from the top of the working tree, of the file and as it is written; none if it lies outside."""
    # Different where a folder is a link: a note or a guard may name either.
    written_path = os.path.normpath(os.path.join(os.path.realpath(directory), path))
    paths = dict.fromkeys((os.path.realpath(os.path.join(directory, path)), written_path))
    return [place[len(root) + 1 :] for place in paths if place.startswith(root + os.sep)]
