"""What an agent is given beside the task: nothing, a file of notes, or Hivemind through its hooks and its server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hivemind.app import Hivemind
from hivemind.entrypoints import hook
from hivemind.entrypoints.eval.tasks import COMMON, Told
from hivemind.errors import Refused
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings

AGENT, SESSION, PERSON = "claude-code", "eval", "ada"
EARLY, LATE = datetime(2026, 2, 3, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)


class Nothing:
    """A cold start."""

    def begin(self, prompt: str) -> str:
        """What the agent reads before its first turn."""
        return ""

    def ask(self, question: str) -> str:
        """What memory answers; nothing where it cannot be asked."""
        return ""

    def saw(self, tool: str, given: dict[str, str], came_back: str, *, failed: bool) -> None:
        """Take note of what the agent did."""

    def close(self) -> None:
        """The session is over."""


class File(Nothing):
    """A plain CLAUDE.md or its like. Sessions append to it, so what was taken out comes back with one that knew it."""

    def __init__(self, file: Path, notes: Sequence[Told]) -> None:
        self._file = file
        self._file.write_text("# Notes\n\n" + "".join(f"- {note.text}\n" for note in (*COMMON, *notes)))

    def begin(self, prompt: str) -> str:
        """All of the file, as agents load it."""
        return self._file.read_text()


class Remembered(Nothing):
    """Hivemind, reached as an agent reaches it: hooks are run as commands, the server over its pipe."""

    def __init__(self, home: Path, root: Path) -> None:
        self.home, self._root = home, root
        self._server: subprocess.Popen[str] | None = None
        self._calls = 0

    def begin(self, prompt: str) -> str:
        """What the hooks say at the start of a session and on the prompt."""
        start = self._hook("SessionStart", source="startup")
        return "\n".join(filter(None, [start, self._hook("UserPromptSubmit", prompt=prompt, prompt_id="p1")]))

    def ask(self, question: str) -> str:
        """What the recall tool of the server says."""
        given = {"name": "recall", "arguments": {"query": question}}
        content = self._call("tools/call", given)["content"]
        return str(content[0]["text"])

    def saw(self, tool: str, given: dict[str, str], came_back: str, *, failed: bool) -> None:
        """Let the hook capture it."""
        self._calls += 1
        told: dict[str, Any] = {"tool_name": tool, "tool_input": given, "tool_use_id": f"t{self._calls}"}
        event, key = ("PostToolUseFailure", "error") if failed else ("PostToolUse", "tool_response")
        self._hook(event, **told, **{key: came_back})

    def close(self) -> None:
        """End the session and the server."""
        self._hook("SessionEnd", reason="exit")
        if self._server and self._server.stdin and self._server.stdout:
            self._server.stdin.close()
            self._server.wait(timeout=30)
            self._server.stdout.close()

    def environ(self) -> dict[str, str]:
        """What a command sees in which the agent's memory is this one."""
        return os.environ | {
            "HIVEMIND_HOME": str(self.home), "HIVEMIND_PERSON": PERSON,
            "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION, "CLAUDE_PROJECT_DIR": str(self._root),
        }  # fmt: skip

    def _hook(self, event: str, **payload: Any) -> str:
        told = {"session_id": SESSION, "cwd": str(self._root), "hook_event_name": event, **payload}
        command = [sys.executable, "-I", "-S", hook.__file__, "--home", str(self.home), AGENT, event]
        done = subprocess.run(
            command, input=json.dumps(told), env=self.environ(), capture_output=True, text=True, check=True
        )
        return str(json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]) if done.stdout else ""

    def _call(self, method: str, params: dict[str, Any]) -> Any:
        if self._server is None:
            command = [sys.executable, "-P", "-m", "hivemind", "mcp", "--home", str(self.home)]
            self._server = subprocess.Popen(
                command, cwd=self._root, env=self.environ(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            client = {"name": AGENT, "version": "1"}
            self._call("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        assert self._server.stdin
        assert self._server.stdout
        self._calls += 1
        request = {"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params}
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())["result"]


def tell(home: Path, root: Path, other: Path, notes: Iterable[Told], begin: datetime) -> None:
    """Let memory be told these notes by the person and agents who said them, a minute apart, where they said them."""
    last = ""
    for number, note in enumerate(notes):
        moment = begin + timedelta(minutes=number)
        where = other if note.elsewhere else root
        with opened(home, where, moment, by_agent=note.by_agent) as mind:
            kept = mind.remember(
                note.text, kind=note.kind, scope=note.scope, replaces=[last] if note.replaces and last else []
            )
            last = kept.id
            if note.erased:
                mind.erase(kept.id)
        if note.erased:
            with opened(home, where, moment, by_agent=True) as mind, suppress(Refused):
                mind.remember(note.text, kind=note.kind, scope=note.scope)


def opened(home: Path, directory: Path, moment: datetime, *, by_agent: bool = False) -> Hivemind:
    """The memory as a person or an agent has it open at a moment."""
    agent = Writer(actor="codex", channel=Channel.AGENT, session_id="earlier")
    writer = agent if by_agent else Writer(actor=PERSON, channel=Channel.PERSON)
    settings = Settings(home=home, person=PERSON)
    return Hivemind.open(directory=directory, settings=settings, writer=writer, clock=lambda: moment)
