"""Who may use the hub: tokens, browser sessions ("visits"), devices, removed people, refused requests and rate limits.

Only hashes of tokens are stored. A token is 32 random bytes and cannot be guessed, so a fast hash is as safe as a slow
one. Every query sees one team, except the lookup of a token's team.
"""

import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hivemind.errors import InvalidInput, NotFound
from hivemind.model.codec import from_row
from hivemind.model.events import Event, TeamAdministered
from hivemind.model.ids import derive_id
from hivemind.model.team import AdminAction, Role, TeamMember, Token, hash_token, new_token
from hivemind.model.timestamps import format_date, format_timestamp
from hivemind.store.database import Database
from hivemind.text.clean import validate_label

Recorder = Callable[[AdminAction, str, str], None]
"""Records an act of administration with its subject and a detail."""

DEFAULT_TOKEN_DAYS = 90
"""How long a token is valid by default."""
MAX_DAYS = 3_650
"""For tokens, leases and records; the calendar ends, too."""
VISIT_DAYS = 7
"""How long a browser stays signed in, at most until its token expires."""
WINDOW_SECONDS = 60

EXPIRED = (
    # Also a revoked one: until its device's lease has ended, the device must learn that it was revoked.
    "SELECT id FROM tokens t WHERE greatest(t.expires_at, t.revoked_at) < ? AND EXISTS ("
    # The newest of each kind stays, because it says what role somebody had: a restored hub asks that, and so do people.
    "SELECT FROM tokens n WHERE (n.name, n.role, n.is_agent) = (t.name, t.role, t.is_agent)"
    " AND (n.created_at, n.id) > (t.created_at, t.id))"
)

INSERT_TOKEN = (
    "INSERT INTO tokens (id, name, role, is_agent, hash, created_at, expires_at, person, revoked_at, last_used_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, '', '')"
)
COLUMNS = "id, name, role, is_agent, created_at, expires_at, revoked_at, last_used_at, person <> '' AS is_login"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A request that the hub refused."""

    at: str
    who: str
    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmittedMember:
    """A member whose token the hub accepted."""

    team: str
    member: TeamMember
    token: str = ""
    """The id of the token, never the token itself."""
    until: str = ""
    """When a login by an identity provider expires; for our own tokens the database has the date."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one team."""

    db: Database
    clock: Callable[[], datetime]
    record: Recorder

    def list(self) -> list[Token]:
        """Return every token, newest first."""
        return list_tokens(self.db)

    def issue(self, *, name: str, role: Role, is_agent: bool = False, days: int = DEFAULT_TOKEN_DAYS) -> str:
        """Create a token for a member and return it; it cannot be read again."""
        if not 1 <= days <= MAX_DAYS:
            raise InvalidInput(f"a token is valid for 1 to {MAX_DAYS:,} days; give another number")
        now, secret = self.clock(), new_token()
        token, label = derive_id("token", secret)[:12], validate_label(name, "the name")
        expires_at = format_timestamp(now + timedelta(days=days))
        with self.db.transaction():
            row = (token, label, role.value, is_agent, hash_token(secret), format_timestamp(now), expires_at, "")
            self.db.execute(INSERT_TOKEN, *row)
            kind = f"{role.value}, agent" if is_agent else role.value
            self.record(AdminAction.TOKEN_CREATED, token, f"{label} ({kind}), until {format_date(expires_at)}")
        return secret

    def revoke(self, token: str) -> Token:
        """Revoke a token, given its id or its member's name, from the next request on."""
        existing = self._find(token)
        if existing.revoked_at:
            return existing
        with self.db.transaction():
            now = format_timestamp(self.clock())
            self.db.execute("UPDATE tokens SET revoked_at = ? WHERE id = ?", now, existing.id)
            self.record(AdminAction.TOKEN_REVOKED, existing.id, existing.name)
        return self._find(existing.id)

    def rotate(self, token: str, days: int = DEFAULT_TOKEN_DAYS) -> str:
        """Revoke a token and return a new one for the same member."""
        existing = self.revoke(self._find(token).id)
        return self.issue(name=existing.name, role=existing.role, is_agent=existing.is_agent, days=days)

    def _find(self, token: str) -> Token:
        matches = [
            candidate
            for candidate in self.list()
            if candidate.id == token or (candidate.name == token and not candidate.revoked_at)
        ]
        if not matches:
            raise NotFound(f"no token {token!r}; 'hivemind hub token list' lists them")
        if len(matches) > 1:
            raise InvalidInput(f"{token!r} has {len(matches)} tokens; give the id of one of them")
        return matches[0]


def list_tokens(db: Database) -> list[Token]:
    """Return every token of the team, newest first."""
    rows = db.execute(f"SELECT {COLUMNS} FROM tokens ORDER BY created_at DESC, id")
    return [from_row(Token, row) for row in rows]


def delete_expired_tokens(db: Database, before: str) -> int:
    """Delete tokens that ended before a time and were replaced by newer ones; return how many."""
    with db.transaction():
        ids = [row[0] for row in db.execute(EXPIRED, before)]
        db.execute("DELETE FROM visits WHERE token = ANY(?::text[])", ids)
        db.execute("DELETE FROM tokens WHERE id = ANY(?::text[])", ids)
    return len(ids)


def authenticate(db: Database, now: datetime, secret: str) -> AdmittedMember | None:
    """Return the member a token belongs to, or None if it is unknown, expired or revoked."""
    row = db.one("SELECT team, id, name, role, is_agent FROM token_of(?, ?)", hash_token(secret), format_timestamp(now))
    if row is None:
        return None
    team, token, name, role, is_agent = row
    return AdmittedMember(team=team, member=TeamMember(person=name, role=Role(role), is_agent=is_agent), token=token)


def is_revoked(db: Database, secret: str) -> bool:
    """Whether an admin revoked this token; false if it has only expired, or never existed."""
    return bool(db.value("SELECT is_revoked(?)", hash_token(secret)))


def list_teams(db: Database) -> list[tuple[str, str]]:
    """Return the id and name of every team, for whoever runs the hub."""
    return [(row[0], row[1]) for row in db.execute("SELECT id, name FROM list_teams()")]


def begin_visit(db: Database, now: datetime, who: AdmittedMember, until: str = "") -> str:
    """Sign a browser in, at most until a time, and return the secret for its cookie; only a hash of it is stored."""
    secret = secrets.token_urlsafe(32)
    # Timestamps are compared as text: "9" is later than any of them. Only access tokens of an identity provider have an
    # ``until``; ours are looked up at each request, so that revoking one ends its visits too.
    expires_at = min(format_timestamp(now + timedelta(days=VISIT_DAYS)), until or "9", who.until or "9")
    db.execute("DELETE FROM visits WHERE expires_at < ?", format_timestamp(now))
    db.execute(
        "INSERT INTO visits (hash, token, name, role, expires_at) VALUES (?, ?, ?, ?, ?)",
        hash_token(secret), None if who.until else who.token, who.member.person, who.member.role.value, expires_at,
    )  # fmt: skip
    return secret


def authenticate_visit(db: Database, now: datetime, secret: str) -> AdmittedMember | None:
    """Return the member a browser is signed in as, or None once its visit or token has ended."""
    row = db.one("SELECT team, token, name, role FROM visit_of(?, ?)", hash_token(secret), format_timestamp(now))
    if row is None:
        return None
    team, token, name, role = row
    return AdmittedMember(team=team, member=TeamMember(person=name, role=Role(role)), token=token or name)


def end_visit(db: Database, secret: str) -> None:
    """Sign a browser out."""
    db.execute("DELETE FROM visits WHERE hash = ?", hash_token(secret))


def end_provider_visits(db: Database, name: str) -> None:
    """Sign out the browsers that a provider's token signed in; the others end with their tokens."""
    db.execute("DELETE FROM visits WHERE name = ? AND token IS NULL", name)


def find_team(db: Database, name: str) -> str | None:
    """Return the id of the team of that name, or None."""
    team = db.value("SELECT team_named(?)", name)
    return None if team is None else str(team)


def has_teams(db: Database) -> bool:
    """Return whether the hub has any team."""
    return bool(db.value("SELECT has_teams()"))


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
        # Not in one statement: the devices of a team may be on another server than who was removed from it.
        rows = self.db.execute("SELECT id, person FROM devices WHERE person = ? OR id = ?", person, chain)
        if any(device == chain and owner for device, owner in rows):
            return True
        devices = {device for device, owner in rows if owner == person} - list_removed_devices(self.db).keys()
        return len(devices) < int(self.db.value("SELECT max_devices FROM teams"))


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


def list_removed_devices(db: Database) -> dict[str, str]:
    """Return the removed devices, each with the time of its removal."""
    return {row[0]: row[1] for row in db.execute("SELECT chain, at FROM removed_devices")}


def find_token_of_device(db: Database, chain: str) -> str | None:
    """Return the id of the token with which a device last said hello; None if unknown or of an identity provider."""
    sql = "SELECT t.id FROM device_logins l JOIN tokens t ON t.id = l.token WHERE l.chain = ? AND t.revoked_at = ''"
    token = db.value(sql, chain)
    return None if token is None else str(token)


def repeat_removals(db: Database, events: Iterable[Event]) -> None:
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


def record_refusal(db: Database, now: datetime, *, team: str, who: str, what: str, why: str) -> None:
    """Record a refused request."""
    # Clients without a token can cause this, so what they can store is bounded.
    moment = format_timestamp(now)
    db.execute("SELECT note_refusal(?, ?, ?, ?, ?)", team, moment, who[:200], what[:200], why[:200])
    db.execute("SELECT prune_refusals(?, ?)", team, moment)


def list_refusals(db: Database, limit: int) -> list[Refusal]:
    """Return refused requests to the team, newest first."""
    rows = db.execute("SELECT at, who, what, why FROM refusals ORDER BY at DESC LIMIT ?", limit)
    return [from_row(Refusal, row) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Requests per minute."""

    per_token: int = 600
    wrong_per_address: int = 30
    """Requests without a valid token; they never count against the valid tokens of others at the same address."""


@dataclass(slots=True)
class RequestCounter:
    """Counts the requests of this minute in this process.

    A count in the database would make every read a write. With several processes behind a load balancer, the limit is
    that many times higher.
    """

    _window: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, now: datetime, who: str) -> int:
        """Count a request and return how many there were in this minute."""
        window = int(now.timestamp()) // WINDOW_SECONDS
        with self._lock:
            # All start again together, so that the counter never holds more than one minute's callers.
            if window != self._window:
                self._window = window
                self._counts.clear()
            self._counts[who] += 1
            return self._counts[who]
