"""How the viewer is reached: who asks, what they may do, and which memory opens for them."""

import hashlib
import hmac
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum

from starlette.requests import Request
from starlette.responses import Response

from hivemind.app import Hivemind

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
    open_mind: Callable[[Request], AbstractContextManager[Hivemind]]
    visitor: Callable[[Request], Visitor | None]
    stranger: Callable[[Request], Response]
    """What somebody sees who is not known."""
    login_page: str
    """The template that asks who it is."""
    login: Callable[[Request, Form], Response]
    """Take what somebody proves who they are with; an error if it proves nothing."""
    logout: Callable[[Request], Response]
    cookie: str
    """The name of what a browser keeps."""
    note_refusal: Callable[[Request, str], None] = lambda request, why: None
    """Leave a record of having said no to somebody who is known."""

    def form_token(self, visitor: Visitor) -> str:
        """What a form must carry to be this visitor's own."""
        return hmac.digest(self.secret, f"form {visitor.key}".encode(), hashlib.sha256).hex()


def is_same(given: str, ours: str) -> bool:
    """Whether a secret was given right, in a time that does not tell how far it was right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), ours.encode())
