"""Roles, devices, tokens, the administration of a team, and the messages between a hub and its devices."""

from hivemind.model.dataclass import dataclass
from hivemind.model.scope import Choice
from hivemind.model.wire import WireEntry

LEASE_DAYS = 60
"""How long a device may use the team's memories without syncing, so that erasures reach it."""


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
    def read_only_rule(self) -> str:
        """The rule that keeps them from writing; empty if they may write."""
        rule = f"{self.person} may read the team's memories, not add to them; ask an admin for another role"
        return "" if self.may_write else rule

    def find_erasure_rule(self, author: str) -> str:
        """Return the rule that keeps them from erasing a memory of an author; empty if they may."""
        may_erase = self.may_review or (not self.is_agent and author == self.person)
        return self.read_only_rule or ("" if may_erase else "only its author or a reviewer may erase it")


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
class LogEpoch:
    """A time in which the positions of a team's log are unambiguous; a restored database begins a new one."""

    id: str
    chain: str
    """The chain that the hub writes in it."""
    began_at: str
    base: int
    """Entries up to this position are the same as in the epoch before."""
    why: str
    returned: int
    """Entries that devices sent back in it because the database had lost them."""


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
    last_seen_at: str
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
    synchronised_at: str = ""
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
class TeamStatus:
    """The state of sync between this store and its team."""

    membership: Membership | None
    waiting: int
    """Entries that the hub does not have yet."""
    lease_ends_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedMember:
    """A member whose token the hub accepted."""

    team: str
    member: TeamMember
    token: str = ""
    """The id of the token, never the token itself."""
    until: str = ""
    """When a login by an identity provider expires; for our own tokens the database has the date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token of a team as it is listed; the secret was shown once and is not stored."""

    id: str
    name: str
    role: Role
    is_agent: bool
    created_at: str
    expires_at: str
    revoked_at: str
    last_used_at: str
    is_login: bool = False
    """Whether a person got it by signing in at an identity provider; their device renews it."""

    def is_good(self, now: str) -> bool:
        """Whether the token is neither revoked nor expired."""
        return not self.revoked_at and self.expires_at > now


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that the hub refused."""

    at: str
    who: str
    what: str
    why: str


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamLimits:
    """The name and limits of a team."""

    name: str
    lease_days: int
    """How long a device may use the team's memories without a sync."""
    max_devices: int
    """For each member."""
    max_entries: int
    """In the team's log; 0 for no limit."""
    refusal_days: int
    """How long refused requests are kept."""
    review_edits: bool = False
    """Whether a reviewer must agree before an edit of somebody else's memory counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What the removal of a device or a member ended."""

    tokens: tuple[str, ...]
    devices: tuple[str, ...]
