"""A device's way to its hub over HTTP."""

import json
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hivemind.errors import HivemindError, InvalidInput, NotFound, Refused, TooOften, Unavailable, Unknown
from hivemind.model.team import Page, Pushed, Role, Welcome
from hivemind.model.untrusted import parse_json
from hivemind.model.wire import Entry, packed, unpacked

if TYPE_CHECKING:
    from urllib.error import HTTPError

PATIENCE_SECONDS = 30
LOOPBACK = ("localhost", "127.0.0.1", "::1")
MEANING: dict[int, type[HivemindError]] = {
    401: Unknown, 403: Refused, 404: NotFound, 413: InvalidInput, 422: InvalidInput, 429: TooOften,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A hub, and the token it knows us by."""

    url: str
    token: str

    def hello(self, device: str) -> Welcome:
        """Say who asks, and learn what the hub has of it."""
        told = self.ask("POST", "/v1/hello", {"device": device})
        return Welcome(**told | {"key": bytes.fromhex(told["key"]), "role": Role(told["role"])})

    def push(self, device: str, entries: Sequence[Entry]) -> Pushed:
        """Bring entries of the device's own chain."""
        told = self.ask("POST", "/v1/push", {"device": device, "entries": [packed(entry) for entry in entries]})
        return Pushed(has=told["has"], refused=tuple((one, why) for one, why in told["refused"]))

    def pull(self, device: str, after: int, limit: int) -> Page:
        """Ask for what comes after a position."""
        asked = urllib.parse.urlencode({"device": device, "after": after, "limit": limit})
        told = self.ask("GET", f"/v1/pull?{asked}")
        return Page(**told | {"entries": tuple(unpacked(one) for one in told["entries"])})

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """One request and its answer; what goes wrong is one of our errors."""
        # Every command loads this module, and few speak to a hub; HTTP costs four times what bare Python does.
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        request = Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "User-Agent": "hivemind",
            },
        )
        try:
            with urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return parse_json(answer.read())
        except HTTPError as error:
            raise MEANING.get(error.code, Unavailable)(f"the hub said: {_said(error)}") from None
        except (OSError, ValueError) as error:
            raise Unavailable(f"the hub at {self.url} does not answer: {getattr(error, 'reason', error)}") from error


def address(written: str, *, insecure: bool = False) -> str:
    """The address of a hub as a person wrote it; over an open network only if they insist."""
    parts = urllib.parse.urlsplit(written.strip().rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        raise InvalidInput(f"{written!r} is not the address of a hub; write it like https://hub.example")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and not insecure:
        raise InvalidInput("without TLS anybody on the way can read the token; use https, or --insecure if you must")
    return parts.geturl()


def _said(error: "HTTPError") -> str:
    try:
        told = parse_json(error.read())
        return str(told.get("error") or told.get("detail") or error.reason)
    except (ValueError, AttributeError):
        return str(error.reason)
