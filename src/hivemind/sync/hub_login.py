"""The login of a store to a hub: sign in at the team's identity provider, and renew that without the person."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

from hivemind.context import Clock
from hivemind.errors import AccessRevoked, InvalidInput, Unauthenticated, Unavailable
from hivemind.model.login import LoginRequest, LoginResult, ProviderOptions, Revocation, hash_token, new_token
from hivemind.model.timestamps import format_minute, format_timestamp
from hivemind.sync import sign_in
from hivemind.sync.client import HubClient
from hivemind.sync.credentials import (
    Credentials,
    ProviderLogin,
    describe_ended,
    load_credentials,
    lock_credentials,
    save_credentials,
)

ChooseTeam = Callable[[Mapping[str, str]], str]
"""Returns the name of one of several teams, each with the person's role in it."""


def find_provider(url: str) -> ProviderOptions | None:
    """Ask a hub where its members sign in; None if they log in with tokens."""
    provider = HubClient(url=url, token="").request("GET", "/v1/login")["provider"]
    return ProviderOptions(**provider) if provider else None


def begin_login(
    url: str, options: ProviderOptions, *, with_code: bool, team: str, choose_team: ChooseTeam,
    announce: sign_in.Announce, clock: Clock,
) -> Credentials:  # fmt: skip
    """Sign a person in at the provider and at the hub; return what the device needs from then on."""
    by_browser = sign_in.has_browser() and not with_code
    sign_in_person = sign_in.sign_in_with_browser if by_browser else sign_in.sign_in_with_code
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
            save_credentials(file, credentials.with_login(is_ended=True))
            raise Unauthenticated(f"{error}\n{describe_ended(credentials.url)}") from None


def end_login(login: ProviderLogin) -> Revocation:
    """Let the provider end the refresh token of a login, so that a copy of it is of no use to anybody."""
    if not login.refresh_token:
        return Revocation.UNNEEDED
    try:
        is_revoked = sign_in.revoke(login.provider, login.refresh_token)
    # Leaving a team must also be possible without a network.
    except (Unavailable, Unauthenticated, InvalidInput):
        return Revocation.FAILED
    return Revocation.DONE if is_revoked else Revocation.UNSUPPORTED


def _renew(file: Path, credentials: Credentials, login: ProviderLogin, clock: Clock) -> Credentials:
    if login.is_ended or not login.refresh_token:
        raise Unauthenticated("this login has ended")
    try:
        tokens = sign_in.renew(login.provider, login.refresh_token)
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
    return LoginResult(**HubClient(url=url, token="").request("POST", "/v1/login", asdict(request)))


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
