"""The entries that we add to an agent's configuration files, and can remove again byte for byte.

A piece has no side effects: it takes the text of a file and returns the new text. ``plan_changes`` applies pieces to
the current files.
"""

import json
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from hivemind.agents import jsonc
from hivemind.agents.callers import BEFORE_CALL_EVENTS
from hivemind.agents.file_changes import FileChange, Purpose, find_obstacle
from hivemind.errors import InvalidInput
from hivemind.model.dataclass import dataclass
from hivemind.system import join_command

SERVER = "hivemind"
"""The name of our MCP server in every agent's configuration."""
MARK = "Written by `hivemind install`"
"""Marks the scripts that we wrote, so that uninstalling recognises them."""
OR_PASS = " || true"
"""Ends a command line. Python exits with 2 if the hook's file is gone; most agents then refuse prompts and calls."""
ESSENTIAL = frozenset({Purpose.SERVER, Purpose.HOOKS})
"""What an agent is not connected without; commands, rules and a status line are extras."""
TITLE_OF_RULE = "## Memory (hivemind)"
RULE = (
    f"{TITLE_OF_RULE}\n"
    "This project has a memory across sessions and agents: the MCP server `hivemind`. Use it at these moments:\n"
    "- Before you start on a task, and when a plan is approved: call `context`.\n"
    "- When a command or test fails: call `recall` with the error, before you try a fix.\n"
    "- When the user corrects you, or states a rule, preference or decision that holds beyond the task: call\n"
    "  `remember` with their words copied into `said`.\n"
    "- When you find out a cause, a command that works or a dead end: call `remember`."
)
"""Instructions for the model, for agents whose hooks cannot give it context. They name the moments: in a comparison by
others, agents searched in 16 % of tasks with one line and in 86 % with such a text. lab/notes/moments.md has our own.
"""

OWN_STATUS_LINE = re.compile(
    rf"[^;|&<>$`]*{SERVER}[^;|&<>$`]*[ /\\\\]statusline(?:\.py)?['\"]?(?: --home [^;|&<>$`]+)?"
)
"""Whatever the path before it; what contains a shell operator was composed by the user."""

FileReader = Callable[[Path], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallTarget:
    """Where to connect an agent: for the user, or in one project."""

    home: Path
    project: Path | None = None

    @property
    def root(self) -> Path:
        """The directory below which everything is written."""
        return self.project or self.home


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """The command lines of our programs."""

    hook: tuple[str, ...] = ("hivemind-hook",)
    server: tuple[str, ...] = ("hivemind", "mcp")
    status_line: tuple[str, ...] = ("hivemind", "statusline")
    passes_when_gone: bool = False
    """Whether a hook that cannot be started counts as one that says nothing; needs a POSIX shell."""

    def build_hook_command(self, agent: str, event: str) -> str:
        """Return the hook's command line for a shell."""
        return join_command((*self.hook, agent, event)) + (OR_PASS if self.passes_when_gone else "")

    def build_server_entry(self, **extra: Any) -> dict[str, Any]:
        """Return the MCP server's entry in the format of most agents."""
        return {"command": self.server[0], "args": list(self.server[1:]), **extra}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece(ABC):
    """One entry of ours in one file."""

    path: Path
    purpose: Purpose = Purpose.SERVER

    @abstractmethod
    def add_to(self, text: str) -> str:
        """Return the file's text with this piece; the same text if it has it already."""

    @abstractmethod
    def remove_from(self, text: str) -> str:
        """Return the file's text without this piece; empty if nothing else is left."""

    @abstractmethod
    def is_in(self, text: str) -> bool:
        """Return whether the file has this piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonEntry(Piece):
    """Our MCP server or our status line in a JSON file that has other entries."""

    value: dict[str, Any]
    keys: tuple[str, ...] = ("mcpServers", SERVER)
    own_command: re.Pattern[str] = re.compile(".*", re.DOTALL)
    """How the command of an entry of ours reads, where the user may have one of their own under the same keys."""

    def add_to(self, text: str) -> str:
        """Return the file's text with our entry; one of the user's stays, because there can be only one."""
        is_free = jsonc.get(text, self.keys) is None or self.is_in(text)
        return jsonc.put(text, self.keys, self.value) if is_free else text

    def remove_from(self, text: str) -> str:
        """Return the file's text without our entry."""
        return jsonc.remove(text, self.keys) if self.is_in(text) else text

    def is_in(self, text: str) -> bool:
        """Return whether the file has our entry."""
        entry = jsonc.get(text, self.keys)
        command = str(entry.get("command", "")) if isinstance(entry, dict) else ""
        return entry is not None and bool(self.own_command.fullmatch(command))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks(Piece):
    """Our hooks in a JSON file that may have hooks of others: ``hooks.EVENT`` is a list."""

    agent: str
    entries: dict[str, dict[str, Any]]
    """The entry to append for each event. An old one is recognised by our command in it, whatever its path."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members that a new file needs beside its hooks."""
    key: str = "hooks"
    """The member that has the hooks."""
    purpose: Purpose = Purpose.HOOKS

    def add_to(self, text: str) -> str:
        """Return the file's text with our hook for each event; hooks of others stay where they are."""
        text = text if text.strip() else self._new_file_text
        for event, entry in self.entries.items():
            index = self._find_index(text, event)
            keys: list[str | int] = [self.key, event]
            # Appended last, because Codex remembers trust in a hook by its index.
            text = jsonc.append(text, keys, entry) if index is None else jsonc.put(text, [*keys, index], entry)
        return text

    def remove_from(self, text: str) -> str:
        """Return the file's text without our hooks."""
        for event in reversed(self.entries):
            index = self._find_index(text, event)
            if index is not None:
                text = jsonc.remove(text, [self.key, event, index])
        return "" if text == self._new_file_text else text

    def is_in(self, text: str) -> bool:
        """Return whether the file has our hook for each event."""
        return not self.find_missing(text)

    def find_missing(self, text: str) -> tuple[str, ...]:
        """Return the events that have no hook of ours."""
        return tuple(event for event in self.entries if self._find_index(text, event) is None)

    @property
    def _new_file_text(self) -> str:
        return json.dumps(dict(self.extra), indent=2) + "\n" if self.extra else ""

    def _find_index(self, text: str, event: str) -> int | None:
        entries = jsonc.get(text, [self.key, event])
        if not isinstance(entries, list):
            return None
        # Whatever the path before it: an update can move our program.
        own_command = re.compile(rf'{SERVER}.* {self.agent} {re.escape(event)}(?:{re.escape(OR_PASS)})?"')
        return next(
            (i for i, entry in enumerate(entries) if own_command.search(json.dumps(entry, ensure_ascii=False))), None
        )


def build_claude_hooks(
    path: Path,
    agent: str,
    launch: Launch,
    events: str,
    *,
    units_per_second: int = 1,
    end_timeout_seconds: int = 5,
    tools_before_call: str = "",
    **group: Any,
) -> Hooks:
    """Return hooks that run our command at these events, in the format of Claude Code, which many agents share."""
    entries = {}
    for event in events.split():
        timeout = {"SessionStart": 15, "SessionEnd": end_timeout_seconds}.get(event, 10) * units_per_second
        command = {"type": "command", "command": launch.build_hook_command(agent, event), "timeout": timeout}
        # A hook before every look into a file would slow the agent down for nothing.
        matcher = {"matcher": tools_before_call} if tools_before_call and event in BEFORE_CALL_EVENTS else {}
        entries[event] = {**group, **matcher, "hooks": [command]}
    return Hooks(path=path, agent=agent, entries=entries)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile(Piece):
    """A file that only we write: a hook script, a plugin or a rule."""

    text: str
    mark: str = TITLE_OF_RULE
    """A part of the text by which the file is recognised as ours."""
    purpose: Purpose = Purpose.INSTRUCTIONS

    def add_to(self, text: str) -> str:
        """Return our text; refuse to replace a file of the user's with the same name."""
        if text and not self.is_in(text):
            raise InvalidInput("a file of yours has this name and was not changed; rename it and try again")
        return self.text

    def remove_from(self, text: str) -> str:
        """Return an empty text if the file is ours."""
        return "" if self.is_in(text) else text

    def is_in(self, text: str) -> bool:
        """Return whether the file is ours."""
        return self.mark in text


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines(Piece):
    """Lines of ours at the end of a text or TOML file, up to the next blank line or table."""

    text: str

    def add_to(self, text: str) -> str:
        """Return the file's text with our lines, at the end unless they are already elsewhere."""
        if self.is_in(text):
            start, end = self._find_span(text)
            result = text[:start] + self.text + text[end:]
        elif text:
            # If the file ended with a line break, a blank line goes before ours and a line break after it:
            # remove_from can then restore the exact end.
            result = text + (f"\n{self.text}\n" if text.endswith("\n") else f"\n{self.text}")
        else:
            result = self.text + "\n"
        if self.path.suffix == ".toml":
            _check_toml(text, "not valid TOML ({}); fix the file by hand and try again")
            _check_toml(result, "adding our table would make it invalid TOML ({}); add it by hand")
        return result

    def remove_from(self, text: str) -> str:
        """Return the file's text without our lines and the line break before them."""
        if not self.is_in(text):
            return text
        start, end = self._find_span(text)
        last = text[end:].strip("\n") == ""
        if start == 0:
            return text[end:].lstrip("\n")
        return text[: start - 1] + ("" if last else text[end + 1 :])

    def is_in(self, text: str) -> bool:
        """Return whether the file has our first line."""
        return f"\n{self._mark}\n" in f"\n{text}\n"

    @property
    def _mark(self) -> str:
        return self.text.split("\n", 1)[0]

    def _find_span(self, text: str) -> tuple[int, int]:
        start = f"\n{text}\n".index(f"\n{self._mark}\n")
        end = re.compile(r"\n(?=\n|\[)").search(text, start)
        return start, (end.start() if end else len(text.rstrip("\n")))


def _check_toml(text: str, message: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(message.format(error)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlItem(Piece):
    """Our item in a top-level list of a YAML file.

    It goes first in the list, so that the rest of the file need not be parsed.
    """

    key: str
    fields: Mapping[str, Any]
    new_file_text: str
    """What a new file needs beside the list."""

    def add_to(self, text: str) -> str:
        """Return the file's text with our item."""
        text = self.remove_from(text) or self.new_file_text
        head = re.compile(rf"(?m)^{self.key}:([^\n#]*)(?:#.*)?\n").search(text)
        if head is None:
            # A file without a final line break gets none after our item either, so that remove_from can restore it.
            ends = text.endswith("\n") or not text
            return f"{text}{'' if ends else chr(10)}{self.key}:\n{self._render_item('  ')}{chr(10) if ends else ''}"
        if head[1].strip():
            raise InvalidInput(f"{self.key} is written on one line; add our server by hand")
        following = re.compile(r"(?:\s*#.*\n|\s*\n)*([ ]*)- ").match(text, head.end())
        item = self._render_item(following[1] if following else "  ")
        return f"{text[: head.end()]}{item}\n{text[head.end() :]}"

    def remove_from(self, text: str) -> str:
        """Return the file's text without our item, and without the list if we added it."""
        item_match = self._ours.search(text)
        if item_match is None:
            return text
        before, after = text[: item_match.start()], text[item_match.end() :]
        head = f"{self.key}:\n"
        if after or not before.endswith(head):
            return before + after
        before = before.removesuffix(head)
        before = before if text.endswith("\n") else before.removesuffix("\n")
        return "" if before == self.new_file_text else before

    def is_in(self, text: str) -> bool:
        """Return whether the file has an item of our name."""
        return bool(self._ours.search(text))

    @property
    def _ours(self) -> re.Pattern[str]:
        return re.compile(rf"(?m)^([ ]*)- name: {SERVER}(?:\n\1[ ]+.*)*\n?")

    def _render_item(self, indent: str) -> str:
        lines = [f"{name}: {value if name == 'name' else json.dumps(value)}" for name, value in self.fields.items()]
        return f"{indent}- " + f"\n{indent}  ".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallPlan:
    """The changes that connect or disconnect an agent, notes for the user, and what keeps us from doing all of it."""

    changes: tuple[FileChange, ...] = ()
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def plan_changes(pieces: Sequence[Piece], read: FileReader, *, remove: bool = False) -> InstallPlan:
    """Plan the changes that add or remove these pieces; files left empty are deleted.

    If the server or the hooks cannot be added, nothing is: half a connection looks like a whole one.
    """
    changes: dict[Path, FileChange] = {}
    notes: list[str] = []
    problems: list[str] = []
    # Pieces are removed in reverse order, so that each finds the text as it left it.
    for piece in reversed(pieces) if remove else pieces:
        try:
            change = changes.get(piece.path) or _start_change(piece.path, read(piece.path))
            text = change.after or ""
            new_text = piece.remove_from(text) if remove else piece.add_to(text)
        except InvalidInput as problem:
            # A file of the user's with the name of ours is their choice; the rest works without it.
            is_serious = piece.purpose in ESSENTIAL and not isinstance(piece, OwnFile)
            (problems if is_serious else notes).append(f"{piece.path}: {problem}")
            continue
        purposes = (*change.purposes, piece.purpose) if new_text != text else change.purposes
        changes[piece.path] = replace(change, after=new_text or None, purposes=purposes)
    for path, change in list(changes.items()):
        obstacle = None
        if (change.after or "") == (change.before or "") or (obstacle := find_obstacle(path)):
            del changes[path]
        if obstacle:
            (problems if ESSENTIAL & set(change.purposes) else notes).append(obstacle)
    return InstallPlan(
        changes=() if problems and not remove else tuple(changes.values()),
        notes=tuple(note for note in dict.fromkeys(notes) if note not in problems),
        problems=tuple(dict.fromkeys(problems)),
    )


def _start_change(path: Path, content: str | None) -> FileChange:
    return FileChange(path=path, before=content, after=content)
