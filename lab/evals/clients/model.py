"""A fake model: a local HTTP server that speaks the four protocols of coding agents.

It follows a script of tool calls, one per turn, and keeps every request, so that a test can see what reached the model.
"""

import gzip
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any, TypeVar

from lab.evals.clients import dialects
from lab.evals.clients.dialects import Call, Reply
from lab.evals.local_server import serve_locally

MODELS = ("stub-model", "gemini-2.5-pro")
SUBAGENT_SECONDS = 20
"""How long the end of a session is put off for the first request of a subagent."""
NO_TOOL = "There is no tool {}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A call that the model makes, by the end of the tool's name: every client adds its own prefix."""

    tool: str
    arguments: dict[str, Any]
    text: str = ""
    """What the model says before the call."""


@dataclass(slots=True)
class Model:
    """A script of calls, and the requests so far."""

    marker: str
    """A text in the prompt; requests without it are side requests of the client, such as for titles."""
    script: Sequence[Step] = ()
    address: str = ""
    turns: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    """For each request of the conversation, the names of its tools and its whole body."""
    task: str = ""
    """A text in the task of the subagent that the script starts; empty if it starts none."""
    subagent_request: str = ""
    """The first request of that subagent."""
    has_subagent: threading.Event = field(default_factory=threading.Event)

    def begin(self, script: Sequence[Step], task: str = "") -> None:
        """Start a new conversation."""
        self.script, self.turns = script, []
        self.task, self.subagent_request = task, ""
        self.has_subagent.clear()

    def step(self, call_count: int, body: dict[str, Any]) -> Step | None:
        """Return the step after that many calls; none at the end of the script."""
        return self.script[call_count] if call_count < len(self.script) else None

    def say(self, body: dict[str, Any], dialect: dialects.Dialect) -> Reply:
        """Return the next step of the script, after a search for its tool where the client does not list it."""
        tools = dialect.tools(body)
        request = json.dumps(body, ensure_ascii=False)
        if self.marker not in request or not tools:
            self._notice_subagent(request)
            return Reply(text="OK")
        self.turns.append((tuple(tool.name for tool in tools), request))
        calls = dialect.calls(body)
        tool_calls = [name for name in calls if name not in dialects.SEARCHES]
        step = self.step(len(tool_calls), body)
        if step is None:
            # Codex starts subagents in the background and ends them with the session.
            if self.task:
                self.has_subagent.wait(SUBAGENT_SECONDS)
            return Reply(text="All done.")
        matches = [tool for tool in tools if tool.name.endswith(step.tool)]
        tool = min(matches, key=lambda tool: len(tool.name), default=None)
        if tool:
            return Reply(text=step.text, call=Call(tool=tool, arguments=step.arguments))
        search = next((tool for tool in tools if tool.name in dialects.SEARCHES), None)
        if search and len(calls) - len(tool_calls) < 3:
            return Reply(call=Call(tool=search, arguments={"query": step.tool}))
        return Reply(text=NO_TOOL.format(step.tool))

    def _notice_subagent(self, request: str) -> None:
        if self.task and self.task in request and not self.subagent_request:
            self.subagent_request = request
            self.has_subagent.set()


AnyModel = TypeVar("AnyModel", bound=Model)


@contextmanager
def serve(model: AnyModel) -> Iterator[AnyModel]:
    """Serve the model on a local address."""

    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words: Any) -> None:
            """Log nothing."""

        def do_GET(self) -> None:
            """List the models."""
            models = [{"id": name, "object": "model", "created": 0, "owned_by": "stub"} for name in MODELS]
            self._send("application/json", json.dumps({"object": "list", "data": models}).encode())

        def do_POST(self) -> None:
            """Answer one turn of the conversation."""
            body, path = json.loads(self._body() or b"{}"), self.path.split("?")[0]
            dialect = dialects.of(path)
            if dialect is None:
                self._send("application/json", b'{"input_tokens": 100, "totalTokens": 100}')
                return
            reply = model.say(body, dialect)
            streams = body.get("stream") or "streamGenerateContent" in path
            if streams:
                self._send("text/event-stream", "".join(dialect.stream(body, reply)).encode())
            else:
                self._send("application/json", json.dumps(dialect.whole(body, reply)).encode())

        def _body(self) -> bytes:
            if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
                pieces = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    pieces.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                raw = b"".join(pieces)
            else:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            return gzip.decompress(raw) if self.headers.get("Content-Encoding") == "gzip" else raw

        def _send(self, kind: str, raw: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    with serve_locally(Requests) as model.address:
        yield model
