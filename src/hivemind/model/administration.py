"""What an administrator of a team can do to it, and the team's limits."""

from hivemind.formats.dataclass import dataclass
from hivemind.model.scope import Choice


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
