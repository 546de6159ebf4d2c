"""One visit to one page: who asks, which memory is open for them, and how they are answered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hivemind.app import Hivemind
from hivemind.entrypoints.viewer.door import Form, Right, Visitor
from hivemind.entrypoints.viewer.looks import ENVIRONMENT
from hivemind.errors import Refused

BEYOND = {
    Right.FILES: "this is on each member's own machine; 'hivemind ui' shows it there",
    Right.SHARE: "this is the team's already",
}
"""What a hub has not to give, whoever asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request on its way to being a page."""

    request: Request
    mind: Hivemind
    visitor: Visitor
    token: str
    """What the forms on the page carry."""
    form: Form

    @property
    def asked(self) -> Mapping[str, str]:
        """What the address asks for."""
        return self.request.query_params

    def named(self, part: str) -> str:
        """A part of the address."""
        return str(self.request.path_params[part])

    def number(self, name: str) -> int:
        """A whole number that the address asks for; 0 if it is none, or none that could be meant."""
        written = self.asked.get(name, "")
        return int(written) if written.isdecimal() and len(written) < 16 else 0

    def must(self, right: Right) -> None:
        """Go on only with that right."""
        if right not in self.visitor.may:
            raise Refused(BEYOND.get(right, f"you may look here, but not {right}; ask an admin of your team"))

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """A template as an answer."""
        known = {"visitor": self.visitor, "token": self.token, "mind": self.mind, "asked": self.asked, "Right": Right}
        where = {"path": self.request.url.path, "status": status}
        return HTMLResponse(ENVIRONMENT.get_template(template).render(**known, **where, **values), status)

    def go(self, path: str, **said: str) -> Response:
        """To another page, with what was done; a path that leads elsewhere leads home."""
        inside = path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"
        told = urlencode({name: value for name, value in said.items() if value})
        return RedirectResponse(f"{inside}{'&' if '?' in inside else '?'}{told}" if told else inside, 303)


Page = Callable[[Visit], Response]
