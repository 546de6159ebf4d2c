"""Signing in to a hub with the team's identity provider: who somebody is, which team, and for how long."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from dataclasses import fields as dataclass_fields
from datetime import timedelta
from urllib.parse import parse_qsl, urlencode

from hivemind.context import Clock
from hivemind.errors import AccessRevoked, Refused, Unauthenticated
from hivemind.hub import access, logins
from hivemind.hub.administration import make_recorder
from hivemind.hub.logins import Login, LoginRegister
from hivemind.hub.oidc import Issuer
from hivemind.hub.store import Hub
from hivemind.model.login import Identity, LoginRequest, LoginResult, hash_token
from hivemind.model.team import AdmittedMember, Role, TeamMember
from hivemind.model.timestamps import format_timestamp
from hivemind.store.database import Database
from hivemind.sync.hub_login import SignInAttempt


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
class TeamLogins:
    """Logins of people by the identity provider of a hub."""

    hub: Hub
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
        with self.hub.connect_without_team() as db:
            # Before anything else, so that a removed person learns nothing about teams.
            name = logins.admit_person(db, identity)
            team_ids = self._find_teams(db, identity)
            login = self._find_login(db, request, identity) if request.previous_token else None
            team = _choose_team(request, team_ids, login)
            # A renewal is proved by the token it replaces; a provider may send the same ID token twice in a second.
            if team and not logins.use_proof(db, identity, request.id_token, self.clock()) and not login:
                raise Unauthenticated("this ID token was used before; sign in again")
            if team:
                logins.check_removal(db, identity.id, team_ids[team])
        return _SignedInPerson(identity=identity, name=name, team_ids=team_ids, team=team, login=login)

    def _find_teams(self, db: Database, identity: Identity) -> dict[str, str]:
        """Return the teams of this hub that the person's groups give access to, each name with its id."""
        team_ids = {name: access.find_team(db, name) for name in identity.roles}
        return {name: team for name, team in sorted(team_ids.items()) if team}

    def _find_login(self, db: Database, request: LoginRequest, identity: Identity) -> Login:
        login = logins.find_login(db, request.previous_token)
        # Another person's ID token must not renew it, nor learn whose it is.
        if login is None or login.person != identity.id:
            raise Unauthenticated(logins.SIGNED_OUT)
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
        with self.hub.open_team(team) as store:
            yield LoginRegister(store.db, make_recorder(store, actor, format_timestamp(now)), now, until)


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
