"""How the viewer is reached, and one visit to one page: who asks, what they may do, which memory opens for them."""

import hashlib
import hmac
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from hivemind.app import Hivemind, Mind
from hivemind.entrypoints.viewer.templating import ENVIRONMENT
from hivemind.errors import Refused
from hivemind.model.memory import Memory
from hivemind.model.session import Session

Form = dict[str, str]


class Right(StrEnum):
    """What a visitor may do beyond looking."""

    WRITE = "write"
    """Revise, tag, verify, take back."""
    REVIEW = "review"
    """Approve, reject, restore, roll back."""
    ERASE = "erase"
    SHARE = "share"
    """Give the team a copy."""
    FILES = "files"
    """What only a working machine has: write files of the repository, look at its code, at sessions and agents."""
    ADMIT = "admit"
    """Say who else comes in; on a hub."""


BEYOND = {
    Right.FILES: "this is on each member's own machine; 'hivemind ui' shows it there",
    Right.SHARE: "this is the team's already",
}
"""What a hub has not to give, whoever asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who is asking."""

    name: str
    key: str
    """What this browser proved who it is with; form tokens hang on it."""
    may: frozenset[Right] = frozenset(Right) - {Right.ADMIT}
    is_member: bool = False
    """Whether this is a hub, and they one of its team."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What differs between one person's machine and a team's hub."""

    origins: frozenset[str]
    """The exact addresses it answers under, such as ``http://127.0.0.1:4711``."""
    secret: bytes
    """Keys the form tokens."""
    open_mind: Callable[[Request], AbstractContextManager[Mind]]
    visitor: Callable[[Request], Visitor | None]
    stranger: Callable[[Request], Response]
    """What somebody sees who is not known."""
    login_page: str
    """The template that asks who it is."""
    login: Callable[[Request, Form], Response]
    """Take what somebody proves who they are with; an error if it proves nothing."""
    logout: Callable[[Request], Response]
    note_refusal: Callable[[Request, str], None] = lambda request, why: None
    """Leave a record of having said no to somebody who is known."""

    def form_token(self, visitor: Visitor) -> str:
        """What a form must carry to be this visitor's own."""
        return hmac.digest(self.secret, f"form {visitor.key}".encode(), hashlib.sha256).hex()


def is_same(given: str, ours: str) -> bool:
    """Whether a secret was given right, in a time that does not tell how far it was right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), ours.encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A request on its way to being a page."""

    request: Request
    mind: Mind
    visitor: Visitor
    token: str
    """What the forms on the page carry."""
    form: Form

    @property
    def machine(self) -> Hivemind:
        """The memory on a person's own machine, for what a hub cannot do."""
        if not isinstance(self.mind, Hivemind):
            raise Refused(BEYOND[Right.FILES])
        return self.mind

    @property
    def asked(self) -> Mapping[str, str]:
        """What the address asks for."""
        return self.request.query_params

    @property
    def everywhere(self) -> bool:
        """Whether the person asked to look into other repositories too."""
        return bool(self.asked.get("everywhere") or self.form.get("everywhere"))

    def memory_address(self, memory: Memory) -> str:
        """The page of a memory; for one of another repository it says so."""
        return f"/memory/{memory.id}" + self._across(memory.repo)

    def session_address(self, session: Session) -> str:
        """The page of a session; for one of another repository it says so."""
        return f"/session/{session.id}" + self._across(session.repo)

    def _across(self, repo: str) -> str:
        return "?everywhere=1" if self.mind.checkout.is_elsewhere(repo) else ""

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
        known: dict[str, Any] = {
            "visitor": self.visitor,
            "token": self.token,
            "mind": self.mind,
            "asked": self.asked,
            "Right": Right,
        }
        known |= {"memory_address": self.memory_address, "session_address": self.session_address}
        where = {"path": self.request.url.path, "status": status, "across": self.everywhere}
        return HTMLResponse(ENVIRONMENT.get_template(template).render(**known, **where, **values), status)

    def go(self, path: str, **said: str) -> Response:
        """To another page, with what was done; a path that leads elsewhere leads home."""
        inside = path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/"
        told = urlencode({name: value for name, value in said.items() if value})
        return RedirectResponse(f"{inside}{'&' if '?' in inside else '?'}{told}" if told else inside, 303)


Page = Callable[[Visit], Response]
