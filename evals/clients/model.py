"""A stand-in for a model: an HTTP server on this machine that speaks the four dialects coding agents speak.

It follows a script of tool calls, one a turn, and keeps every request: what reached the model is what was sent here.
"""

import gzip
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from evals.clients import dialects
from evals.clients.dialects import Call, Said

MODELS = ("stub-model", "gemini-2.5-pro")
NO_TOOL = "There is no tool {}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A call the model makes, by the end of the tool's name: every agent puts something of its own before it."""

    tool: str
    arguments: dict[str, Any]
    text: str = ""
    """What it says before the call."""


@dataclass(slots=True)
class Model:
    """What it will do, and what it was asked."""

    marker: str
    """Stands in the prompt; requests without it are the agent's own business, such as titles."""
    script: Sequence[Step] = ()
    address: str = ""
    turns: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    """Of each request of the conversation, the names of its tools and all that was in it."""

    def begin(self, script: Sequence[Step]) -> None:
        """A conversation of its own."""
        self.script, self.turns = script, []

    def step(self, taken: int, body: dict[str, Any]) -> Step | None:
        """What it does after so many calls; nothing at the end."""
        return self.script[taken] if taken < len(self.script) else None

    def say(self, body: dict[str, Any], dialect: dialects.Dialect) -> Said:
        """The next step of the script, after finding its tool if the agent keeps it behind a search."""
        tools = dialect.tools(body)
        written = json.dumps(body, ensure_ascii=False)
        if self.marker not in written or not tools:
            return Said(text="OK")
        self.turns.append((tuple(tool.name for tool in tools), written))
        done = dialect.calls(body)
        taken = [name for name in done if name not in dialects.SEARCHES]
        step = self.step(len(taken), body)
        if step is None:
            return Said(text="All done.")
        named = [tool for tool in tools if tool.name.endswith(step.tool)]
        known = min(named, key=lambda tool: len(tool.name), default=None)
        if known:
            return Said(text=step.text, call=Call(tool=known, arguments=step.arguments))
        search = next((tool for tool in tools if tool.name in dialects.SEARCHES), None)
        if search and len(done) - len(taken) < 3:
            return Said(call=Call(tool=search, arguments={"query": step.tool}))
        return Said(text=NO_TOOL.format(step.tool))


AnyModel = TypeVar("AnyModel", bound=Model)


@contextmanager
def running(model: AnyModel) -> Iterator[AnyModel]:
    """The model, answering on an address of its own."""

    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words: Any) -> None:
            """Nobody watches."""

        def do_GET(self) -> None:
            """Which models there are."""
            listed = [{"id": name, "object": "model", "created": 0, "owned_by": "stub"} for name in MODELS]
            self._send("application/json", json.dumps({"object": "list", "data": listed}).encode())

        def do_POST(self) -> None:
            """A turn of the conversation."""
            body, path = json.loads(self._body() or b"{}"), self.path.split("?")[0]
            dialect = dialects.of(path)
            if dialect is None:
                self._send("application/json", b'{"input_tokens": 100, "totalTokens": 100}')
                return
            said = model.say(body, dialect)
            streams = body.get("stream") or "streamGenerateContent" in path
            if streams:
                self._send("text/event-stream", "".join(dialect.stream(body, said)).encode())
            else:
                self._send("application/json", json.dumps(dialect.whole(body, said)).encode())

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

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    model.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield model
    finally:
        server.shutdown()
        server.server_close()
