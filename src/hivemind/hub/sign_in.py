"""Signing in with the team's identity provider: who somebody is, to which team, and for how long.

A login is a token that is replaced at each renewal.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from dataclasses import fields as dataclass_fields
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlencode

from hivemind.context import Clock
from hivemind.errors import AccessRevoked, Refused, Unauthenticated, Unavailable
from hivemind.hub import access
from hivemind.hub.access import AdmittedMember
from hivemind.hub.oidc import Issuer
from hivemind.hub.store import HubDatabase
from hivemind.model.codec import from_row
from hivemind.model.ids import derive_id
from hivemind.model.team import (
    AdminAction,
    Identity,
    LoginRequest,
    LoginResult,
    Role,
    TeamMember,
    digest_proof,
    hash_token,
    new_token,
)
from hivemind.model.timestamps import format_timestamp
from hivemind.store.database import Database
from hivemind.sync.hub_login import SignInAttempt

PROOF_MARGIN = timedelta(hours=1)
"""How long a used ID token is remembered after it has expired, should clocks differ."""


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


def find_person(db: Database, asked: str) -> tuple[str, str] | None:
    """Return the id and name of a person, given their name or the provider's subject."""
    row = db.one("SELECT id, name FROM find_person(?)", asked)
    return (str(row[0]), str(row[1])) if row else None


def remove_from_hub(db: Database, person: str, at: str) -> None:
    """Let a person sign in to no team of the hub any more; an empty time lets them in again."""
    db.execute("SELECT set_removal(?, ?)", person, at)


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
    record: access.Recorder
    now: datetime
    until: str
    """When a login that begins or is renewed now expires."""

    def begin(self, identity: Identity, name: str, role: Role, token_hash: str) -> None:
        """Store a new login."""
        check_name(self.db, identity, name)
        token = derive_id("login", token_hash)[:12]
        with self.db.transaction():
            rows = self.db.execute(
                f"{access.INSERT_TOKEN} ON CONFLICT DO NOTHING RETURNING id",
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
                f"{access.INSERT_TOKEN} ON CONFLICT (team_id, id) DO UPDATE SET"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _SignedInPerson:
    """A person whose ID token was accepted."""

    identity: Identity
    name: str
    team_ids: Mapping[str, str]
    """Their teams on this hub, each name with its id."""
    team: str
    """The one to sign in to; empty if they have to choose, or lost the team of the login."""
    login: Login | None
    """The login to renew."""

    @property
    def team_id(self) -> str:
        """The id of the team to sign in to."""
        return self.team_ids[self.team]

    @property
    def role(self) -> Role:
        """Their role in it."""
        return self.identity.roles[self.team]


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSignIn:
    """Signs people in at a hub by its identity provider."""

    database: HubDatabase
    issuer: Issuer
    clock: Clock

    def sign_in(self, request: LoginRequest) -> LoginResult:
        """Begin or renew a login; raise Unauthenticated, or AccessRevoked if it ends here for good."""
        person = self._admit(request)
        if person.login:
            self._renew(person.login, request, person)
        elif person.team:
            with self._open_register(person.team_id, person.name) as register:
                register.begin(person.identity, person.name, person.role, request.token_hash)
        roles = {name: person.identity.roles[name].value for name in person.team_ids}
        return LoginResult(person=person.name, team=person.team, teams=roles, seconds=self.issuer.login_minutes * 60)

    def start_in_browser(self, redirect_url: str, team: str) -> tuple[str, str]:
        """Return the provider's address for a browser, and what it keeps until it comes back to ``redirect_url``."""
        attempt, options = SignInAttempt(), self.issuer.describe()
        # A browser needs no refresh token: the hub keeps nothing that opens anything at the provider.
        scopes = " ".join(scope for scope in options.scopes.split() if scope != "offline_access")
        url = attempt.make_url(replace(options, scopes=scopes), redirect_url)
        return url, urlencode(asdict(attempt) | {"team": team})

    def finish_in_browser(self, pending: str, answer: Mapping[str, str], redirect_url: str) -> tuple[str, list[str]]:
        """Sign in a browser that comes back; return the secret for its cookie, or its person's teams to choose from."""
        options = self.issuer.describe()
        attempt, team = _parse_pending(pending)
        # Otherwise another site could sign somebody in as its own person, and read what they write.
        if not attempt.is_answered_by(answer, options.issuer):
            raise Unauthenticated("this is not the answer to a login of this browser; open /login again")
        if "code" not in answer:
            reason = answer.get("error_description") or answer.get("error", "no reason given")
            raise Unauthenticated(f"the identity provider refused: {reason[:500]}; open /login to try again")
        tokens = attempt.redeem(answer["code"], options, redirect_url)
        return self._begin_visit(
            LoginRequest(id_token=tokens.id_token, nonce_secret=tokens.nonce_secret, token_hash="", team=team)
        )

    def _begin_visit(self, request: LoginRequest) -> tuple[str, list[str]]:
        person = self._admit(request)
        if not person.team:
            return "", list(person.team_ids)
        if person.identity.is_agent:
            raise Refused("an agent cannot sign in to these pages; agents use /mcp")
        with self._open_register(person.team_id, person.name) as register:
            token = register.begin_in_browser(person.identity, person.name, person.role)
            member = TeamMember(person=person.name, role=person.role)
            who = AdmittedMember(team=person.team_id, member=member, token=token)
            # Until the provider has to be asked again, as on a device.
            return access.begin_visit(register.db, register.now, who, register.until), []

    def _admit(self, request: LoginRequest) -> _SignedInPerson:
        # Before a connection is taken from the pool, because the provider may be slow.
        identity = self.issuer.verify_id_token(request.id_token, request.nonce_secret, self.clock().timestamp())
        with self.database.connect_without_team() as db:
            # Before anything else, so that a removed person learns nothing about teams.
            name = admit_person(db, identity)
            team_ids = {team: team_id for team in sorted(identity.roles) if (team_id := access.find_team(db, team))}
            login = self._find_login(db, request, identity) if request.previous_token else None
            team = _choose_team(request, team_ids, login)
            # A renewal is proved by the token it replaces; a provider may send the same ID token twice in a second.
            if team and not use_proof(db, identity, request.id_token, self.clock()) and not login:
                raise Unauthenticated("this ID token was used before; sign in again")
            if team:
                check_removal(db, identity.id, team_ids[team])
        return _SignedInPerson(identity=identity, name=name, team_ids=team_ids, team=team, login=login)

    def _find_login(self, db: Database, request: LoginRequest, identity: Identity) -> Login:
        """Return the login to renew, also if its token has expired or was replaced."""
        row = db.one(
            "SELECT team, id, name, role, person, hash, is_revoked FROM login_of(?)", hash_token(request.previous_token)
        )
        login = from_row(Login, row) if row else None
        # Another person's ID token must not renew it, nor learn whose it is.
        if login is None or login.person != identity.id:
            raise Unauthenticated("this login is unknown here; sign in again: hivemind team login URL")
        if login.is_revoked:
            raise AccessRevoked("an admin ended this login, or it was used twice; ask one of them, or sign in again")
        return login

    def _renew(self, login: Login, request: LoginRequest, person: _SignedInPerson) -> None:
        """Replace the token of a login, or end the login if the person lost the team or somebody copied it."""
        # The second is a repeated request whose answer got lost.
        is_current = login.hash in (hash_token(request.previous_token), request.token_hash)
        # In the name of the provider, whose groups decide this.
        with self._open_register(login.team, self.issuer.url) as register:
            if is_current and person.team and register.renew(login, person.role, request.token_hash):
                return
            access.Tokens(register.db, self.clock, register.record).revoke(login.id)
        raise AccessRevoked(
            "this login was used on two devices and has ended; sign in again"
            if person.team
            else "your groups no longer give access to this team; ask whoever runs the hub"
        )

    @contextmanager
    def _open_register(self, team: str, actor: str) -> Iterator[LoginRegister]:
        now = self.clock()
        until = format_timestamp(now + timedelta(minutes=self.issuer.login_minutes))
        with self.database.open_team(team) as store:
            yield LoginRegister(store.db, store.make_recorder(actor, format_timestamp(now)), now, until)


def _choose_team(request: LoginRequest, team_ids: Mapping[str, str], login: Login | None) -> str:
    """Return the name of the team to sign in to; empty if the person has to choose, or lost the one of the login."""
    if login:
        return next((name for name, team in team_ids.items() if team == login.team), "")
    if not team_ids:
        raise Unauthenticated("your groups give access to no team of this hub; ask whoever runs it")
    if request.team and request.team not in team_ids:
        raise Unauthenticated(f"you are in no team {request.team!r} of this hub; your teams: {', '.join(team_ids)}")
    return request.team or (next(iter(team_ids)) if len(team_ids) == 1 else "")


def _parse_pending(text: str) -> tuple[SignInAttempt, str]:
    """Return the login that a browser has begun, and its team; if it has begun none, one that no answer fits."""
    fields = dict(parse_qsl(text))
    team = fields.pop("team", "")
    names = {field.name for field in dataclass_fields(SignInAttempt)}
    return SignInAttempt(**fields) if fields.keys() == names else SignInAttempt(), team
