"""A filled store, the viewer over it, and a real browser; one of each for all tests."""

import http.client
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest
import uvicorn
from playwright.sync_api import Browser, Page

from hivemind import Hivemind
from hivemind.cli.commands.demo import build_demo
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings
from hivemind.viewer import Site, build
from hivemind.viewer.local import MindPool, load_key, make_site
from tests.browser import browser, open_page
from tests.viewer.digested_session import play_session

__all__ = ["browser"]


@dataclass
class Answer:
    """What came back over plain HTTP."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Viewer:
    """The viewer, running."""

    port: int
    codes: set[str]
    demo: SimpleNamespace
    site: Site
    named: str = ""
    cookie: str = ""

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.base}/login?code={self.make_code()}"

    def make_code(self) -> str:
        """The code of a new link."""
        code = secrets.token_urlsafe(24)
        self.codes.add(code)
        return code

    def mind(self) -> Hivemind:
        """The same memory, as its person opens it."""
        mind: Hivemind = self.demo.open_mind()
        return mind

    def end(self) -> int:
        """How long the log is."""
        with self.mind() as mind:
            return mind.maintenance.stats().events

    def token(self) -> str:
        """What this visitor's forms carry."""
        visitor = self.site.find_visitor(SimpleNamespace(cookies={self.named: self.cookie}))  # type: ignore[arg-type]
        assert visitor
        return self.site.make_form_token(visitor)

    def ask(self, method: str, path: str, form: dict[str, str] | None = None, /, **headers: str | None) -> Answer:
        """One request with exactly these headers; those that are None are left out."""
        sent: dict[str, str | None] = {"host": f"127.0.0.1:{self.port}", "cookie": f"{self.named}={self.cookie}"}
        if method == "POST":
            sent |= {"origin": self.base, "content-type": "application/x-www-form-urlencoded"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        body = urlencode(form or {}).encode()
        for name, value in (sent | {"content-length": str(len(body))}).items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        came = connection.getresponse()
        answer = Answer(came.status, {k.lower(): v for k, v in came.getheaders()}, came.read().decode())
        connection.close()
        return answer


HOSTILE = (
    '{{ 7 * 7 }} <script>document.title = "owned"</script><img src=x onerror="alert(1)"> '
    "\u202egnp.exe ![x](javascript:alert(1))"
)
"""A memory that wants to be more than text."""


def fill_store(folder: Path) -> SimpleNamespace:
    """The project of ``hivemind demo``, a session with every part of a digest, and a hostile memory."""
    made = build_demo(folder, "ada")
    settings = Settings(home=made.home, person="ada")

    def open_mind(writer: Writer = Writer(actor="ada", channel=Channel.PERSON)) -> Hivemind:  # noqa: B008 - frozen
        return Hivemind.open(directory=made.repository, settings=settings, writer=writer)

    play_session(made.repository, made.home)
    with open_mind() as mind:
        mind.learning.learn()
        mind.maintenance.catch_up(include_sessions=True)
        memories = {memory.text[:20]: memory for memory in mind.list(limit=100)}
        # Words that no line has room for.
        hostile = mind.remember(HOSTILE, tags=["untrusted", "w" * 60], subject="s" * 100, propose=True)
    return SimpleNamespace(
        root=made.repository, home=made.home, hostile=hostile.id, memories=memories, open_mind=open_mind
    )


def serving(app: Any, port_socket: socket.socket) -> Callable[[], None]:
    """Run an app on a socket; what comes back stops it."""
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [port_socket]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)

    def stop() -> None:
        server.should_exit = True
        thread.join(10)

    return stop


@pytest.fixture(scope="session")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    demo = fill_store(tmp_path_factory.mktemp("viewer") / "demo")
    codes, pool = set[str](), MindPool(demo.open_mind)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        site = make_site(port, load_key(demo.home), codes, "ada", pool)
        stop = serving(build(site), listening)
        running = Viewer(port=port, codes=codes, demo=demo, site=site)
        let_in = running.ask("POST", "/login", {"code": running.make_code()}, cookie=None)
        running.named, _, running.cookie = let_in.headers["set-cookie"].partition(";")[0].partition("=")
        yield running
        stop()
    pool.close()


@pytest.fixture
def page(browser: Browser, viewer: Viewer) -> Iterator[Page]:
    """A page of a known browser."""
    with open_page(browser, viewer.base, {viewer.named: viewer.cookie}) as page:
        yield page
