"""Administration of a team: the record of it in the team's log, removed devices, limits, and what a restore undoes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from hivemind.errors import InvalidInput
from hivemind.model.codec import from_row
from hivemind.model.events import Event, TeamAdministered
from hivemind.model.ids import EventId, derive_id
from hivemind.model.memory import Channel
from hivemind.model.scope import Scope
from hivemind.model.team import AdminAction, Role, TeamLimits, TeamMember
from hivemind.store.database import Database
from hivemind.store.store import Store

Recorder = Callable[[AdminAction, str, str], None]
"""Records an act of administration with its subject and a detail."""


def make_recorder(store: Store, actor: str, at: str) -> Recorder:
    """Return a function that records acts of one administrator."""
    return partial(_record, store, actor, at)


def _record(store: Store, actor: str, at: str, action: AdminAction, subject: str, detail: str = "") -> None:
    # In the hub's own chain: it cannot be changed without notice, and every device has a copy of it.
    event = Event(
        id=EventId(derive_id(action.value, subject, detail, at)), at=at, actor=actor, channel=Channel.PERSON,
        scope=Scope.TEAM, repo="", fact=TeamAdministered(action=action.value, subject=subject, detail=detail),
    )  # fmt: skip
    # Not the hub's own record, which checks what a member's role allows them to say about memories.
    Store.record(store, [event])


def apply_again(db: Database, events: Iterable[Event]) -> None:
    """Revoke and remove again what a restored database had forgotten about.

    Tokens that were created since the backup cannot come back: only the database had their hashes.
    """
    for event in events:
        if not isinstance(event.fact, TeamAdministered):
            continue
        match event.fact.action:
            case AdminAction.TOKEN_REVOKED.value:
                sql = "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at = ''"
                db.execute(sql, event.at, event.fact.subject)
            case AdminAction.DEVICE_REMOVED.value:
                remove_device(db, event.fact.subject, event.at)
            case AdminAction.MEMBER_REMOVED.value:
                remove_person(db, event.fact.subject, event.at)
            case AdminAction.MEMBER_RETURNED.value:
                return_person(db, event.fact.subject)


@dataclass(frozen=True, slots=True)
class DeviceRegister:
    """Which devices may sync, and with which token each last did."""

    db: Database
    token: str = ""

    def is_removed(self, chain: str) -> bool:
        """Whether an admin removed a device."""
        return self.db.one("SELECT 1 FROM removed_devices WHERE chain = ?", chain) is not None

    def has_login(self, chain: str) -> bool:
        """Whether a device said hello with this token before."""
        return bool(self.db.value("SELECT token FROM device_logins WHERE chain = ?", chain) == self.token)

    def record_login(self, chain: str) -> None:
        """Record with which token a device says hello."""
        self.db.execute(
            "INSERT INTO device_logins (chain, token) VALUES (?, ?)"
            " ON CONFLICT (team_id, chain) DO UPDATE SET token = excluded.token",
            chain, self.token,
        )  # fmt: skip

    def has_room(self, chain: str, person: str) -> bool:
        """Whether a device is known, or its person may have another one."""
        device_count, limit, is_known = self.db.one(
            "SELECT (SELECT count(*) FROM devices d WHERE d.person = :person AND NOT EXISTS ("
            "SELECT 1 FROM removed_devices r WHERE r.chain = d.id)), (SELECT max_devices FROM teams),"
            " EXISTS (SELECT 1 FROM devices d WHERE d.id = :chain AND d.person <> '')",
            {"person": person, "chain": chain},
        ) or (0, 0, False)  # fmt: skip
        return bool(is_known or device_count < limit)


def find_member(db: Database, person: str) -> TeamMember:
    """Return a member as their tokens describe them, also expired ones; a writer if there is none."""
    rows = db.execute("SELECT role, is_agent FROM tokens WHERE name = ?", person)
    roles = [Role(role) for role, is_agent in rows if not is_agent] or [Role(role) for role, _ in rows]
    is_agent = bool(rows) and all(is_agent for _, is_agent in rows)
    # Roles are listed from the least to the most rights.
    role = max(roles, key=list(Role).index, default=Role.WRITER)
    return TeamMember(person=person, role=role, is_agent=is_agent)


def remove_device(db: Database, chain: str, at: str) -> None:
    """End the access of a device for good."""
    db.execute("INSERT INTO removed_devices (chain, at) VALUES (?, ?) ON CONFLICT DO NOTHING", chain, at)


def remove_person(db: Database, person: str, at: str) -> None:
    """Let a person of the identity provider sign in to this team no more, whatever the provider says."""
    db.execute("INSERT INTO removed_people (person, at) VALUES (?, ?) ON CONFLICT DO NOTHING", person, at)


def return_person(db: Database, person: str) -> bool:
    """Let a person sign in to this team again; return whether they were removed from it."""
    return bool(db.execute("DELETE FROM removed_people WHERE person = ? RETURNING person", person))


def list_removed(db: Database) -> dict[str, str]:
    """Return the removed devices, each with the time of its removal."""
    return {row[0]: row[1] for row in db.execute("SELECT chain, at FROM removed_devices")}


def find_token(db: Database, chain: str) -> str:
    """Return the id of the token with which a device last said hello; empty if unknown or of an identity provider."""
    sql = "SELECT t.id FROM device_logins l JOIN tokens t ON t.id = l.token WHERE l.chain = ? AND t.revoked_at = ''"
    return str(db.value(sql, chain) or "")


def read_limits(db: Database) -> TeamLimits:
    """Return the team's limits."""
    row = db.one("SELECT name, lease_days, max_devices, max_entries, refusal_days, review_edits FROM teams")
    assert row is not None
    return from_row(TeamLimits, row)


def change_limits(db: Database, limits: TeamLimits) -> None:
    """Store a team's limits."""
    if min(limits.lease_days, limits.max_devices, limits.refusal_days) < 1 or limits.max_entries < 0:
        raise InvalidInput("days and devices must be at least 1, and entries 0 (no limit) or more; give larger numbers")
    db.execute(
        "UPDATE teams SET name = ?, lease_days = ?, max_devices = ?, max_entries = ?, refusal_days = ?,"
        " review_edits = ?",
        limits.name, limits.lease_days, limits.max_devices, limits.max_entries, limits.refusal_days,
        limits.review_edits,
    )  # fmt: skip
