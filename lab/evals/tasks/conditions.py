"""The memories an agent can have during a task: none, a file of notes, or Hivemind through its hooks and server."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hivemind
from hivemind.errors import Refused
from hivemind.hivemind import Hivemind
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings
from lab.evals.tasks.task import COMMON_NOTES, TaskNote

AGENT, SESSION, PERSON = "claude-code", "eval", "ada"
EARLY, LATE = datetime(2026, 2, 3, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)
"""A day after the shop's second commit, and a day after its third."""
HOOK = Path(str(hivemind.__file__)).parent / "entrypoints" / "hook.py"


class NoMemory:
    """An agent without memory."""

    def begin(self, prompt: str) -> str:
        """Return the context that the agent gets before its first turn."""
        return ""

    def recall(self, question: str) -> str:
        """Return the answer of the recall tool; empty where there is none."""
        return ""

    def capture(self, tool: str, arguments: dict[str, str], output: str, *, is_error: bool) -> None:
        """Record a tool call of the agent."""

    def close(self) -> None:
        """End the session."""


class NotesFile(NoMemory):
    """A CLAUDE.md or similar. Sessions append to it, so an erased note comes back."""

    def __init__(self, file: Path, notes: Sequence[TaskNote]) -> None:
        self._file = file
        self._file.write_text("# Notes\n\n" + "".join(f"- {note.text}\n" for note in (*COMMON_NOTES, *notes)), "utf-8")

    def begin(self, prompt: str) -> str:
        """Return the whole file, as agents load it."""
        return self._file.read_text("utf-8")


class ConnectedMemory(NoMemory):
    """Hivemind as an agent reaches it: hooks run as commands, the server over a pipe."""

    def __init__(self, home: Path, root: Path) -> None:
        self.home, self._root = home, root
        self._server: subprocess.Popen[str] | None = None
        self._calls = 0

    def begin(self, prompt: str) -> str:
        """Return the output of the hooks for the start of a session and for the prompt."""
        brief = self._run_hook("SessionStart", source="startup")
        return "\n".join(filter(None, [brief, self._run_hook("UserPromptSubmit", prompt=prompt, prompt_id="p1")]))

    def recall(self, question: str) -> str:
        """Call the server's recall tool."""
        result = self._request("tools/call", {"name": "recall", "arguments": {"query": question}})
        return str(result["content"][0]["text"])

    def capture(self, tool: str, arguments: dict[str, str], output: str, *, is_error: bool) -> None:
        """Run the hook that captures a tool call."""
        self._calls += 1
        call: dict[str, Any] = {"tool_name": tool, "tool_input": arguments, "tool_use_id": f"t{self._calls}"}
        event, key = ("PostToolUseFailure", "error") if is_error else ("PostToolUse", "tool_response")
        self._run_hook(event, **call, **{key: output})

    def close(self) -> None:
        """End the session and the server."""
        self._run_hook("SessionEnd", reason="exit")
        if self._server and self._server.stdin and self._server.stdout:
            self._server.stdin.close()
            self._server.wait(timeout=30)
            self._server.stdout.close()

    def environ(self) -> dict[str, str]:
        """Return the environment of an agent that uses this memory."""
        return os.environ | {
            "HIVEMIND_HOME": str(self.home), "HIVEMIND_PERSON": PERSON,
            "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": SESSION, "CLAUDE_PROJECT_DIR": str(self._root),
            # On a busy machine a hook may not get to its answer in time; here it counts what is told.
            "HIVEMIND_HOOK_SECONDS": "60",
        }  # fmt: skip

    def _run_hook(self, event: str, **payload: Any) -> str:
        payload = {"session_id": SESSION, "cwd": str(self._root), "hook_event_name": event, **payload}
        # As agents run it: by its path and without site packages.
        command = [sys.executable, "-I", "-S", str(HOOK), "--home", str(self.home), AGENT, event]
        process = subprocess.run(
            command,
            input=json.dumps(payload),
            env=self.environ(),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        )
        output = json.loads(process.stdout)["hookSpecificOutput"] if process.stdout else {}
        # A guard that refuses gives its reason in a field of its own.
        return str(output.get("permissionDecisionReason") or output.get("additionalContext", ""))

    def _request(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request to the server, which is started by the first one."""
        if self._server is None:
            command = [sys.executable, "-P", "-m", "hivemind", "mcp", "--home", str(self.home)]
            self._server = subprocess.Popen(
                command,
                cwd=self._root,
                env=self.environ(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
            client = {"name": AGENT, "version": "1"}
            self._request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        assert self._server.stdin
        assert self._server.stdout
        self._calls += 1
        request = {"jsonrpc": "2.0", "id": self._calls, "method": method, "params": params}
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return json.loads(self._server.stdout.readline())["result"]


def store_notes(home: Path, root: Path, other: Path, notes: Iterable[TaskNote], begin: datetime) -> None:
    """Store notes a minute apart, each by the person or agent and in the project that it comes from."""
    previous_id = ""
    for minutes, note in enumerate(notes):
        moment = begin + timedelta(minutes=minutes)
        directory = other if note.is_elsewhere else root
        replaces = [previous_id] if note.is_replacement and previous_id else []
        with open_mind(home, directory, moment, by_agent=note.by_agent) as mind:
            previous_id = mind.remember(note.text, kind=note.kind, scope=note.scope, replaces=replaces).id
            if note.is_erased:
                mind.erase(previous_id)
        if note.is_erased:
            # Must be refused; if it is not, the check of the erased value fails.
            with open_mind(home, directory, moment, by_agent=True) as mind, suppress(Refused):
                mind.remember(note.text, kind=note.kind, scope=note.scope)


def open_mind(home: Path, directory: Path, moment: datetime, *, by_agent: bool = False) -> Hivemind:
    """Open the memory as a person or an agent at a moment."""
    agent = Writer(actor="codex", channel=Channel.AGENT, session_id="earlier")
    writer = agent if by_agent else Writer(actor=PERSON, channel=Channel.PERSON)
    settings = Settings(home=home, person=PERSON)
    return Hivemind.open(directory=directory, settings=settings, writer=writer, clock=lambda: moment)
