"""Decide at a tool call whether a memory may concern it, for any agent, without opening the store.

Light imports only: a hook runs this before and after every call of a tool.
"""

from __future__ import annotations

import os
import re

from hivemind.agents.callers import COMMAND_FIELDS, DIRECTORY_FIELDS, FILE_FIELDS, PATCH_HEADER, SESSION_FIELDS
from hivemind.formats import cue_file
from hivemind.text import cues

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LONGEST_PAYLOAD = 1 << 18
"""Characters; a longer payload is a large output, and reading it would cost more than it is worth."""
DEEPEST = 6
"""How deep fields of a call are nested at most."""
INPUT_FIELDS = ("tool_input", "toolArgs", "tool_call", "input", "args", "parameters")
"""Fields with what the agent asked of the tool; all others may hold what the tool answered."""


class Action:
    """A tool call in a payload: its session, its working tree, and its cues."""

    def __init__(self, session: str, root: str, call_cues: list[str]) -> None:
        self.session = session
        self.root = root
        self.cues = call_cues


def read_action(payload: str, *, has_result: bool, has_failed: bool, with_files: bool) -> Action | None:
    """Return the action of a payload; None if it is not one that we can read.

    ``with_files`` is false after a call for agents that heard about the file before it.
    """
    if len(payload) > LONGEST_PAYLOAD:
        return None
    # Here, because a hook at any other event does not need it.
    import json

    try:
        fields = json.loads(payload)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    strings = list(_walk(fields, "", False, 0))
    directory = next((text for name, text, _ in strings if name in DIRECTORY_FIELDS), "")
    if not directory or "\0" in directory:
        return None
    root = cue_file.find_root(directory)
    session = next((text for field in SESSION_FIELDS for name, text, _ in strings if name == field), "")
    # After a call its command has been run, and only its result can remind of anything.
    call_cues = list(_list_file_cues(strings, directory, root)) if with_files else []
    commands = [text for name, text, is_input in strings if is_input and name in COMMAND_FIELDS]
    if not has_result:
        call_cues += [cue for command in commands for cue in cues.list_command_cues(command)]
    # Files and answers of memory are full of words like "error"; only commands and failures are looked at.
    elif commands or has_failed:
        lines = [line for _, text, is_input in strings if not is_input for line in cues.find_error_lines(text)]
        call_cues += cues.list_error_cues(lines)
    return Action(session, root, list(dict.fromkeys(call_cues)))


def _walk(value: Any, name: str, is_input: bool, depth: int) -> Iterator[tuple[str, str, bool]]:
    """Yield the name and text of every string, and whether it is part of what the agent asked of the tool."""
    if isinstance(value, str):
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
        paths = [text] if name in FILE_FIELDS else []
        if "*** Begin Patch" in text:
            paths = [path for _, path in re.findall(PATCH_HEADER, text, re.MULTILINE)]
        for path in paths:
            if "\0" not in path and (place := _make_relative(path.strip(), directory, root)):
                yield cues.make_file_cue(place)


def _make_relative(path: str, directory: str, root: str) -> str:
    """Return the path from the top of the working tree; empty if it lies outside."""
    real_path = os.path.realpath(os.path.join(directory, path))
    return real_path[len(root) + 1 :] if real_path.startswith(root + os.sep) else ""
