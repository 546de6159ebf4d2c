"""People who sign in at an identity provider, and their logins: tokens that are replaced at each renewal."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hivemind.errors import AccessRevoked, Unauthenticated, Unavailable
from hivemind.hub.access import INSERT_TOKEN
from hivemind.hub.administration import Recorder
from hivemind.model.codec import from_row
from hivemind.model.ids import derive_id
from hivemind.model.login import Identity, digest_proof, hash_token, new_token
from hivemind.model.team import AdminAction, Role
from hivemind.model.timestamps import format_timestamp
from hivemind.store.database import Database

PROOF_MARGIN = timedelta(hours=1)
"""How long a used ID token is remembered after it has expired, should clocks differ."""
SIGNED_OUT = "this login is unknown here; sign in again: hivemind team login URL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """A login of a person in one team."""

    team: str
    id: str
    name: str
    role: str
    person: str
    hash: str
    """Of its current token."""
    is_revoked: bool


def admit_person(db: Database, identity: Identity) -> str:
    """Return the name of a person on this hub; raise AccessRevoked if they were removed from it."""
    # The team is not known yet, so a function looks the person up.
    row = db.one(
        "SELECT name, removed_at FROM person_of(?, ?, ?, ?)",
        identity.id, identity.issuer, identity.subject, identity.name,
    )  # fmt: skip
    # Two first logins at once may want one name; the second finds it taken when it tries again.
    if row is None:
        raise Unavailable("somebody with the same name signed in at the same moment; try again")
    name, removed_at = row
    if removed_at:
        raise AccessRevoked(f"{name} was removed from this hub; ask whoever runs it")
    return str(name)


def check_removal(db: Database, person: str, team: str) -> None:
    """Raise AccessRevoked if a person was removed from a team, or from the hub."""
    if db.value("SELECT is_removed(?, ?)", person, team):
        raise AccessRevoked("an admin removed you from this team; ask one of them")


def use_proof(db: Database, identity: Identity, id_token: str, now: datetime) -> bool:
    """Remember an ID token until it expires; return False if it was used before."""
    expires_at = datetime.fromtimestamp(identity.expires_at, UTC) + PROOF_MARGIN
    return bool(
        db.value(
            "SELECT use_proof(?, ?, ?)", digest_proof(id_token), format_timestamp(expires_at), format_timestamp(now)
        )
    )


def find_login(db: Database, token: str) -> Login | None:
    """Return the login of a token, also if the token has expired or was replaced."""
    row = db.one("SELECT team, id, name, role, person, hash, is_revoked FROM login_of(?)", hash_token(token))
    return from_row(Login, row) if row else None


def find_person(db: Database, asked: str) -> tuple[str, str] | None:
    """Return the id and name of a person, given their name or the provider's subject."""
    row = db.one("SELECT id, name FROM find_person(?)", asked)
    return (str(row[0]), str(row[1])) if row else None


def remove_from_hub(db: Database, person: str, at: str) -> None:
    """Let a person sign in to no team of the hub any more; an empty time lets them in again."""
    db.execute("SELECT set_removal(?, ?)", person, at)


def end_visits(db: Database, name: str) -> None:
    """Sign out the browsers that a provider's token signed in; the others end with their tokens."""
    db.execute("DELETE FROM visits WHERE name = ? AND token IS NULL", name)


def check_name(db: Database, identity: Identity, name: str) -> None:
    """Raise Unauthenticated if a member of the team who has a token is called the same."""
    # A subject may be any word, such as the name of such a member; a verified address is that member's.
    if not identity.has_verified_name and db.one(
        "SELECT 1 FROM tokens WHERE name = ? AND person <> ?", name, identity.id
    ):
        raise Unauthenticated(f"{name} is the name of another member; ask an admin of the team")


@dataclass(frozen=True, slots=True)
class LoginRegister:
    """The logins of one team."""

    db: Database
    record: Recorder
    now: datetime
    until: str
    """When a login that begins or is renewed now expires."""

    def begin(self, identity: Identity, name: str, role: Role, token_hash: str) -> None:
        """Store a new login."""
        check_name(self.db, identity, name)
        token = derive_id("login", token_hash)[:12]
        with self.db.transaction():
            rows = self.db.execute(
                f"{INSERT_TOKEN} ON CONFLICT DO NOTHING RETURNING id",
                token, name, role.value, identity.is_agent, token_hash, format_timestamp(self.now), self.until,
                identity.id,
            )  # fmt: skip
            # The device chooses its token, so it may send the hash of somebody else's.
            if not rows:
                raise Unauthenticated("this token exists already; sign in again")
            self.record(AdminAction.TOKEN_CREATED, token, f"{name} ({role.value}), signed in at {identity.issuer}")

    def begin_in_browser(self, identity: Identity, name: str, role: Role) -> str:
        """Store that a person's browsers may be signed in, and return the id of that login."""
        check_name(self.db, identity, name)
        # One for all browsers of a person: a browser signs in again each hour, and each login is an entry of the log.
        token = derive_id("browser", identity.id)[:12]
        with self.db.transaction():
            before = self.db.one("SELECT role, revoked_at FROM tokens WHERE id = ?", token)
            self.db.execute(
                f"{INSERT_TOKEN} ON CONFLICT (team_id, id) DO UPDATE SET"
                " (role, expires_at, revoked_at) = (excluded.role, excluded.expires_at, '')",
                # Nobody has this token: browsers have secrets of their own, which end with it.
                token, name, role.value, False, hash_token(new_token()), format_timestamp(self.now), self.until,
                identity.id,
            )  # fmt: skip
            if before is None or before[1]:
                detail = f"{name} ({role.value}), signed in with a browser at {identity.issuer}"
                self.record(AdminAction.TOKEN_CREATED, token, detail)
            elif before[0] != role.value:
                self.record(AdminAction.ROLE_CHANGED, token, f"{name}: {before[0]} to {role.value}")
        return token

    def renew(self, login: Login, role: Role, token_hash: str) -> bool:
        """Replace the token of a login; return False if another request replaced it first."""
        with self.db.transaction():
            rows = self.db.execute(
                # A device that lost the answer asks again for the same token; the one before stays known then.
                "UPDATE tokens SET previous_hash = CASE WHEN hash = :new THEN previous_hash ELSE hash END, hash = :new,"
                " role = :role, expires_at = :until WHERE id = :id AND hash = :current AND revoked_at = ''"
                " RETURNING id",
                {"new": token_hash, "role": role.value, "until": self.until, "id": login.id, "current": login.hash},
            )
            # Not each renewal, because every laptop renews all day.
            if rows and role.value != login.role:
                self.record(AdminAction.ROLE_CHANGED, login.id, f"{login.name}: {login.role} to {role.value}")
        return bool(rows)
