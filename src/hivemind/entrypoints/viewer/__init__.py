"""The viewer: what agents believe, shown to people. It parses, calls ``Hivemind``, renders.

``build`` makes the pages for any ``Door``: a person's own machine (``local.py``), or a hub that shows its team the
same pages.
"""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from hivemind.entrypoints.viewer.guard import guarded
from hivemind.entrypoints.viewer.pages import graph, health, log, memory, naming, review, search, sessions, today
from hivemind.entrypoints.viewer.request import Door, Page, Right, Visit, Visitor
from hivemind.entrypoints.viewer.templating import ENVIRONMENT, refused, told
from hivemind.errors import HivemindError, Refused

__all__ = ["Address", "Door", "Right", "Visitor", "build"]

Address = tuple[str, str, Page, Right | None]
"""A method, a path, the page that answers there, and the right it takes; pages without one ask for themselves."""
PAGES: tuple[Address, ...] = (
    ("GET", "/", today.page, None),
    ("GET", "/search", search.page, None),
    ("GET", "/memory/{id}", memory.page, None),
    ("GET", "/memory/{id}/promote", memory.promotion, Right.FILES),
    ("GET", "/memory/{id}/publish", memory.publication, Right.SHARE),
    ("POST", "/memory/{id}/erase", memory.erase, Right.ERASE),
    ("POST", "/memory/{id}/{act}", memory.act, None),
    ("POST", "/undo", memory.undo, Right.REVIEW),
    ("GET", "/file", memory.file, Right.FILES),
    ("GET", "/review", review.page, None),
    ("POST", "/review/{id}", review.decide, None),
    ("GET", "/sessions", sessions.page, Right.FILES),
    ("GET", "/session/{id}", sessions.replay, Right.FILES),
    ("GET", "/graph", graph.page, Right.FILES),
    ("GET", "/graph/near", graph.near, Right.FILES),
    ("GET", "/log", log.page, None),
    ("GET", "/rollback", log.preview, Right.REVIEW),
    ("POST", "/rollback", log.apply, Right.REVIEW),
    ("POST", "/rollback/undo", log.undo, Right.REVIEW),
    ("GET", "/erase", naming.page, Right.FILES),
    ("POST", "/erase", naming.erase, Right.FILES),
    ("GET", "/health", health.page, Right.FILES),
    ("GET", "/health/findings", health.findings, Right.FILES),
)


def build(door: Door, more: Iterable[Address] = ()) -> ASGIApp:
    """The pages, and more of them, for whoever comes through this door."""
    addresses = (*PAGES, *more)
    pages = Starlette(
        routes=[
            *(Route(path, partial(_visited, door, page, right), methods=[how]) for how, path, page, right in addresses),
            Route("/login", partial(_asks_in, door), methods=["GET"]),
            Route("/login", lambda request: door.login(request, request.state.form), methods=["POST"]),
            Route("/logout", door.logout, methods=["POST"]),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        ],
        exception_handlers={HivemindError: partial(_ours, door), HTTPException: _theirs, Exception: _nobodys},
    )
    return guarded(pages, door)


def _visited(door: Door, page: Page, right: Right | None, request: Request) -> Response:
    visitor: Visitor = request.state.visitor
    token, form = door.form_token(visitor), request.state.form
    with door.open_mind(request) as mind:
        visit = Visit(request=request, mind=mind, visitor=visitor, token=token, form=form)
        if right:
            visit.must(right)
        return page(visit)


def _asks_in(door: Door, request: Request) -> Response:
    """Nothing happens on a GET, so a browser that looks ahead does not use the link up."""
    page = ENVIRONMENT.get_template(door.login_page)
    return HTMLResponse(page.render(code=request.query_params.get("code", ""), visitor=None))


def _ours(door: Door, request: Request, error: Exception) -> Response:
    assert isinstance(error, HivemindError)
    if isinstance(error, Refused) and request.state.visitor:
        door.note_refusal(request, str(error))
    return told(error)


def _theirs(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return refused(error.status_code, "There is no such page." if error.status_code == 404 else str(error.detail))


def _nobodys(request: Request, error: Exception) -> Response:
    """A mistake of ours; what it was stands in the terminal."""
    return refused(500, "This is a mistake in hivemind; the terminal where it runs says more. Please report it.")
