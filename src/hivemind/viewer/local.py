"""The viewer on a person's own machine: loopback only, a random port, a login link that works once."""

import hashlib
import hmac
import html
import re
import secrets
import socket
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import uvicorn
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from hivemind.errors import Unauthenticated
from hivemind.hivemind import Hivemind
from hivemind.system import open_private, replace_file
from hivemind.viewer import Site, Visitor, build
from hivemind.viewer.request import Form, is_same_secret
from hivemind.viewer.templating import render_refusal

LOGIN_SECONDS = 30 * 86_400
"""How long a browser stays signed in."""
MAX_IDLE_MINDS = 4
"""More than one person's browser requests at once."""
KEY_FILE = "viewer.token"
PAGE_PREFIX = "sign-in-"
SECONDS_TO_OPEN = 60
"""A browser that is not running takes a while; the link itself works once, whatever becomes of the page."""


class MindPool:
    """Memories that stay open between requests, because each loads the vectors again when it is opened."""

    def __init__(self, open_mind: Callable[[], Hivemind]) -> None:
        self._open_mind = open_mind
        self._idle: list[Hivemind] = []

    @contextmanager
    def __call__(self, request: Request) -> Iterator[Hivemind]:
        """Lend a memory to one request; no connection is used by two threads at once."""
        try:
            mind = self._idle.pop()
            mind.sessions.take_in_spool()
        except IndexError:
            mind = self._open_mind()
        try:
            yield mind
        except BaseException:
            mind.close()
            raise
        if len(self._idle) < MAX_IDLE_MINDS:
            self._idle.append(mind)
        else:
            mind.close()

    def close(self) -> None:
        """Close every idle memory."""
        while self._idle:
            self._idle.pop().close()


def make_site(
    port: int, key: bytes, codes: set[str], person: str,
    open_mind: Callable[[Request], AbstractContextManager[Hivemind]],
) -> Site:  # fmt: skip
    """Return the site of a machine: whoever has the cookie is its person; each code signs one browser in."""
    # Cookies are shared by all ports, so each installation needs a name of its own.
    cookie = f"hivemind_{hashlib.sha256(key).hexdigest()[:8]}"

    def find_visitor(request: Request) -> Visitor | None:
        value = request.cookies.get(cookie, "")
        # The signed value carries its own end, so that a restarted viewer still knows the browser.
        until, _, signature = value.partition(".")
        is_valid = until.isdigit() and is_same_secret(signature, _sign(key, until)) and int(until) > time.time()
        return Visitor(name=person, key=value) if is_valid else None

    def answer_stranger(request: Request) -> Response:
        return render_refusal(401, "This browser is not signed in. Run 'hivemind ui' and open the link it prints.")

    def sign_in(request: Request, form: Form) -> Response:
        try:
            # In one step, because two requests may try the same code at once, in different threads.
            codes.remove(form.get("code", ""))
        except KeyError:
            reason = "This link is invalid or was used before. Run 'hivemind ui' again for a new one."
            raise Unauthenticated(reason) from None
        until = str(int(time.time()) + LOGIN_SECONDS)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            cookie, f"{until}.{_sign(key, until)}", max_age=LOGIN_SECONDS, httponly=True, samesite="strict"
        )
        return answer

    def sign_out(request: Request) -> Response:
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(cookie, httponly=True, samesite="strict")
        return answer

    return Site(
        origins=frozenset({f"http://127.0.0.1:{port}", f"http://localhost:{port}"}), secret=key, open_mind=open_mind,
        find_visitor=find_visitor, answer_stranger=answer_stranger, login_page="login.html",
        login=sign_in, logout=sign_out,
    )  # fmt: skip


def serve(
    home: Path, person: str, open_mind: Callable[[], Hivemind], *, port: int,
    ready: Callable[[str, Callable[[], bool]], None],
) -> None:  # fmt: skip
    """Serve the pages until interrupted; ``ready`` gets the login link, and what says whether it was used."""
    code, pool = secrets.token_urlsafe(24), MindPool(open_mind)
    codes = {code}
    with socket.create_server(("127.0.0.1", port)) as listener:
        actual_port = listener.getsockname()[1]
        app = build(make_site(actual_port, load_key(home), codes, person, pool))
        # Ctrl-C must not wait for connections that a browser keeps open.
        config = uvicorn.Config(
            app, log_level="warning", server_header=False, lifespan="off", timeout_graceful_shutdown=2
        )
        ready(f"http://127.0.0.1:{actual_port}/login?code={code}", lambda: code not in codes)
        try:
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            pool.close()
            remove_pages(home)


def load_key(home: Path) -> bytes:
    """Return the key that signs this installation's cookies; deleting its file signs every browser out."""
    path = home / KEY_FILE
    # Without a key, or with a damaged one, a new one is made; the person then signs in once more.
    if not path.exists() or not re.fullmatch(rb"[0-9a-f]{64}", path.read_bytes().strip()):
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, secrets.token_hex(32).encode())
    return bytes.fromhex(path.read_text("utf-8").strip())


def _sign(key: bytes, until: str) -> str:
    return hmac.digest(key, f"browser {until}".encode(), hashlib.sha256).hex()


def open_browser(home: Path, link: str, was_used: Callable[[], bool]) -> bool:
    """Open a page that only its owner can read and that leads to the link; false if there is no browser.

    So the link never stands in the list of processes, which all users of a machine see. The page is deleted
    once ``was_used`` says that the link was used, or after a minute.
    """
    remove_pages(home)
    page = home / f"{PAGE_PREFIX}{secrets.token_hex(8)}.html"
    with open(page, "w", encoding="utf-8", opener=open_private) as file:
        target = html.escape(link, quote=True)
        file.write(
            '<!doctype html><meta charset="utf-8"><title>Hivemind</title><meta name="referrer" content="no-referrer">'
            f'<meta http-equiv="refresh" content="0; url={target}"><p><a href="{target}">Open Hivemind</a></p>\n'
        )
    has_browser = webbrowser.open(page.as_uri())
    if has_browser:
        threading.Thread(target=_remove_later, args=(page, was_used), daemon=True).start()
    else:
        page.unlink()
    return has_browser


def remove_pages(home: Path) -> None:
    """Delete the pages of viewers that were stopped before their browser came."""
    for page in home.glob(f"{PAGE_PREFIX}*.html"):
        page.unlink(missing_ok=True)


def _remove_later(page: Path, was_used: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS_TO_OPEN
    while time.monotonic() < end and not was_used():
        time.sleep(0.2)
    page.unlink(missing_ok=True)
