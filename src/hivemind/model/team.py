"""Roles, devices and tokens of a team, and what its hub and its devices say to each other, also at a login."""

import hashlib
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from enum import StrEnum

from hivemind.model.dataclass import dataclass
from hivemind.model.ids import Timestamp, derive_id
from hivemind.model.scope import Choice
from hivemind.model.wire import WireEntry

LEASE_DAYS = 60
"""How long a device may use the team's memories without syncing, so that erasures reach it."""
TOKEN_PREFIX = "hm_"
"""Tells our own tokens from those of an identity provider, and lets scanners find them."""


# Stored by name in tokens and in the team table.
class Role(Choice):
    """What a member may do; each role includes the rights of the one before it."""

    READER = "reader"
    WRITER = "writer"
    REVIEWER = "reviewer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamMember:
    """The person or agent that a token identifies, and what they may do."""

    person: str
    role: Role
    is_agent: bool = False

    @property
    def may_write(self) -> bool:
        """Whether the hub accepts their entries."""
        return self.role is not Role.READER

    @property
    def may_review(self) -> bool:
        """Whether they may approve and reject; an agent never may."""
        # Review decides what agents believe, so they must not decide it themselves.
        return self.role in (Role.REVIEWER, Role.ADMIN) and not self.is_agent

    @property
    def is_admin(self) -> bool:
        """Whether they may manage members and tokens."""
        return self.role is Role.ADMIN and not self.is_agent

    @property
    def read_only_rule(self) -> str | None:
        """The rule that keeps them from writing; None if they may write."""
        rule = f"{self.person} may read the team's memories, not add to them; ask an admin for another role"
        return None if self.may_write else rule

    def find_erasure_rule(self, author: str) -> str | None:
        """Return the rule that keeps them from erasing a memory of an author; None if they may."""
        may_erase = self.may_review or (not self.is_agent and author == self.person)
        return self.read_only_rule or (None if may_erase else "only its author or a reviewer may erase it")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainHead:
    """An entry of a chain by its number and hash, whose chain it is, and the hub's seal on that."""

    chain: str
    person: str
    """The member whose device writes the chain; empty for the hub's own."""
    seq: int
    hash: str
    epoch: str = ""
    seal: str = ""
    """Proves to the hub that it had this entry and all before it, should its database lose them; empty without."""
    position: int = 0
    """In the hub's log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bookmark:
    """How far a device has read the team's log, in which epoch, and the last entry it has read."""

    team: str = ""
    """The team it belongs to; empty if it joins one now."""
    epoch: str = ""
    cursor: int = 0
    head: ChainHead | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """The hub's reply to the first request of a device."""

    team: str
    key: bytes
    """The key for digests of rejected and erased values, so that each device can refuse them."""
    person: str
    role: Role
    has: int
    """How many entries of the device's shared chain the hub has."""
    lease_days: int = LEASE_DAYS
    head: str = ""
    """The hash of the last of these entries; another one here means that the store was copied."""
    epoch: str = ""
    cursor: int = 0
    """From where to read on in this epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PushResult:
    """The hub's reply to a push."""

    has: int
    """How many entries of the device's chain the hub has now; it expects the next one."""
    refused: tuple[tuple[str, str], ...] = ()
    """Ids of refused entries, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPage:
    """The next entries of the team's log, and the cursor for the next request."""

    after: int
    """The cursor of the request."""
    entries: tuple[WireEntry, ...]
    cursor: int
    end: int
    """The position of the newest entry."""
    heads: tuple[ChainHead, ...] = ()
    """The last entry of each chain on this page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device of the team, and how far it has synced."""

    id: str
    person: str
    cursor: int
    last_seen_at: Timestamp
    behind: int
    """How many entries it has not yet pulled."""
    erasures: int
    """How many of them are erasures, so that the device may still have the erased content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The team of a store, and how far the two are in sync."""

    team: str
    key: bytes
    person: str
    role: Role
    lease_days: int
    cursor: int = 0
    """How far this store has pulled the team's log."""
    pushed: int = 0
    """How many entries of its own chain the hub has."""
    synchronised_at: Timestamp = ""
    epoch: str = ""
    """In which the cursor counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """The result of a sync with the hub."""

    pushed: int
    pulled: int
    erased: int
    """Memories that others had erased and that are now deleted here."""
    refused: tuple[tuple[str, str], ...]
    """Ids of our entries that the hub refused, and why."""
    returned: int | None = None
    """Entries sent back to a hub whose database was restored; none if it was not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token of a team as it is listed; the secret was shown once and is not stored."""

    id: str
    name: str
    role: Role
    is_agent: bool
    created_at: Timestamp
    expires_at: Timestamp
    revoked_at: Timestamp
    last_used_at: Timestamp
    is_login: bool = False
    """Whether a person got it by signing in at an identity provider; their device renews it."""

    def is_good(self, now: Timestamp) -> bool:
        """Whether the token is neither revoked nor expired."""
        return not self.revoked_at and self.expires_at > now


# Stored by name in the log.
class AdminAction(Choice):
    """An act of administration."""

    TEAM_CREATED = "team created"
    TEAM_EXPORTED = "team exported"
    LIMIT_CHANGED = "limit changed"
    TOKEN_CREATED = "token created"
    TOKEN_REVOKED = "token revoked"
    DEVICE_REMOVED = "device removed"
    ROLE_CHANGED = "role changed"
    MEMBER_REMOVED = "member removed"
    MEMBER_RETURNED = "member returned"
    EPOCH_BEGUN = "epoch begun"


class Revocation(StrEnum):
    """What became of the provider's refresh token when a person logged out."""

    UNNEEDED = "unneeded"
    """The store had none."""
    DONE = "done"
    UNSUPPORTED = "unsupported"
    """The provider offers no way to end it."""
    FAILED = "failed"
    """The provider did not answer, or refused."""


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
