"""Signing in to a hub with the team's identity provider: who somebody is, which team, and for how long."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from hivemind.app.context import Clock
from hivemind.errors import AccessRevoked, Unauthenticated
from hivemind.formats.timestamps import format_timestamp
from hivemind.hub import access, logins
from hivemind.hub.administration import make_recorder
from hivemind.hub.logins import Login, LoginRegister
from hivemind.hub.oidc import Issuer
from hivemind.hub.store import Hub
from hivemind.model.login import Identity, LoginRequest, LoginResult, hash_token
from hivemind.model.team import Role
from hivemind.store.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamLogins:
    """Logins of people by the identity provider of a hub."""

    hub: Hub
    issuer: Issuer
    clock: Clock

    def sign_in(self, request: LoginRequest) -> LoginResult:
        """Begin or renew a login; raise Unauthenticated, or AccessRevoked if it ends here for good."""
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
        if login:
            self._renew(login, request, identity, team)
        elif team:
            self._begin(request, identity, name, team_ids[team], identity.roles[team])
        roles = {team_name: identity.roles[team_name].value for team_name in team_ids}
        return LoginResult(person=name, team=team, teams=roles, seconds=self.issuer.login_minutes * 60)

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

    def _begin(self, request: LoginRequest, identity: Identity, name: str, team: str, role: Role) -> None:
        with self.hub.open_team(team) as store:
            register = LoginRegister(store.db, make_recorder(store, name, format_timestamp(self.clock())))
            register.begin(identity, name, role, request.token_hash, self.clock(), self._compute_end())

    def _renew(self, login: Login, request: LoginRequest, identity: Identity, team: str) -> None:
        """Replace the token of a login, or end the login if the person lost the team or somebody copied it."""
        # The second is a repeated request whose answer got lost.
        is_current = login.hash in (hash_token(request.previous_token), request.token_hash)
        with self.hub.open_team(login.team) as store:
            # In the name of the provider, whose groups decide this.
            recorder = make_recorder(store, self.issuer.url, format_timestamp(self.clock()))
            is_renewed = (
                is_current
                and bool(team)
                and LoginRegister(store.db, recorder).renew(
                    login, identity.roles[team], request.token_hash, self._compute_end()
                )
            )
            if is_renewed:
                return
            access.Tokens(store.db, self.clock, recorder).revoke(login.id)
        raise AccessRevoked(
            "this login was used on two devices and has ended; sign in again"
            if team
            else "your groups no longer give access to this team; ask whoever runs the hub"
        )

    def _compute_end(self) -> str:
        return format_timestamp(self.clock() + timedelta(minutes=self.issuer.login_minutes))


def _choose_team(request: LoginRequest, team_ids: Mapping[str, str], login: Login | None) -> str:
    """Return the name of the team to sign in to; empty if the person has to choose, or lost the one of the login."""
    if login:
        return next((name for name, team in team_ids.items() if team == login.team), "")
    if not team_ids:
        raise Unauthenticated("your groups give access to no team of this hub; ask whoever runs it")
    if request.team and request.team not in team_ids:
        raise Unauthenticated(f"you are in no team {request.team!r} of this hub; your teams: {', '.join(team_ids)}")
    return request.team or (next(iter(team_ids)) if len(team_ids) == 1 else "")
