"""The viewer: pages that show people what agents know. It parses, calls ``Hivemind``, renders.

``build`` makes the pages for any ``Site``: a person's own machine (``local.py``), or a hub that shows its team the
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

from hivemind.errors import HivemindError, Refused
from hivemind.viewer.page_guard import guard_pages
from hivemind.viewer.pages import erase, guard, health, log, memory, review, search, sessions, today
from hivemind.viewer.request import Page, PageRequest, Right, Site, Visitor
from hivemind.viewer.templating import ENVIRONMENT, render_error, render_refusal

__all__ = ["PageRoute", "Right", "Site", "Visitor", "build"]

PageRoute = tuple[str, str, Page, Right | None]
"""A method, a path, the page, and the right it needs; pages without one check rights themselves."""
PAGES: tuple[PageRoute, ...] = (
    ("GET", "/", today.show, None),
    ("GET", "/search", search.show, None),
    ("GET", "/memory/{id}", memory.show, None),
    ("GET", "/memory/{id}/promote", memory.preview_promotion, Right.FILES),
    ("GET", "/memory/{id}/guard", guard.preview, Right.FILES),
    ("POST", "/memory/{id}/guard", guard.set_guard, Right.FILES),
    ("POST", "/memory/{id}/unguard", guard.lift, Right.FILES),
    ("GET", "/memory/{id}/publish", memory.preview_publication, Right.SHARE),
    # Before the route with {act}, which would match it too.
    ("POST", "/memory/{id}/erase", erase.erase_memory, Right.ERASE),
    ("POST", "/memory/{id}/{act}", memory.act, None),
    ("POST", "/undo", memory.undo, Right.REVIEW),
    ("GET", "/file", memory.show_file, Right.FILES),
    ("GET", "/review", review.show, None),
    ("POST", "/review/{id}", review.decide, None),
    ("GET", "/sessions", sessions.show, Right.FILES),
    ("GET", "/session/{id}", sessions.replay, Right.FILES),
    ("POST", "/conclusion/{id}/{act}", sessions.decide, Right.FILES),
    ("GET", "/log", log.show, None),
    ("GET", "/rollback", log.preview, Right.REVIEW),
    ("POST", "/rollback", log.apply, Right.REVIEW),
    ("POST", "/rollback/undo", log.undo, Right.REVIEW),
    ("GET", "/erase", erase.show, Right.FILES),
    ("POST", "/erase", erase.erase_mentions, Right.FILES),
    ("GET", "/health", health.show, Right.FILES),
    ("GET", "/health/findings", health.show_findings, Right.FILES),
)


def build(site: Site, more: Iterable[PageRoute] = ()) -> ASGIApp:
    """Return the pages of a site as a web application, with more pages of its own."""
    pages = Starlette(
        routes=[
            *(
                Route(path, partial(_answer, site, page, right), methods=[method])
                for method, path, page, right in (*PAGES, *more)
            ),
            Route("/login", partial(_show_login, site), methods=["GET"]),
            Route("/login", lambda request: site.login(request, request.state.form), methods=["POST"]),
            Route("/logout", site.logout, methods=["POST"]),
            *(Route(path, page, methods=["GET"]) for path, page in site.public_pages.items()),
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
        ],
        exception_handlers={
            HivemindError: partial(_answer_error, site), HTTPException: _answer_http_error, Exception: _answer_bug,
        },
    )  # fmt: skip
    return guard_pages(pages, site)


def _answer(site: Site, page: Page, right: Right | None, http: Request) -> Response:
    visitor: Visitor = http.state.visitor
    token, form = site.make_form_token(visitor), http.state.form
    with site.open_mind(http) as mind:
        request = PageRequest(http=http, mind=mind, visitor=visitor, token=token, form=form)
        if right:
            request.require(right)
        return page(request)


def _show_login(site: Site, http: Request) -> Response:
    # A GET must not use the link up, because browsers fetch links ahead.
    page = ENVIRONMENT.get_template(site.login_page)
    return HTMLResponse(page.render(code=http.query_params.get("code", ""), provider=site.provider, visitor=None))


def _answer_error(site: Site, http: Request, error: Exception) -> Response:
    assert isinstance(error, HivemindError)
    if isinstance(error, Refused) and http.state.visitor:
        site.record_refusal(http, str(error))
    return render_error(error)


def _answer_http_error(http: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return render_refusal(error.status_code, "No such page." if error.status_code == 404 else str(error.detail))


def _answer_bug(http: Request, error: Exception) -> Response:
    # The page does not quote the error: it may contain anything.
    return render_refusal(500, "This is a bug in hivemind; see the terminal where it runs. Please report it.")
