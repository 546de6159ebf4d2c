"""What a device and its hub say to each other when a person signs in at an identity provider."""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from enum import StrEnum

from hivemind.model.dataclass import dataclass
from hivemind.model.ids import derive_id
from hivemind.model.team import Role


class Revocation(StrEnum):
    """What became of the provider's refresh token when a person logged out."""

    UNNEEDED = "unneeded"
    """The store had none."""
    DONE = "done"
    UNSUPPORTED = "unsupported"
    """The provider offers no way to end it."""
    FAILED = "failed"
    """The provider did not answer, or refused."""


TOKEN_PREFIX = "hm_"
"""Tells our own tokens from those of an identity provider, and lets scanners find them."""


# From the hub and not from the provider, so that members need to know one address only.
@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderOptions:
    """How a device reaches the identity provider of a hub."""

    issuer: str
    client_id: str
    client_secret: str
    """Empty for most providers. Every device gets it, so it protects nothing; Google asks for one all the same."""
    scopes: str
    parameters: dict[str, str]
    """What the authorization request has besides, such as ``access_type=offline``."""
    redirect_port: int
    """The port of this machine that the browser comes back to; 0 for any free one."""
    authorization_endpoint: str
    token_endpoint: str
    device_authorization_endpoint: str
    """Empty if the provider has no device code flow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRequest:
    """A person's proof of who they are, and the token that their device wants to use from now on."""

    id_token: str
    token_hash: str
    """Of a token that the device has made, so that a lost answer can be asked for again."""
    nonce_secret: str = ""
    """The nonce of the ID token is a hash of this: whoever else gets hold of the ID token cannot use it."""
    previous_token: str = ""
    """The token that is to be replaced; empty at a first login."""
    team: str = ""
    """The team's name; empty if the person is in one only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginResult:
    """Who somebody is on the hub, and until when their token is valid."""

    person: str
    team: str
    """The team of the token; empty if the person has to choose one of several."""
    teams: dict[str, str]
    """Every team of the person, with their role in it."""
    seconds: int
    """How long the token is valid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A person or agent as the identity provider describes them."""

    issuer: str
    subject: str
    name: str
    has_verified_name: bool
    """Whether the name is an e-mail address that the provider has verified."""
    roles: Mapping[str, Role]
    """The role in each team that the groups give."""
    expires_at: int
    """When the token expires, in seconds since 1970."""
    is_agent: bool = False

    @property
    def id(self) -> str:
        """The same for the same subject, whatever it is called today."""
        return derive_id("person", self.issuer, self.subject)


def hash_nonce(secret: str) -> str:
    """Return the nonce of a login whose secret only the device knows; the same hash as that of PKCE."""
    return urlsafe_b64encode(hashlib.sha256(secret.encode()).digest()).rstrip(b"=").decode()


def new_token() -> str:
    """Return a token that nobody can guess."""
    # 32 bytes, so that a fast hash of it is as safe as a slow one.
    return TOKEN_PREFIX + secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    """Return the hash by which the hub stores a token."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def digest_proof(id_token: str) -> str:
    """Return what identifies an ID token, without its signature: of one text several are valid with some algorithms."""
    return hashlib.sha256(id_token.rpartition(".")[0].encode()).hexdigest()
