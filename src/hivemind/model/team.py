"""A team's hub and its devices: who may do what, and what they say to each other."""

from dataclasses import dataclass

from hivemind.model.scope import Choice
from hivemind.model.wire import Entry

LEASE_DAYS = 60
"""How long a device may keep the team's memories without asking what became of them."""


class Role(Choice):
    """What somebody may do with the team's memories; each may do what the one before it may."""

    READER = "reader"
    WRITER = "writer"
    REVIEWER = "reviewer"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Somebody who speaks to the hub, as the token says."""

    person: str
    role: Role
    is_agent: bool = False

    @property
    def may_write(self) -> bool:
        """Whether anything they bring counts."""
        return self.role is not Role.READER

    @property
    def may_review(self) -> bool:
        """Whether their verdicts count; an agent's never do."""
        return self.role in (Role.REVIEWER, Role.ADMIN) and not self.is_agent

    @property
    def is_admin(self) -> bool:
        """Whether they may say who else comes in."""
        return self.role is Role.ADMIN and not self.is_agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """What the hub tells a device that says hello."""

    team: str
    key: bytes
    """Keys the digests of values that stay out of the team, so that each device can refuse them."""
    person: str
    role: Role
    has: int
    """How many entries of the device's shared chain the hub has."""
    lease_days: int = LEASE_DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Pushed:
    """What became of entries that a device brought."""

    has: int
    """How many entries of its chain the hub has now; the next one is expected."""
    refused: tuple[tuple[str, str], ...] = ()
    """Entries that do not count, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """The next entries of the team's log, and where to go on."""

    after: int
    """What was asked for."""
    entries: tuple[Entry, ...]
    cursor: int
    end: int
    """The position of the newest entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A device as the hub knows it."""

    id: str
    person: str
    cursor: int
    last_seen_at: str
    behind: int
    """How many entries it has not read."""
    erasures: int
    """How many of them are erasures: content that may still be on it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The team a store belongs to, and how far the two have come with each other."""

    team: str
    key: bytes
    person: str
    role: Role
    lease_days: int
    cursor: int = 0
    """How far this store has read the team's log."""
    pushed: int = 0
    """How many entries of its own chain the hub has."""
    synchronised_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Synchronised:
    """What an exchange with the hub brought."""

    pushed: int
    pulled: int
    erased: int
    """Memories that others had erased, and are gone from here now."""
    refused: tuple[tuple[str, str], ...]
    """Entries of ours that do not count, and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamStatus:
    """How this store stands with its team."""

    membership: Membership | None
    waiting: int
    """Entries of ours that the hub does not have yet."""
    lease_ends_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """Somebody the hub let in."""

    team: str
    member: Member
    token: str = ""
    """The id of the token that was shown, never the token."""
    until: str = ""
    """When what an identity provider vouched for ends; of our own tokens the database knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A key to a team's memory, as it is listed: the secret itself was shown once and is not kept."""

    id: str
    name: str
    role: Role
    is_agent: bool
    created_at: str
    expires_at: str
    revoked_at: str
    last_used_at: str

    def is_good(self, now: str) -> bool:
        """Whether it opens anything."""
        return not self.revoked_at and self.expires_at > now


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Somebody was turned away."""

    at: str
    who: str
    what: str
    why: str
