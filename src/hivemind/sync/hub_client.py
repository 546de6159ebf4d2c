"""How a device reaches its hub: an HTTP client, and the file beside the store with the token and what renews it."""

import json
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hivemind import system
from hivemind.errors import (
    AccessRevoked,
    HivemindError,
    InvalidInput,
    NotFound,
    RateLimited,
    Refused,
    StoreDamaged,
    Unauthenticated,
    Unavailable,
)
from hivemind.model import protocol
from hivemind.model.codec import from_plain, to_plain
from hivemind.model.dataclass import dataclass
from hivemind.model.team import Bookmark, ChainHead, LogPage, ProviderOptions, PushResult, Welcome
from hivemind.model.wire import WireEntry, pack_entry, unpack_entry
from hivemind.text.untrusted import Unreadable, parse_json

if TYPE_CHECKING:
    from urllib.error import HTTPError

T = TypeVar("T")
TIMEOUT_SECONDS = 30
LOOPBACK = ("localhost", "127.0.0.1", "::1")
RETRY_SECONDS = (0.5, 1, 2)
"""Between attempts; a hub is back two seconds after its database."""
NOT_A_HUB = "{} answers, but not as a hub does; check its URL"
REPEATABLE_PATHS = ("/v1/hello", "/v1/push", "/v1/compare", "/v1/take-back")


class HubAway(Unavailable):
    """The hub or its database is away for a moment."""


ERROR_BY_STATUS: dict[int, type[HivemindError]] = {
    401: Unauthenticated, 403: Refused, 404: NotFound, 413: InvalidInput, 422: InvalidInput, 426: Refused,
    429: RateLimited, 502: HubAway, 503: HubAway, 504: HubAway,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class HubClient:
    """A hub's URL and our token for it."""

    url: str
    token: str

    def say_hello(self, device: str, bookmark: Bookmark | None = None) -> Welcome:
        """Identify this device and return how many of its entries the hub has, and from where to read on."""
        body = {"device": device, "bookmark": to_plain(bookmark or Bookmark())}
        return self.ask(partial(from_plain, Welcome), "POST", "/v1/hello", body)

    def push(self, device: str, entries: Sequence[WireEntry]) -> PushResult:
        """Send entries of the device's own chain."""
        body = {"device": device, "entries": [pack_entry(entry) for entry in entries]}
        return self.ask(partial(from_plain, PushResult), "POST", "/v1/push", body)

    def pull(self, device: str, after: int, limit: int, epoch: str = "") -> LogPage:
        """Return the entries after a position of the team's log."""
        query = urllib.parse.urlencode({"device": device, "after": after, "limit": limit, "epoch": epoch})
        return self.ask(_unpack_page, "GET", f"/v1/pull?{query}")

    def compare(self, device: str, chains: Mapping[str, int]) -> Sequence[ChainHead]:
        """Return the hub's entry with that number of each chain, or the newest if it has fewer."""
        body = {"device": device, "chains": dict(chains)}
        return self.ask(lambda heads: [from_plain(ChainHead, head) for head in heads], "POST", "/v1/compare", body)

    def list_hashes(self, device: str, after: int) -> Sequence[str]:
        """Return the hashes of this device's entries that the hub has, after a number."""
        query = urllib.parse.urlencode({"device": device, "after": after})
        return self.ask(lambda hashes: list(map(str, hashes)), "GET", f"/v1/hashes?{query}")

    def take_back(self, device: str, entries: Sequence[WireEntry], head: ChainHead) -> int:
        """Send entries that the hub lost, with its seal on the last one; return how many it lacked."""
        body = {"device": device, "entries": [pack_entry(entry) for entry in entries], "head": to_plain(head)}
        return self.ask(lambda answer: int(answer["stored"]), "POST", "/v1/take-back", body)

    def ask(self, unpack: Callable[[Any], T], method: str, path: str, body: Any = None) -> T:
        """Send a request and return what ``unpack`` makes of its answer."""
        answer = self.request(method, path, body)
        try:
            return unpack(answer)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise Unavailable(NOT_A_HUB.format(self.url)) from error

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return its parsed answer; every failure is raised as a HivemindError.

        What may be repeated is sent again while the hub or its database is away for a moment.
        """
        # Imported here for the same reason as below: it takes 5 ms.
        from random import uniform

        is_repeatable = method == "GET" or path in REPEATABLE_PATHS
        for wait_seconds in RETRY_SECONDS if is_repeatable else ():
            try:
                return self._send(method, path, body)
            except HubAway:
                # At different times, or all devices of a team would come back at once.
                time.sleep(wait_seconds * uniform(0.5, 1.5))
        return self._send(method, path, body)

    def _send(self, method: str, path: str, body: Any) -> Any:
        # Imported here because every command loads this module and few use it: importing HTTP takes four times as long
        # as starting Python.
        from http.client import HTTPException, IncompleteRead
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
                protocol.HEADER: str(protocol.OURS),
            },
        )
        try:
            with urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
                _check_versions(answer.headers.get(protocol.HEADER))
                return parse_json(answer.read())
        except HTTPError as error:
            text, is_revoked = _read_error(error)
            kind = AccessRevoked if is_revoked else ERROR_BY_STATUS.get(error.code, Unavailable)
            if kind is InvalidInput:
                text += _explain_older_hub(error.headers.get(protocol.HEADER))
            raise kind(f"the hub answered: {text}") from None
        except IncompleteRead as error:
            raise HubAway(f"the answer of the hub at {self.url} broke off; try again") from error
        except Unreadable as error:
            raise Unavailable(NOT_A_HUB.format(self.url)) from error
        except (OSError, ValueError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            kind = HubAway if isinstance(reason, ConnectionError) else Unavailable
            text = getattr(reason, "strerror", None) or str(reason).strip()
            raise kind(f"the hub at {self.url} does not answer: {text}; check its URL, or try again later") from error


def _check_versions(header: str | None) -> None:
    """Refuse to go on with a hub whose exchange this program does not speak."""
    mismatch = protocol.describe_mismatch(protocol.OURS, protocol.parse_versions(header))
    if mismatch:
        raise Refused(mismatch)


def _explain_older_hub(header: str | None) -> str:
    """Say that a hub may not understand a request because it is older than this program; empty if it is not."""
    versions = protocol.parse_versions(header)
    if versions.newest >= protocol.OURS.newest:
        return ""
    return (
        f" (the hub speaks version {versions.newest} of the exchange, this program {protocol.OURS.newest};"
        " ask whoever runs the hub to upgrade it)"
    )


def parse_url(url: str, *, insecure: bool = False) -> str:
    """Check and normalise the URL of a hub; plain HTTP beyond this machine needs ``insecure``."""
    parts = urllib.parse.urlsplit(url.strip().rstrip("/"))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query:
        raise InvalidInput(f"{url!r} is not the URL of a hub; write it like https://hub.example")
    if parts.scheme == "http" and parts.hostname not in LOOPBACK and not insecure:
        raise InvalidInput("without TLS anybody on the network can read the token; use https, or --insecure")
    return parts.geturl()


def find_provider(url: str) -> ProviderOptions | None:
    """Ask a hub where its members sign in; None if they log in with tokens."""
    return HubClient(url=url, token="").ask(_unpack_provider, "GET", "/v1/login")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderLogin:
    """A login by an identity provider, with what renews it without the person."""

    provider: ProviderOptions
    refresh_token: str
    """Of the provider; empty if it gave none, so that the person signs in again when the token expires."""
    nonce_secret: str
    """Of the first ID token; some providers repeat its nonce in those that follow."""
    teams: dict[str, str]
    """The person's teams on the hub, with their role in each."""
    team: str
    renew_at: str
    expires_at: str
    next_token: str = ""
    """What the hub was asked to accept next; kept until it answers, so that a lost answer does no harm."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The hub of a store, and the token for it."""

    url: str
    token: str
    login: ProviderLogin | None = None
    """None for a token that an admin gave."""
    is_ended: bool = False
    """Whether only signing in again, or another token, helps."""
    is_told: bool = False
    """Whether an agent has been told that."""

    def is_due(self, now: str) -> bool:
        """Whether the provider has to be asked again."""
        return self.login is not None and now >= self.login.renew_at

    def with_login(self, **changes: object) -> "Credentials":
        """Return them with changes to the login."""
        assert self.login is not None
        return replace(self, login=replace(self.login, **changes))  # type: ignore[arg-type]


def load_credentials(file: Path) -> Credentials | None:
    """Read the file; None if the store belongs to no team."""
    try:
        return from_plain(Credentials, json.loads(file.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreDamaged(f"{file} cannot be read; remove it and run 'hivemind team login' again") from error


def save_credentials(file: Path, credentials: Credentials) -> None:
    """Replace the file; only its owner can read it."""
    # A crash must not lose a refresh token that the provider has replaced.
    system.replace_file(file, json.dumps(to_plain(credentials)).encode(), is_durable=True)


@contextmanager
def lock_credentials(file: Path, *, is_waiting: bool = True) -> Iterator[None]:
    """Keep other processes from changing the file: two that renew at once would look like a stolen login."""
    with system.FileLock(str(file.with_suffix(".lock")), is_waiting=is_waiting):
        yield


def take_notice(file: Path) -> str | None:
    """Return what an agent should tell its person about the login; None if nothing, or if one was told before."""
    try:
        with lock_credentials(file, is_waiting=False):
            credentials = load_credentials(file)
            if not credentials or not credentials.is_ended or credentials.is_told:
                return None
            save_credentials(file, replace(credentials, is_told=True))
    # Somebody renews or signs in at this moment.
    except BlockingIOError:
        return None
    return describe_ended(credentials.url)


def describe_ended(url: str) -> str:
    """Return what to do when a login has ended."""
    return f"The login to the team's hub has ended; to exchange again, sign in: hivemind team login {url}"


def _unpack_page(page: Any) -> LogPage:
    return from_plain(LogPage, page | {"entries": tuple(map(unpack_entry, page["entries"]))})


def _unpack_provider(answer: Any) -> ProviderOptions | None:
    provider = answer["provider"]
    return ProviderOptions(**provider) if provider else None


def _read_error(error: "HTTPError") -> tuple[str, bool]:
    """Return the hub's sentence, and whether it ended our access."""
    from http.client import HTTPException

    try:
        answer = parse_json(error.read())
        return str(answer.get("error") or answer.get("detail") or error.reason), answer.get("revoked") is True
    # Also if it breaks off; the status says enough.
    except (ValueError, AttributeError, OSError, HTTPException):
        return str(error.reason), False
