"""The login of a device to its hub: sign in at the team's identity provider, then at the hub, and renew both by itself.

The device's side of OpenID Connect, with a browser or a code. On the standard library, like the rest of the device's
side of a hub: it is a handful of form posts, and a library would be installed on every laptop. What needs cryptography,
verifying the ID token, is done by the hub.
"""

import hmac
import html
import os
import secrets
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from hivemind.context import Clock
from hivemind.errors import AccessRevoked, HivemindError, InvalidInput, Refused, Unauthenticated, Unavailable
from hivemind.model.team import (
    LoginRequest,
    LoginResult,
    ProviderOptions,
    Revocation,
    hash_nonce,
    hash_token,
    new_token,
)
from hivemind.model.timestamps import format_minute, format_timestamp
from hivemind.sync.hub_client import (
    LOOPBACK,
    Credentials,
    HubClient,
    ProviderLogin,
    describe_ended,
    load_credentials,
    lock_credentials,
    save_credentials,
)
from hivemind.text.untrusted import parse_json

TIMEOUT_SECONDS = 30
BROWSER_SECONDS = 300
"""How long a person may take in the browser."""
POLL_SECONDS = 5
"""Between two questions whether a code was entered, unless the provider says otherwise; RFC 8628."""
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
CALLBACK_PATH = "/callback"
CONFIGURATION_PATH = "/.well-known/openid-configuration"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Hivemind</title><style>
html{{color-scheme:light dark}} body{{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:1rem}}
</style><h1>{title}</h1><p>{text}</p></html>"""

Announce = Callable[[str], None]
ChooseTeam = Callable[[Mapping[str, str]], str]
"""Returns the name of one of several teams, each with the person's role in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderTokens:
    """What the identity provider gave for a login."""

    id_token: str
    refresh_token: str
    """Empty if it gave none."""
    nonce_secret: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInAttempt:
    """The secrets of a login that waits for a browser to come back from the provider."""

    state: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    nonce_secret: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def make_url(self, options: ProviderOptions, redirect_url: str) -> str:
        """Return the provider's address that a person signs in at (authorization code with PKCE)."""
        fields = {
            "response_type": "code", "client_id": options.client_id, "redirect_uri": redirect_url,
            "scope": options.scopes, "state": self.state, "nonce": hash_nonce(self.nonce_secret),
            # The hash is the one of PKCE's S256, too.
            "code_challenge": hash_nonce(self.verifier), "code_challenge_method": "S256", **options.parameters,
        }  # fmt: skip
        return _check_endpoint(options.authorization_endpoint, "authorization endpoint") + "?" + urlencode(fields)

    def is_answered_by(self, fields: Mapping[str, str], issuer: str) -> bool:
        """Whether a browser comes back from this login."""
        return (
            hmac.compare_digest(fields.get("state", "").encode(), self.state.encode())
            # RFC 9207: the answer of another provider that the browser was lured to.
            and fields.get("iss", issuer) == issuer
        )

    def redeem(self, code: str, options: ProviderOptions, redirect_url: str) -> ProviderTokens:
        """Return what the provider gives for the code that the browser brought back."""
        grant = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect_url,
            "code_verifier": self.verifier,
        }  # fmt: skip
        return _read_tokens(_request_tokens(grant, options), self.nonce_secret)


def has_browser() -> bool:
    """Whether a browser on this machine would open before the person's eyes."""
    if os.environ.get("BROWSER"):
        return True
    # The browser would open on a screen that nobody sees.
    is_remote = bool(os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))
    has_screen = sys.platform in ("win32", "darwin") or bool(
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    )
    return has_screen and not is_remote


def sign_in_with_browser(options: ProviderOptions, announce: Announce) -> ProviderTokens:
    """Open the provider's page and wait until it sends the browser back."""
    attempt = SignInAttempt()
    with _listen(attempt, options) as server:
        url = attempt.make_url(options, server.url)
        announce(f"Sign in with your browser. If it does not open, open this address:\n\n    {url}\n")
        # In a thread, because a browser that runs in the terminal returns only when it is closed.
        threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        code = server.wait_for_code(BROWSER_SECONDS)
    return attempt.redeem(code, options, server.url)


def sign_in_with_code(
    options: ProviderOptions, announce: Announce, sleep: Callable[[float], None] = time.sleep
) -> ProviderTokens:
    """Print an address and a code for a browser on any machine, and ask until the person has entered it (RFC 8628)."""
    if not options.device_authorization_endpoint:
        raise InvalidInput(
            f"{options.issuer} has no device code flow; sign in on a machine with a browser, or use a --token"
        )
    endpoint = _check_endpoint(options.device_authorization_endpoint, "device authorization endpoint")
    nonce_secret = secrets.token_urlsafe(32)
    # RFC 8628 knows no nonce; providers that do not use it ignore it.
    fields = {"scope": options.scopes, "nonce": hash_nonce(nonce_secret)}
    answer = _expect_success(_post(endpoint, fields | _identify_client(options)))
    announce(f"Open {answer['verification_uri']} in any browser and enter this code:\n\n    {answer['user_code']}\n")
    if complete_url := answer.get("verification_uri_complete"):
        announce(f"Or open this address, which has the code in it:\n\n    {complete_url}\n")
    interval = float(answer.get("interval") or POLL_SECONDS)
    deadline = time.monotonic() + float(answer.get("expires_in") or BROWSER_SECONDS)
    grant = {"grant_type": DEVICE_GRANT, "device_code": str(answer["device_code"])}
    # Waits first: nobody types a code in no time.
    while time.monotonic() < deadline:
        sleep(interval)
        answer = _request_tokens(grant, options)
        match answer.get("error"):
            case "authorization_pending":
                continue
            case "slow_down":
                interval += POLL_SECONDS
            case "expired_token":
                break
            case _:
                return _read_tokens(answer, nonce_secret)
    raise Unavailable("nobody entered the code in time; run the command again for a new one")


def renew_tokens(options: ProviderOptions, refresh_token: str) -> ProviderTokens:
    """Ask the provider for a new ID token; raise Unauthenticated if it wants the person to sign in again."""
    answer = _request_tokens({"grant_type": "refresh_token", "refresh_token": refresh_token}, options)
    tokens = _read_tokens(answer, "")
    # A provider that rotates refresh tokens sends the next one; the others leave it out.
    return tokens if tokens.refresh_token else replace(tokens, refresh_token=refresh_token)


def revoke_token(options: ProviderOptions, refresh_token: str) -> bool:
    """Let the provider end a refresh token (RFC 7009); return False if it offers no way to do that."""
    # From the provider itself and not from the hub, which may be gone when somebody leaves its team.
    configuration = _fetch(Request(_check_endpoint(options.issuer, "address").rstrip("/") + CONFIGURATION_PATH))
    endpoint = configuration.get("revocation_endpoint")
    # Otherwise another provider could get hold of the token.
    if not endpoint or configuration.get("issuer") != options.issuer:
        return False
    fields = {"token": refresh_token, "token_type_hint": "refresh_token", **_identify_client(options)}
    _expect_success(_post(_check_endpoint(str(endpoint), "revocation endpoint"), fields))
    return True


def begin_login(
    url: str, options: ProviderOptions, *, with_code: bool, team: str, choose_team: ChooseTeam,
    announce: Announce, clock: Clock,
) -> Credentials:  # fmt: skip
    """Sign a person in at the provider and at the hub; return what the device needs from then on."""
    by_browser = has_browser() and not with_code
    sign_in_person = sign_in_with_browser if by_browser else sign_in_with_code
    tokens = sign_in_person(options, announce)
    token = new_token()
    request = LoginRequest(
        id_token=tokens.id_token, nonce_secret=tokens.nonce_secret, token_hash=hash_token(token), team=team
    )
    result = _send(url, request)
    # The hub keeps an ID token usable until a team is chosen, so the person signs in once.
    if not result.team:
        result = _send(url, replace(request, team=choose_team(result.teams)))
    login = ProviderLogin(
        provider=options, refresh_token=tokens.refresh_token, nonce_secret=tokens.nonce_secret,
        teams={}, team="", renew_at="", expires_at="",
    )  # fmt: skip
    return _take_result(Credentials(url=url, token=token, login=login), result, clock)


def renew_login(file: Path, clock: Clock) -> Credentials | None:
    """Return valid credentials; raise Unauthenticated if the person has to sign in again."""
    with lock_credentials(file):
        # Again, because another process may have renewed them, or logged out, while this one waited.
        credentials = load_credentials(file)
        if credentials is None or credentials.login is None or not credentials.is_due(format_timestamp(clock())):
            return credentials
        try:
            return _renew(file, credentials, credentials.login, clock)
        # For the caller, which deletes the copy of the team's memories.
        except AccessRevoked:
            raise
        except Unauthenticated as error:
            save_credentials(file, replace(credentials, is_ended=True))
            raise Unauthenticated(f"{error}\n{describe_ended(credentials.url)}") from None


def end_login(login: ProviderLogin) -> Revocation:
    """Let the provider end the refresh token of a login, so that a copy of it is of no use to anybody."""
    if not login.refresh_token:
        return Revocation.UNNEEDED
    try:
        is_revoked = revoke_token(login.provider, login.refresh_token)
    # Leaving a team must also be possible without a network.
    except (Unavailable, Unauthenticated, InvalidInput):
        return Revocation.FAILED
    return Revocation.DONE if is_revoked else Revocation.UNSUPPORTED


def _renew(file: Path, credentials: Credentials, login: ProviderLogin, clock: Clock) -> Credentials:
    if credentials.is_ended or not login.refresh_token:
        raise Unauthenticated("this login has ended")
    try:
        tokens = renew_tokens(login.provider, login.refresh_token)
    except Unavailable as error:
        # The hub accepts the token as long as it said, whether the provider answers or not.
        if format_timestamp(clock()) < login.expires_at:
            return credentials
        raise Unavailable(
            f"{error}, and this login expired at {format_minute(login.expires_at)}; what the team shared stays here,"
            " and 'hivemind sync' tries again"
        ) from error
    # Before the hub is asked: the provider has replaced the refresh token already.
    next_token = login.next_token or new_token()
    credentials = credentials.with_login(refresh_token=tokens.refresh_token, next_token=next_token)
    save_credentials(file, credentials)
    request = LoginRequest(
        id_token=tokens.id_token, nonce_secret=login.nonce_secret, token_hash=hash_token(next_token),
        previous_token=credentials.token,
    )  # fmt: skip
    result = _send(credentials.url, request)
    credentials = _take_result(replace(credentials, token=next_token), result, clock)
    save_credentials(file, credentials)
    return credentials


# Without the old token in a header: it may have expired, and the hub would refuse the request before it reads it.
def _send(url: str, request: LoginRequest) -> LoginResult:
    client = HubClient(url=url, token="")
    return client.ask(lambda answer: LoginResult(**answer), "POST", "/v1/login", asdict(request))


def _take_result(credentials: Credentials, result: LoginResult, clock: Clock) -> Credentials:
    """Return the credentials with the hub's answer; times are by the clock of this device, which may differ."""
    assert credentials.login is not None
    # Halfway, so that a provider that is down for a while does not end the login.
    share = 0.5 if credentials.login.refresh_token else 1
    return credentials.with_login(
        teams=result.teams,
        team=result.team,
        next_token="",
        renew_at=format_timestamp(clock() + timedelta(seconds=result.seconds * share)),
        expires_at=format_timestamp(clock() + timedelta(seconds=result.seconds)),
    )


class _CallbackServer(HTTPServer):
    """Waits on this machine alone, for the browser to come back with a code."""

    def __init__(self, attempt: SignInAttempt, issuer: str, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Callback)
        self.attempt = attempt
        self.issuer = issuer
        self.code = ""
        self.error = ""

    @property
    def url(self) -> str:
        """Where the provider sends the browser."""
        # By address and not by name: "localhost" may lead elsewhere (RFC 8252, 8.3).
        return f"http://127.0.0.1:{self.server_port}{CALLBACK_PATH}"

    def wait_for_code(self, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        # Whatever else on this machine asks, only an answer with our state ends the wait.
        while not self.code and not self.error:
            self.timeout = deadline - time.monotonic()
            if self.timeout <= 0:
                raise Unavailable("nobody signed in within five minutes; run the command again")
            self.handle_request()
        if self.error:
            raise Refused(f"the identity provider refused: {self.error}")
        return self.code

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a connection that breaks; the browser may come again."""


def _listen(attempt: SignInAttempt, options: ProviderOptions) -> _CallbackServer:
    try:
        return _CallbackServer(attempt, options.issuer, options.redirect_port)
    except OSError as error:
        raise Unavailable(
            f"port {options.redirect_port} of this machine, to which the identity provider sends the browser, cannot be"
            f" used: {error.strerror}; close what uses it, or sign in with --device-code"
        ) from error


class _Callback(BaseHTTPRequestHandler):
    """Answers the browser that comes back from the provider."""

    server: _CallbackServer
    # Browsers open connections in advance and send nothing on them.
    timeout = 2

    def do_GET(self) -> None:
        """Take the code from an answer to our own request."""
        parts = urlsplit(self.path)
        fields = {name: values[0] for name, values in parse_qs(parts.query).items()}
        is_ours = (
            parts.path == CALLBACK_PATH
            # Another name for this address would be DNS rebinding.
            and self.headers.get("Host") == urlsplit(self.server.url).netloc
            and self.server.attempt.is_answered_by(fields, self.server.issuer)
        )
        if not is_ours:
            self._answer(404, "Not for this page", "This is not the answer to the login that is waiting here.")
        elif "code" in fields:
            self.server.code = fields["code"]
            # The code is not redeemed yet, and the hub has not decided, so the page does not say "signed in".
            self._answer(200, "You can close this window", "The terminal says what comes next.")
        else:
            self.server.error = fields.get("error_description") or fields.get("error", "no reason given")
            self._answer(200, "Not signed in", f"The identity provider refused: {self.server.error}")

    def _answer(self, status: int, title: str, text: str) -> None:
        body = PAGE.format(title=html.escape(title), text=html.escape(text)).encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close",
            "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
        }.items():  # fmt: skip
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing: the address has the code in it."""


def _identify_client(options: ProviderOptions) -> dict[str, str]:
    secret = {"client_secret": options.client_secret} if options.client_secret else {}
    return {"client_id": options.client_id, **secret}


def _request_tokens(grant: Mapping[str, str], options: ProviderOptions) -> dict[str, Any]:
    return _post(_check_endpoint(options.token_endpoint, "token endpoint"), {**grant, **_identify_client(options)})


def _read_tokens(answer: Mapping[str, Any], nonce_secret: str) -> ProviderTokens:
    answer = _expect_success(answer)
    # A renewal need not bring one (OpenID Connect Core, 12.2), and without it the hub learns nothing about groups.
    if not answer.get("id_token"):
        raise Unauthenticated("the identity provider gave no ID token; its client needs the scope openid")
    return ProviderTokens(
        id_token=str(answer["id_token"]), refresh_token=str(answer.get("refresh_token") or ""),
        nonce_secret=nonce_secret,
    )  # fmt: skip


def _expect_success(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    if error := answer.get("error"):
        reason = answer.get("error_description") or error
        raise Unauthenticated(f"the identity provider refused: {reason}; sign in again")
    return answer


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect, which could carry secrets elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse."""


def _post(url: str, fields: Mapping[str, str]) -> dict[str, Any]:
    """Send a form to the provider and return its answer, also one that says ``error``."""
    # Some providers answer with a form unless they are asked for JSON.
    return _fetch(Request(url, data=urlencode(fields).encode(), headers={"Accept": "application/json"}))


def _fetch(request: Request) -> dict[str, Any]:
    host = urlsplit(request.full_url).netloc
    try:
        with build_opener(_NoRedirect).open(request, timeout=TIMEOUT_SECONDS) as response:
            body = response.read()
            # The answer to a revocation is empty.
            answer = parse_json(body) if body else {}
    except HTTPError as error:
        answer = _read_error(error, host)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise Unavailable(f"the identity provider at {host} does not answer: {reason}") from error
    if not isinstance(answer, dict):
        raise Unavailable(f"the identity provider at {host} sent no JSON object; try again later")
    return answer


def _read_error(error: HTTPError, host: str) -> Any:
    """Return the provider's error; raise Unavailable if the answer has none."""
    with error:
        try:
            answer = parse_json(error.read())
        except (ValueError, HivemindError):
            answer = None
    # Only 400 and 401 say something about the request (RFC 6749, 5.2); the rest is an outage.
    if error.code not in (400, 401) or not isinstance(answer, dict) or "error" not in answer:
        raise Unavailable(f"the identity provider at {host} answered {error.code}; try again later")
    return answer


def _check_endpoint(url: str, what: str) -> str:
    """Return the URL if secrets may be sent there."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise InvalidInput(f"the identity provider's {what} {url!r} has no TLS; ask whoever runs the hub")
    return url
