"""How a device reaches its hub: the file beside the store that has the token, and what renews it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from hivemind import system
from hivemind.errors import StoreDamaged
from hivemind.model.codec import from_plain, to_plain
from hivemind.model.dataclass import dataclass
from hivemind.model.login import ProviderOptions


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
    is_ended: bool = False
    """Whether only signing in again helps."""
    is_told: bool = False
    """Whether an agent has been told that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The hub of a store, and the token for it."""

    url: str
    token: str
    login: ProviderLogin | None = None
    """None for a token that an admin gave."""

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
    # A new file in one step: a crash must not lose a refresh token that the provider has replaced.
    new_file = file.with_suffix(".new")
    # Left by a crash; opened as a new file below, so that nobody else's file can take its place.
    new_file.unlink(missing_ok=True)
    descriptor = os.open(new_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(to_plain(credentials), stream)
        stream.flush()
        os.fsync(stream.fileno())
    new_file.replace(file)


@contextmanager
def lock_credentials(file: Path, *, is_waiting: bool = True) -> Iterator[None]:
    """Keep other processes from changing the file: two that renew at once would look like a stolen login."""
    with system.lock_file(str(file.with_suffix(".lock")), is_waiting=is_waiting):
        yield


def take_notice(file: Path) -> str:
    """Return what an agent should tell its person about the login; empty if nothing, or if one was told before."""
    try:
        with lock_credentials(file, is_waiting=False):
            credentials = load_credentials(file)
            if not credentials or not credentials.login or not credentials.login.is_ended or credentials.login.is_told:
                return ""
            save_credentials(file, credentials.with_login(is_told=True))
    # Somebody renews or signs in at this moment.
    except BlockingIOError:
        return ""
    return describe_ended(credentials.url)


def describe_ended(url: str) -> str:
    """Return what to do when a login has ended."""
    return f"The login to the team's hub has ended; to exchange again, sign in: hivemind team login {url}"
