"""A client of our server: a real process, spoken to line by line."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "2"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Client:
    """One conversation."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._number = 0

    def send(self, line: str) -> Any:
        """Whatever comes back for a line."""
        assert self._process.stdout
        self.post(line)
        return json.loads(self._process.stdout.readline())

    def post(self, line: str) -> None:
        """A line for which nothing comes back."""
        assert self._process.stdin
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def tell(self, method: str) -> None:
        """A notification, which gets no reply."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method}) + "\n")

    def ask(self, method: str, **params: Any) -> Any:
        """The reply to a request."""
        self._number += 1
        reply = self.send(json.dumps({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}))
        assert reply["id"] == self._number
        return reply

    def shake_hands(self, version: str = "2025-11-25", name: str = "test") -> Any:
        """As clients did until 2025."""
        result = self.ask(
            "initialize", protocolVersion=version, capabilities={}, clientInfo={"name": name, "version": "1"}
        )["result"]
        self.tell("notifications/initialized")
        return result

    def call(self, tool: str, meta: dict[str, Any] | None = None, **arguments: Any) -> tuple[str, bool]:
        """What a tool says, and whether it failed."""
        result = self.ask("tools/call", name=tool, arguments=arguments, _meta=meta or {})["result"]
        return result["content"][0]["text"], result["isError"]


@contextmanager
def connected(directory: Path) -> Iterator[Client]:
    """A server started the way an agent starts it, in a directory."""
    command = [sys.executable, "-P", "-m", "hivemind", "mcp"]
    process = subprocess.Popen(command, cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with process:
        yield Client(process)
        assert process.stdin
        process.stdin.close()
        assert process.wait(timeout=10) == 0
