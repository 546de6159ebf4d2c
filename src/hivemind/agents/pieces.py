"""What we put into an agent's configuration, piece by piece, each able to take itself out again.

A piece is pure: text of a file in, text out. ``planned`` lays pieces over the files as they are.
"""

import json
import re
import shlex
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hivemind.agents import jsonc
from hivemind.agents.changes import Change
from hivemind.errors import InvalidInput

SERVER = "hivemind"
"""The name under which every agent knows our MCP server."""
MARK = "Written by `hivemind install`"
"""By this a program of ours is known again."""
TITLE_OF_RULE = "## Memory (hivemind)"
RULE = (
    f"{TITLE_OF_RULE}\n"
    "This project has a memory across sessions and agents, served by the MCP server `hivemind`.\n"
    "Before you start on a task, call its `context` tool: conventions, decisions, known fixes.\n"
    "When you learn something that will matter next time, or are corrected, call `remember`."
)
"""What we tell the model in agents whose hooks cannot."""

Files = Callable[[Path], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an agent is to be connected: for the user, or in one project."""

    home: Path
    project: Path | None = None

    @property
    def root(self) -> Path:
        """The directory below which everything is written."""
        return self.project or self.home


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How our programs are started: each a command line whose first word is an absolute path."""

    hook: tuple[str, ...] = ("hivemind-hook",)
    server: tuple[str, ...] = ("hivemind", "mcp")

    def command(self, agent: str, event: str) -> str:
        """The hook's command line for a shell."""
        return shlex.join((*self.hook, agent, event))

    def entry(self, **more: Any) -> dict[str, Any]:
        """The MCP server as most agents write it."""
        return {"command": self.server[0], "args": list(self.server[1:]), **more}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece(ABC):
    """Something of ours in one file."""

    path: Path
    what: str = "server"
    """What it connects: the server, hooks, instructions or trust."""

    @abstractmethod
    def added(self, text: str) -> str:
        """The file with this in it; the same text if it is there already."""

    @abstractmethod
    def removed(self, text: str) -> str:
        """The file without it; nothing if that leaves nothing of anybody's."""

    @abstractmethod
    def is_in(self, text: str) -> bool:
        """Whether the file holds it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server(Piece):
    """Our MCP server among those in a JSON file."""

    value: dict[str, Any]
    under: str = "mcpServers"

    def added(self, text: str) -> str:
        """The file with our server."""
        return jsonc.put(text, (self.under, SERVER), self.value)

    def removed(self, text: str) -> str:
        """The file without our server."""
        return jsonc.dropped(text, (self.under, SERVER)) if self.is_in(text) else text

    def is_in(self, text: str) -> bool:
        """Whether a server of our name is there."""
        return jsonc.get(text, (self.under, SERVER)) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks(Piece):
    """Our hooks in a JSON file that may hold hooks of others: ``hooks.EVENT`` is a list."""

    agent: str
    entries: dict[str, dict[str, Any]]
    """What to append for each event. It is known again by our command in it, wherever that lies."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members that a new file needs beside its hooks."""
    what: str = "hooks"

    def added(self, text: str) -> str:
        """The file with a hook of ours for each event; those of others keep their places."""
        text = text if text.strip() else self._fresh
        for event, entry in self.entries.items():
            index = self._index(text, event)
            keys: list[str | int] = ["hooks", event]
            text = jsonc.append(text, keys, entry) if index is None else jsonc.put(text, [*keys, index], entry)
        return text

    def removed(self, text: str) -> str:
        """The file without our hooks."""
        for event in reversed(self.entries):
            index = self._index(text, event)
            if index is not None:
                text = jsonc.dropped(text, ["hooks", event, index])
        return "" if text == self._fresh else text

    def is_in(self, text: str) -> bool:
        """Whether a hook is there for each event."""
        return not self.missing(text)

    def missing(self, text: str) -> tuple[str, ...]:
        """The events for which there is no hook of ours."""
        return tuple(event for event in self.entries if self._index(text, event) is None)

    @property
    def _fresh(self) -> str:
        return json.dumps(dict(self.extra), indent=2) + "\n" if self.extra else ""

    def _index(self, text: str, event: str) -> int | None:
        held = jsonc.get(text, ["hooks", event])
        if not isinstance(held, list):
            return None
        ours = re.compile(rf'{SERVER}.* {self.agent} {re.escape(event)}"')
        return next((i for i, one in enumerate(held) if ours.search(json.dumps(one, ensure_ascii=False))), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnFile(Piece):
    """A file that is ours alone: a program that is a hook, or a rule."""

    text: str
    mark: str = TITLE_OF_RULE
    """A part of the text by which it is known again."""
    what: str = "instructions"

    def added(self, text: str) -> str:
        """The file as we write it; a file of the user's with the same name is left to them."""
        if text and not self.is_in(text):
            raise InvalidInput("there is a file of yours with that name, which stays as it is")
        return self.text

    def removed(self, text: str) -> str:
        """Nothing, if it is ours."""
        return "" if self.is_in(text) else text

    def is_in(self, text: str) -> bool:
        """Whether the file is ours."""
        return self.mark in text


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines(Piece):
    """Lines of ours at the end of a text or TOML file, up to the next blank line or table."""

    text: str

    def added(self, text: str) -> str:
        """The file with our lines, last unless they stood elsewhere, and still TOML if it was."""
        if self.is_in(text):
            start, end = self._span(text)
            changed = text[:start] + self.text + text[end:]
        elif text:
            # One line break or two in front tells whether the file ended with one before.
            changed = text + (f"\n{self.text}\n" if text.endswith("\n") else f"\n{self.text}")
        else:
            changed = self.text + "\n"
        try:
            tomllib.loads(changed if self.path.suffix == ".toml" else "")
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(f"our table does not go with what is there ({error}); add it by hand") from None
        return changed

    def removed(self, text: str) -> str:
        """The file without our lines and the line break that set them off."""
        if not self.is_in(text):
            return text
        start, end = self._span(text)
        last = text[end:].strip("\n") == ""
        if start == 0:
            return text[end:].lstrip("\n")
        return text[: start - 1] + ("" if last else text[end + 1 :])

    def is_in(self, text: str) -> bool:
        """Whether our first line is in it."""
        return f"\n{self._mark}\n" in f"\n{text}\n"

    @property
    def _mark(self) -> str:
        return self.text.split("\n", 1)[0]

    def _span(self, text: str) -> tuple[int, int]:
        start = f"\n{text}\n".index(f"\n{self._mark}\n")
        end = re.compile(r"\n(?=\n|\[)").search(text, start)
        return start, (end.start() if end else len(text.rstrip("\n")))


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlItem(Piece):
    """An item of ours in a list at the top of a YAML file, first in it; the rest of the file is not read."""

    key: str
    fields: Mapping[str, Any]
    fresh: str
    """What a new file needs beside the list."""

    def added(self, text: str) -> str:
        """The file with our item."""
        text = self.removed(text) or self.fresh
        head = re.compile(rf"(?m)^{self.key}:([^\n#]*)(?:#.*)?\n").search(text)
        if head is None:
            # A file that did not end its last line is left so, which tells us what to take back.
            ends = text.endswith("\n") or not text
            return f"{text}{'' if ends else chr(10)}{self.key}:\n{self._item('  ')}{chr(10) if ends else ''}"
        if head[1].strip():
            raise InvalidInput(f"{self.key} is written on one line there; add our server by hand")
        following = re.compile(r"(?:\s*#.*\n|\s*\n)*([ ]*)- ").match(text, head.end())
        item = self._item(following[1] if following else "  ")
        return f"{text[: head.end()]}{item}\n{text[head.end() :]}"

    def removed(self, text: str) -> str:
        """The file without our item, nor the list if it holds nothing else and stands last, as we write it."""
        found = self._ours.search(text)
        if found is None:
            return text
        before, rest = text[: found.start()], text[found.end() :]
        head = f"{self.key}:\n"
        if rest or not before.endswith(head):
            return before + rest
        before = before.removesuffix(head)
        before = before if text.endswith("\n") else before.removesuffix("\n")
        return "" if before == self.fresh else before

    def is_in(self, text: str) -> bool:
        """Whether an item of our name is in it."""
        return bool(self._ours.search(text))

    @property
    def _ours(self) -> re.Pattern[str]:
        return re.compile(rf"(?m)^([ ]*)- name: {SERVER}(?:\n\1[ ]+.*)*\n?")

    def _item(self, indent: str) -> str:
        lines = [f"{name}: {value if name == 'name' else json.dumps(value)}" for name, value in self.fields.items()]
        return f"{indent}- " + f"\n{indent}  ".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The changes that connect an agent or take it back, and what the user should know."""

    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


def planned(pieces: Sequence[Piece], place: Place, read: Files, *, back: bool = False) -> Plan:
    """The changes that put the pieces in, or take them back, and files with them that then hold nothing."""
    before: dict[Path, str | None] = {}
    after: dict[Path, str] = {}
    what: dict[Path, list[str]] = {}
    notes: list[str] = []
    # What went in last comes out first: only so each finds the text as it left it.
    for piece in reversed(pieces) if back else pieces:
        before.setdefault(piece.path, read(piece.path))
        text = after.setdefault(piece.path, before[piece.path] or "")
        try:
            after[piece.path] = piece.removed(text) if back else piece.added(text)
        except InvalidInput as problem:
            notes.append(f"{piece.path}: {problem}")
        if after[piece.path] != text:
            what.setdefault(piece.path, []).append(piece.what)
    changes = (
        Change(path=path, before=before[path], after=text or None, root=place.root, what=tuple(what[path]))
        for path, text in after.items()
        if text != (before[path] or "")
    )
    return Plan(changes=tuple(changes), notes=tuple(notes))
