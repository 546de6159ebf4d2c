"""A site of pages (one machine or a team's hub), its visitors and their rights, and one request for a page."""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hivemind.errors import Refused
from hivemind.hivemind import Hivemind, Mind
from hivemind.model.memory import Memory
from hivemind.model.recall import SessionHit
from hivemind.model.session import Session
from hivemind.viewer.templating import ENVIRONMENT

Form = dict[str, str]


class Right(StrEnum):
    """What a visitor may do besides reading."""

    WRITE = "write"
    """Edit, tag, verify, forget."""
    REVIEW = "review"
    """Approve, reject, restore, roll back."""
    ERASE = "erase"
    SHARE = "share"
    """Publish a copy to the team."""
    FILES = "files"
    """Use what only a machine with a working tree has: its code and files, sessions and agents."""
    ADMIT = "admit"
    """Manage the tokens of a hub."""


NOT_ON_A_HUB = {
    Right.FILES: "this is on each member's own machine; 'hivemind ui' shows it there",
    Right.SHARE: "this memory belongs to the team already",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """The person whose browser sends a request."""

    name: str
    key: str
    """The secret in the browser's cookie; form tokens are derived from it."""
    may: frozenset[Right] = frozenset(Right) - {Right.ADMIT}
    is_member: bool = False
    """Whether they are a member of a team and this is its hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What differs between the pages of a person's machine and those of a team's hub."""

    origins: frozenset[str]
    """The exact origins it answers under, such as ``http://127.0.0.1:4711``."""
    secret: bytes
    """The key of the form tokens."""
    open_mind: Callable[[Request], AbstractContextManager[Mind]]
    find_visitor: Callable[[Request], Visitor | None]
    answer_stranger: Callable[[Request], Response]
    """Answers a request without a visitor."""
    login_page: str
    """The template of the login page."""
    login: Callable[[Request, Form], Response]
    logout: Callable[[Request], Response]
    provider: str = ""
    """The identity provider that the login page offers, as people know it; empty without."""
    public_pages: Mapping[str, Callable[[Request], Response]] = field(default_factory=dict)
    """Pages by path that need no visitor, and that another site may send a browser to."""
    record_refusal: Callable[[Request, str], None] = lambda request, reason: None
    """Records that a visitor was refused something."""

    def make_form_token(self, visitor: Visitor) -> str:
        """Return the token that proves that a form comes from one of this visitor's pages."""
        return hmac.digest(self.secret, f"form {visitor.key}".encode(), hashlib.sha256).hex()


def is_same_secret(text: str, secret: str) -> bool:
    """Compare in constant time, so that response times tell nothing about the secret."""
    return hmac.compare_digest(text.encode("utf-8", "replace"), secret.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRequest:
    """A visitor's request for a page, with the memory it is answered from."""

    http: Request
    mind: Mind
    visitor: Visitor
    token: str
    """The token for the forms on the page."""
    form: Form

    @property
    def machine(self) -> Hivemind:
        """The memory on a person's own machine, for what a hub cannot do."""
        if not isinstance(self.mind, Hivemind):
            raise Refused(NOT_ON_A_HUB[Right.FILES])
        return self.mind

    @property
    def query(self) -> Mapping[str, str]:
        """The query parameters."""
        return self.http.query_params

    @property
    def everywhere(self) -> bool:
        """Whether other repositories are included."""
        return bool(self.query.get("everywhere") or self.form.get("everywhere"))

    @property
    def across(self) -> dict[str, str]:
        """The query parameter that keeps other repositories included, if they are."""
        return {"everywhere": "1"} if self.everywhere else {}

    def make_url(self, folder: str, item: Memory | Session) -> str:
        """Return the URL of the page of a memory or session."""
        return f"/{folder}/{item.id}" + ("?everywhere=1" if self.mind.checkout.is_elsewhere(item.repo) else "")

    def make_step_url(self, hit: SessionHit, event: str) -> str:
        """Return the URL of a step on the page of a hit's session; a long session has several."""
        across = {"everywhere": "1"} if self.mind.checkout.is_elsewhere(hit.repo) else {}
        return f"/session/{hit.session_id}?{urlencode({**across, 'step': event})}#step-{event}"

    def read_path(self, name: str) -> str:
        """Return a part of the path."""
        return str(self.http.path_params[name])

    def read_number(self, name: str) -> int:
        """Return a query parameter as a whole number; 0 if it is none or too large for the database."""
        text = self.query.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 16 else 0

    def require(self, right: Right) -> None:
        """Refuse the request unless the visitor has a right."""
        if right not in self.visitor.may:
            raise Refused(
                NOT_ON_A_HUB.get(right, f"your role does not include the right to {right}; ask an admin of your team")
            )

    def render(self, template: str, **values: Any) -> Response:
        """Return a page."""
        common: dict[str, Any] = {
            "visitor": self.visitor,
            "token": self.token,
            "mind": self.mind,
            "asked": self.query,
            "Right": Right,
            "memory_url": partial(self.make_url, "memory"),
            "session_url": partial(self.make_url, "session"),
            "session_step_url": self.make_step_url,
            "path": self.http.url.path,
            "across": self.everywhere,
        }
        return HTMLResponse(ENVIRONMENT.get_template(template).render(**common, **values))

    def redirect(self, path: str, **parameters: str) -> Response:
        """Redirect to another page of this site, with query parameters that are not empty."""
        # Browsers read // and /\ as the start of another host.
        local_path = path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"
        query = urlencode({name: value for name, value in parameters.items() if value})
        return RedirectResponse(f"{local_path}{'&' if '?' in local_path else '?'}{query}" if query else local_path, 303)


Page = Callable[[PageRequest], Response]
