"""A hub that really listens, and ways to ask it."""

import contextlib
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hivemind.hub.host import Host
from hivemind.hub.http import create_application
from hivemind.hub.http.admission import TimedProtocol
from hivemind.model.team import Role

SECONDS = 120
"""How long a test waits for an answer; much longer than a busy machine needs."""


@dataclass
class Answer:
    """What came back."""

    status: int
    body: Any
    headers: Mapping[str, str]


@dataclass
class Served:
    """A running hub, and everything that came over its wire."""

    host: Host
    url: str
    wire: list[bytes] = field(default_factory=list)

    def token(self, team: str, role: Role = Role.WRITER, name: str = "", *, is_agent: bool = False) -> str:
        """A token for a new member of a team."""
        with self.host.open_mind(self.host.find_owner(team)) as mind:
            return mind.admin.tokens.issue(name=name or f"some {role}", role=role, is_agent=is_agent, days=1)

    def ask(self, method: str, path: str, token: str = "", body: Any = None, **headers: str) -> Answer:
        """One request, as any client could make it."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers},
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return Answer(answer.status, json.load(answer), dict(answer.headers))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, json.load(error), dict(error.headers))


class Overhearing:
    """Notes every byte that is sent to the hub."""

    def __init__(self, app: ASGIApp, wire: list[bytes]) -> None:
        self.app = app
        self.wire = wire

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on."""

        async def overheard() -> Message:
            message = await receive()
            self.wire.append(message.get("body", b"") + scope.get("query_string", b""))
            return message

        await self.app(scope, overheard, send)


@contextlib.contextmanager
def serving(host: Host) -> Iterator[Served]:
    """Listen on some port until nobody needs it."""
    config = uvicorn.Config(lambda: None, port=0, log_level="warning", http=TimedProtocol)
    socket = config.bind_socket()
    served = Served(host=host, url=f"http://127.0.0.1:{socket.getsockname()[1]}")
    config.app = Overhearing(create_application(host, served.url), served.wire)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]})
    thread.start()
    try:
        while not server.started:
            thread.join(0.02)
        yield served
    finally:
        server.should_exit = True
        thread.join(20)
        socket.close()
