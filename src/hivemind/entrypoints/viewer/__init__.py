"""The viewer: what agents believe, shown to people. It parses, calls ``Hivemind``, renders.

``build`` makes the pages for any ``Door``: a person's own machine (``local.py``), or a hub that shows its team the
same pages.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from hivemind.entrypoints.viewer.door import Door, Right, Visitor
from hivemind.entrypoints.viewer.guard import guarded
from hivemind.entrypoints.viewer.looks import ENVIRONMENT, refused, told
from hivemind.entrypoints.viewer.pages import graph, health, log, memory, review, search, sessions, today
from hivemind.entrypoints.viewer.visit import Page, Visit
from hivemind.errors import HivemindError, Refused

__all__ = ["Address", "Door", "Right", "Visitor", "build"]

Address = tuple[str, str, Page]
"""A method, a path, and the page that answers there."""
PAGES: tuple[Address, ...] = (
    ("GET", "/", today.page),
    ("GET", "/search", search.page),
    ("GET", "/memory/{id}", memory.page),
    ("GET", "/memory/{id}/promote", memory.promotion),
    ("GET", "/memory/{id}/publish", memory.publication),
    ("POST", "/memory/{id}/erase", memory.erase),
    ("POST", "/memory/{id}/{act}", memory.act),
    ("POST", "/undo", memory.undo),
    ("GET", "/file", memory.file),
    ("GET", "/review", review.page),
    ("POST", "/review/{id}", review.decide),
    ("GET", "/sessions", sessions.page),
    ("GET", "/session/{id}", sessions.replay),
    ("GET", "/graph", graph.page),
    ("GET", "/graph/near", graph.near),
    ("GET", "/log", log.page),
    ("GET", "/rollback", log.preview),
    ("POST", "/rollback", log.apply),
    ("POST", "/rollback/undo", log.undo),
    ("GET", "/health", health.page),
    ("GET", "/health/findings", health.findings),
)


def build(door: Door, more: Iterable[Address] = ()) -> ASGIApp:
    """The pages, and more of them, for whoever comes through this door."""
    pages = Starlette(
        routes=[
            *(Route(path, _visited(door, page), methods=[method]) for method, path, page in (*PAGES, *more)),
            Route("/login", _asks_in(door), methods=["GET"]),
            Route("/login", lambda request: door.login(request, request.state.form), methods=["POST"]),
            Route("/logout", door.logout, methods=["POST"]),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        ],
        exception_handlers={
            HivemindError: _ours(door),  # type: ignore[dict-item]
            HTTPException: _theirs,  # type: ignore[dict-item]
            Exception: _nobodys,
        },
    )
    return guarded(pages, door)


def _visited(door: Door, page: Page) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        visitor: Visitor = request.state.visitor
        with door.open_mind(request) as mind:
            return page(
                Visit(
                    request=request,
                    mind=mind,
                    visitor=visitor,
                    token=door.form_token(visitor),
                    form=request.state.form,
                )
            )

    return answer


def _asks_in(door: Door) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        """Nothing happens on a GET, so a browser that looks ahead does not use the link up."""
        page = ENVIRONMENT.get_template(door.login_page)
        return HTMLResponse(page.render(code=request.query_params.get("code", ""), visitor=None))

    return answer


def _ours(door: Door) -> Callable[[Request, HivemindError], Response]:
    def answer(request: Request, error: HivemindError) -> Response:
        if isinstance(error, Refused) and request.state.visitor:
            door.note_refusal(request, str(error))
        return told(error)

    return answer


def _theirs(request: Request, error: HTTPException) -> Response:
    return refused(error.status_code, "There is no such page." if error.status_code == 404 else str(error.detail))


def _nobodys(request: Request, error: Exception) -> Response:
    """A mistake of ours; what it was stands in the terminal."""
    return refused(500, "This is a mistake in hivemind; the terminal where it runs says more. Please report it.")
