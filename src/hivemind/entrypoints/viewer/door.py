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
    """Write files of the repository, look at its code and at the machine's agents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """Who is asking."""

    name: str
    key: str
    """What this browser proved who it is with; form tokens hang on it."""
    may: frozenset[Right] = frozenset(Right)


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What differs between one person's machine and a team's hub."""

    origins: frozenset[str]
    """The exact addresses it answers under, such as ``http://127.0.0.1:4711``."""
    secret: bytes
    """Keys the form tokens."""
    open_mind: Callable[[Request], AbstractContextManager[Hivemind]]
    visitor: Callable[[Request], Visitor | None]
    login: Callable[[Request, Form], Response | None]
    """Take what somebody proves who they are with; nothing if it proves nothing."""
    cookie: str
    """The name of what a browser keeps; leaving deletes it."""

    def form_token(self, visitor: Visitor) -> str:
        """What a form must carry to be this visitor's own."""
        return hmac.digest(self.secret, f"form {visitor.key}".encode(), hashlib.sha256).hex()


def is_same(given: str, ours: str) -> bool:
    """Whether a secret was given right, in a time that does not tell how far it was right."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), ours.encode())
