"""Who may come in: tokens of a team, how often each may ask, and a record of everyone who was turned away.

A token is 32 random bytes, so a plain hash of it is as good as a slow one; only the hash is kept. The database
answers for one team at a time, except to the question whose token this is.
"""

import hashlib
import secrets
from datetime import datetime, timedelta

from hivemind.errors import InvalidInput, NotFound
from hivemind.model.ids import derived
from hivemind.model.moments import written
from hivemind.model.plain import from_row
from hivemind.model.team import Admitted, Member, Refusal, Role, Token
from hivemind.model.text import checked_label
from hivemind.store.database import Database

PREFIX = "hm_"
DAYS = 90
"""How long a token is good for unless said otherwise."""
WINDOW_SECONDS = 60
VISIT_DAYS = 7
"""How long a browser stays known, if its token is good for that long."""

COLUMNS = "id, name, role, is_agent, created_at, expires_at, revoked_at, last_used_at"


def issue(db: Database, now: datetime, *, name: str, role: Role, is_agent: bool = False, days: int = DAYS) -> str:
    """A new token for a member of the team; this is the only time it can be read."""
    if days < 1:
        raise InvalidInput("a token must be good for at least a day")
    secret = PREFIX + secrets.token_urlsafe(32)
    db.execute(
        "INSERT INTO tokens (id, name, role, is_agent, hash, created_at, expires_at, revoked_at, last_used_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, '', '')",
        derived("token", secret)[:12], checked_label(name, "the name"), role.value, is_agent, _digest(secret),
        written(now), written(now + timedelta(days=days)),
    )  # fmt: skip
    return secret


def tokens(db: Database) -> list[Token]:
    """Every token of the team, newest first."""
    rows = db.execute(f"SELECT {COLUMNS} FROM tokens ORDER BY created_at DESC, id")
    return [from_row(Token, row) for row in rows]


def revoke(db: Database, now: datetime, token: str) -> Token:
    """Make a token worthless from the next request on; by its id or its member's name."""
    known = _named(db, token)
    db.execute("UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at = ''", written(now), known.id)
    return _named(db, known.id)


def rotate(db: Database, now: datetime, token: str, days: int = DAYS) -> str:
    """A new token in place of an old one, which is revoked."""
    known = _named(db, token)
    revoke(db, now, known.id)
    return issue(db, now, name=known.name, role=known.role, is_agent=known.is_agent, days=days)


def admitted(db: Database, now: datetime, secret: str) -> Admitted | None:
    """Whom a token belongs to and what they may do; nobody if it is unknown, expired or revoked."""
    row = db.one("SELECT team, id, name, role, is_agent FROM token_of(?, ?)", _digest(secret), written(now))
    if row is None:
        return None
    team, token, name, role, is_agent = row
    return Admitted(team=team, member=Member(person=name, role=Role(role), is_agent=is_agent), token=token)


def begin_visit(db: Database, now: datetime, who: Admitted) -> str:
    """Let a browser be somebody for a while; what it is to hold is not kept here."""
    secret = secrets.token_urlsafe(32)
    until = min(written(now + timedelta(days=VISIT_DAYS)), who.until or "9")
    db.execute("DELETE FROM visits WHERE expires_at < ?", written(now))
    db.execute(
        "INSERT INTO visits (hash, token, name, role, expires_at) VALUES (?, ?, ?, ?, ?)",
        _digest(secret), None if who.until else who.token, who.member.person, who.member.role.value, until,
    )  # fmt: skip
    return secret


def visiting(db: Database, now: datetime, secret: str) -> Admitted | None:
    """Whom a browser speaks for; nobody once its visit or its token ended."""
    row = db.one("SELECT team, token, name, role FROM visit_of(?, ?)", _digest(secret), written(now))
    if row is None:
        return None
    team, token, name, role = row
    return Admitted(team=team, member=Member(person=name, role=Role(role)), token=token or name)


def end_visit(db: Database, secret: str) -> None:
    """Know a browser no longer."""
    db.execute("DELETE FROM visits WHERE hash = ?", _digest(secret))


def team_named(db: Database, name: str) -> str | None:
    """The id of the team of that name."""
    found = db.value("SELECT team_named(?)", name)
    return None if found is None else str(found)


def has_teams(db: Database) -> bool:
    """Whether anybody began a team here."""
    return bool(db.value("SELECT has_teams()"))


def count(db: Database, now: datetime, who: str) -> int:
    """How many requests somebody has made in this minute, this one included; all hubs count together."""
    window = int(now.timestamp()) // WINDOW_SECONDS
    return int(db.value("SELECT count_request(?, ?)", who, window))


def note_refusal(db: Database, now: datetime, *, team: str, who: str, what: str, why: str) -> None:
    """Leave a record of having said no."""
    db.execute("SELECT note_refusal(?, ?, ?, ?, ?)", team, written(now), who[:200], what[:200], why[:200])


def refusals(db: Database, limit: int) -> list[Refusal]:
    """Who was turned away from the team, newest first."""
    rows = db.execute("SELECT at, who, what, why FROM refusals ORDER BY at DESC LIMIT ?", limit)
    return [from_row(Refusal, row) for row in rows]


def _named(db: Database, token: str) -> Token:
    fitting = [one for one in tokens(db) if one.id == token or (one.name == token and not one.revoked_at)]
    if not fitting:
        raise NotFound(f"there is no token {token!r}; 'hivemind hub token list' shows them")
    if len(fitting) > 1:
        raise InvalidInput(f"{token!r} has {len(fitting)} tokens; name one by its id")
    return fitting[0]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
