"""The viewer on a person's own machine: loopback, a random port, a link that works once."""

import hashlib
import hmac
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Lock

import uvicorn
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from hivemind.app import Hivemind
from hivemind.entrypoints.viewer import Door, Visitor, build
from hivemind.entrypoints.viewer.request import Form, is_same
from hivemind.entrypoints.viewer.templating import refused
from hivemind.errors import Unauthenticated

KNOWN_SECONDS = 30 * 86_400
"""How long a browser stays known."""
KEPT_OPEN = 4
"""More than a person's browser asks for at once."""
TOKEN = "viewer.token"


class Warm:
    """Memories held open between requests: to open one is quick, but each must learn the vectors again."""

    def __init__(self, opened: Callable[[], Hivemind]) -> None:
        self._opened = opened
        self._resting: list[Hivemind] = []

    @contextmanager
    def __call__(self, request: Request) -> Iterator[Hivemind]:
        """One for this request alone; no connection is ever used by two threads at once."""
        try:
            mind = self._resting.pop()
            mind.sessions.take_in_spool()
        except IndexError:
            mind = self._opened()
        try:
            yield mind
        except BaseException:
            mind.close()
            raise
        if len(self._resting) < KEPT_OPEN:
            self._resting.append(mind)
        else:
            mind.close()

    def close(self) -> None:
        """Give the files back."""
        while self._resting:
            self._resting.pop().close()


class Links:
    """One-time links: each lets one browser in."""

    def __init__(self) -> None:
        self._codes: set[str] = set()
        self._lock = Lock()

    def new(self) -> str:
        """Another link's code."""
        code = secrets.token_urlsafe(24)
        self._codes.add(code)
        return code

    def use(self, code: str) -> bool:
        """Whether the code was good; it no longer is."""
        with self._lock:
            good = code in self._codes
            self._codes.discard(code)
            return good


def door(
    port: int, token: bytes, links: Links, person: str, open_mind: Callable[[Request], AbstractContextManager[Hivemind]]
) -> Door:
    """The door of a machine: whoever has the cookie is its person."""
    # Ports share cookies: two installations of one machine must not take each other's.
    cookie = f"hivemind_{hashlib.sha256(token).hexdigest()[:8]}"

    def visitor(request: Request) -> Visitor | None:
        held = request.cookies.get(cookie, "")
        until, _, signed = held.partition(".")
        known = until.isdigit() and is_same(signed, _signed(token, until)) and int(until) > time.time()
        return Visitor(name=person, key=held) if known else None

    def stranger(request: Request) -> Response:
        return refused(401, "This browser is not known here. Run 'hivemind ui' and open the link it prints.")

    def login(request: Request, form: Form) -> Response:
        if not links.use(form.get("code", "")):
            raise Unauthenticated(
                "This link was used before, or is not from here. Run 'hivemind ui' again for a new one."
            )
        until = str(int(time.time()) + KNOWN_SECONDS)
        inside = RedirectResponse("/", 303)
        inside.set_cookie(
            cookie, f"{until}.{_signed(token, until)}", max_age=KNOWN_SECONDS, httponly=True, samesite="strict"
        )
        return inside

    def logout(request: Request) -> Response:
        outside = RedirectResponse("/login", 303)
        outside.delete_cookie(cookie, httponly=True, samesite="strict")
        return outside

    origins = frozenset({f"http://127.0.0.1:{port}", f"http://localhost:{port}"})
    return Door(
        origins=origins, secret=token, open_mind=open_mind, visitor=visitor, stranger=stranger,
        login_page="login.html", login=login, logout=logout,
    )  # fmt: skip


def serve(home: Path, person: str, opened: Callable[[], Hivemind], *, port: int, ready: Callable[[str], None]) -> None:
    """Show the pages until interrupted; ``ready`` is given the link."""
    links, warm = Links(), Warm(opened)
    with socket.create_server(("127.0.0.1", port)) as listening:
        at = listening.getsockname()[1]
        app = build(door(at, install_token(home), links, person, warm))
        config = uvicorn.Config(
            app, log_level="warning", server_header=False, lifespan="off", timeout_graceful_shutdown=2
        )
        ready(f"http://127.0.0.1:{at}/login?code={links.new()}")
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            warm.close()


def install_token(home: Path) -> bytes:
    """What this installation signs with; to delete the file is to forget every browser."""
    file = home / TOKEN
    if not file.exists():
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = home / f"{TOKEN}.{secrets.token_hex(4)}"
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
            written.write(secrets.token_hex(32))
        fresh.replace(file)
    return bytes.fromhex(file.read_text().strip())


def _signed(token: bytes, until: str) -> str:
    return hmac.digest(token, f"browser {until}".encode(), hashlib.sha256).hex()
