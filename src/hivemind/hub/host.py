"""The hub as one service between its routes and its database: it authenticates and opens a team's memory or sync.

Only the embedding model is kept in the process, so any number of hubs can serve one database.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

from hivemind.code.repository import normalise_remote
from hivemind.context import Clock, Context, utc_now
from hivemind.embedding.lazy_embedder import LazyEmbedder
from hivemind.errors import AccessRevoked, InvalidInput, NotFound, RateLimited, Refused, Unauthenticated
from hivemind.hivemind import Mind, make_context
from hivemind.hub import access, sign_in
from hivemind.hub.access import AdmittedMember, DeviceRegister, Limits, RequestCounter
from hivemind.hub.administration import Removal, TeamAdmin
from hivemind.hub.epochs import ASKED
from hivemind.hub.exchange import Exchange
from hivemind.hub.oidc import Issuer
from hivemind.hub.sign_in import HubSignIn
from hivemind.hub.store import DEFAULT_OPTIONS, HubDatabase, HubOptions, HubStore
from hivemind.memory.lifecycle import Memories
from hivemind.model.memory import Channel, Writer
from hivemind.model.scope import Repository, Scope
from hivemind.model.team import (
    TOKEN_PREFIX,
    AdminAction,
    Device,
    Identity,
    ProviderOptions,
    Role,
    TeamMember,
)
from hivemind.model.timestamps import format_timestamp
from hivemind.model.wire import UNSTORABLE
from hivemind.review.history import History
from hivemind.settings import Settings
from hivemind.store import sync_state
from hivemind.store.database import Database
from hivemind.text.clean import validate_label

OPERATOR = "operator"
"""The name, in the record of administration, of whoever can reach the database itself."""
FIRST_TEAM = "team"
LOGIN_DAYS = 30
"""How long somebody whose login has expired is listed as a member."""


class TeamMind(Mind):
    """A team's memory on the hub, as one of its members may use it."""

    history: "cached_property[History]" = cached_property(lambda mind: History(mind._context, own_only=True))
    """The log; private entries are shown to their owner only."""
    _memories: "cached_property[Memories]" = cached_property(lambda mind: Memories(mind._context, scope=Scope.TEAM))

    def __init__(self, context: Context, store: HubStore) -> None:
        super().__init__(context)
        self._store = store

    def list_devices(self, batch: str = "") -> list[Device]:
        """Return the team's devices, when each last synced, and what it has not read; of one erasure, if given."""
        removed_ids = access.list_removed_devices(self._store.db)
        devices = sync_state.list_devices(self._store.db, batch)
        return [device for device in devices if device.id not in removed_ids]

    def list_members(self) -> list[TeamMember]:
        """Return everybody who has a valid token, people first."""
        # Every member may see who is in the team; the tokens themselves are for admins.
        tokens = access.list_tokens(self._store.db)
        # A laptop that is closed does not renew its login; its person is still a member.
        recently = format_timestamp(self._context.clock() - timedelta(days=LOGIN_DAYS))
        valid = (token for token in tokens if token.is_good(recently if token.is_login else self._context.now))
        members = {TeamMember(person=token.name, role=token.role, is_agent=token.is_agent) for token in valid}
        return sorted(members, key=lambda member: (member.is_agent, member.person, member.role))

    @property
    def admin(self) -> TeamAdmin:
        """The administration of the team; refused to everybody but its admins."""
        return TeamAdmin(self._context, self._store)


class Host:
    """A running hub and its teams."""

    def __init__(
        self, database: HubDatabase, settings: Settings, issuer: Issuer | None = None, clock: Clock = utc_now,
        limits: Limits | None = None,
    ) -> None:  # fmt: skip
        self.database = database
        self._settings = settings
        self._embedder = LazyEmbedder(settings.model)
        self._issuer = issuer
        self._clock = clock
        self.limits = limits or Limits()
        self._requests = RequestCounter()

    @classmethod
    def open(
        cls, database: str, options: HubOptions = DEFAULT_OPTIONS, *, issuer: Issuer | None = None,
        limits: Limits | None = None,
    ) -> "Host":  # fmt: skip
        """Migrate the database and open it; with an issuer, people of that identity provider may sign in."""
        return cls(HubDatabase.open(database, options), Settings.load(), issuer, limits=limits)

    @property
    def issuer(self) -> str:
        """The URL of the identity provider; empty without."""
        return self._issuer.url if self._issuer else ""

    def create_first_team(self) -> str | None:
        """Create the first team and return its admin's token; None if there are teams already."""
        with self.database.connect_without_team() as db:
            is_new = not access.has_teams(db)
        try:
            return self.create_team(FIRST_TEAM) if is_new else None
        except InvalidInput:
            # Another hub that started at the same moment has created it.
            return None

    def create_team(self, name: str) -> str:
        """Create a team and return its admin's token, which cannot be read again."""
        with self.database.connect_without_team() as db:
            if access.find_team(db, name):
                raise InvalidInput(f"there is a team {name!r} on this hub already; choose another name")
        with self.database.open_team(self.database.create_team(validate_label(name, "the name"))) as store:
            tokens = access.Tokens(store.db, self._clock, self._make_recorder(store))
            tokens.record(AdminAction.TEAM_CREATED, name, "")
            return tokens.issue(name="admin", role=Role.ADMIN)

    def list_teams(self) -> list[str]:
        """Return the name of every team."""
        with self.database.connect_without_team() as db:
            return [name for _, name in access.list_teams(db)]

    def delete_team(self, name: str) -> None:
        """Delete a team with everything it has; devices keep their copies until their leases end."""
        self.database.delete_team(self.find_owner(name).team)

    def begin_epochs(self) -> int:
        """Tell every team's devices that the database was restored; return how many teams there are."""
        with self.database.connect_without_team() as db:
            teams = [team for team, _ in access.list_teams(db)]
        for team in teams:
            with self.database.open_team(team) as store:
                # Nothing is known about what was written since the restore, so devices read everything again.
                store.history.begin(ASKED, 0)
                self._make_recorder(store)(AdminAction.EPOCH_BEGUN, store.history.state.epoch, "")
        return len(teams)

    def _make_recorder(self, store: HubStore) -> access.Recorder:
        return store.make_recorder(OPERATOR, format_timestamp(self._clock()))

    def check_database(self) -> None:
        """Raise an error unless the database answers and has the tables of this version."""
        with self.database.connect_without_team() as db:
            access.has_teams(db)

    def admit(self, secret: str, address: str, what: str) -> AdmittedMember:
        """Return the member of a token; refusals and requests above the rate limit are recorded and raised."""
        if self._issuer and not secret.startswith(TOKEN_PREFIX):
            identity = None
            # Before a connection is taken from the pool, because the provider may be slow.
            with suppress(Unauthenticated):
                identity = self._issuer.verify_access_token(secret)
            return self._admit(lambda db: _authenticate_identity(db, identity), secret, address, what)
        return self._admit(lambda db: access.authenticate(db, self._clock(), secret), secret, address, what)

    @property
    def has_sign_in(self) -> bool:
        """Whether people sign in at the identity provider; otherwise only tokens are accepted."""
        return bool(self._issuer and self._issuer.client_id)

    def describe_provider(self) -> ProviderOptions | None:
        """Return how people sign in; None if only tokens are accepted."""
        return self._issuer.describe() if self._issuer and self.has_sign_in else None

    @contextmanager
    def open_sign_in(self, address: str) -> Iterator[HubSignIn]:
        """Lend what signs people in; refusals are recorded and raised like those of a token."""
        if not self._issuer or not self.has_sign_in:
            raise NotFound("this hub has no identity provider; log in with a token: hivemind team login URL --token")
        try:
            yield HubSignIn(database=self.database, issuer=self._issuer, clock=self._clock)
        except Unauthenticated:
            # Only wrong requests count, so that nobody can keep the others at the same address from signing in.
            with self.database.connect_without_team() as db:
                self._refuse_stranger(db, self._clock(), "", address, "to sign in")
            raise

    def remove_everywhere(self, asked: str) -> dict[str, Removal]:
        """End the access of a person, given by name or the provider's subject, to every team at once and for good."""
        with self.database.connect_without_team() as db:
            person, name = sign_in.find_person(db, asked) or ("", asked)
            teams = access.list_teams(db)
            # First, so that nothing can be renewed while the teams follow.
            sign_in.remove_from_hub(db, person, format_timestamp(self._clock()))
        removals = {}
        for _, team in teams:
            with self.open_mind(self.find_owner(team)) as mind:
                if mind.admin.has_member(name):
                    removals[team] = mind.admin.remove_member(name, is_everywhere=True)
        if not person and not removals:
            raise NotFound(f"nobody called {asked!r} is in a team of this hub; check the name")
        return removals

    def return_everywhere(self, asked: str) -> str:
        """Let a person who was removed sign in again, as far as the provider does; return their name."""
        with self.database.connect_without_team() as db:
            person, name = sign_in.find_person(db, asked) or ("", "")
            sign_in.remove_from_hub(db, person, "")
            teams = access.list_teams(db)
        if not person:
            raise NotFound(f"nobody called {asked!r} has signed in to this hub; check the name")
        for _, team in teams:
            # Of teams that they were not in, there is nothing to undo.
            with self.open_mind(self.find_owner(team)) as mind, suppress(NotFound):
                mind.admin.return_member(name)
        return name

    def begin_visit(self, secret: str, address: str) -> str:
        """Sign a browser in with a person's token and return the secret for its cookie."""
        who = self.admit(secret, address, "to log in")
        if who.member.is_agent:
            self.note_refusal(who, "to log in", "an agent")
            raise Refused("an agent's token cannot sign in to these pages; agents use /mcp")
        with self._store(who) as store:
            return access.begin_visit(store.db, self._clock(), who)

    def admit_visit(self, secret: str, address: str, what: str) -> AdmittedMember:
        """Return the member a browser is signed in as; refusals are recorded and raised like those of a token."""
        return self._admit(lambda db: access.authenticate_visit(db, self._clock(), secret), secret, address, what)

    def end_visit(self, who: AdmittedMember, secret: str) -> None:
        """Sign a browser out."""
        with self._store(who) as store:
            access.end_visit(store.db, secret)

    def _admit(
        self, authenticate: Callable[[Database], AdmittedMember | None], secret: str, address: str, what: str
    ) -> AdmittedMember:
        now = self._clock()
        with self.database.connect_without_team() as db:
            # No team is set yet: the lookup goes by hashes, and row-level security hides everything else.
            who = authenticate(db)
            if who is None:
                self._refuse_stranger(db, now, secret, address, what)
                raise Unauthenticated(
                    "this token is not valid, or has expired; ask an admin of your team for a new one"
                )
            # Only the token's own requests count, so that nobody at the same address can lock its member out.
            count = self._requests.count(now, f"token {who.team} {who.token}")
            if count > self.limits.per_token:
                # Once, because a write for each request would cost more than the request.
                if count == self.limits.per_token + 1:
                    access.record_refusal(
                        db, now, team=who.team, who=who.member.person, what=what, why="too many requests"
                    )
                raise RateLimited("too many requests in this minute; wait for the next")
        return who

    def _refuse_stranger(self, db: Database, now: datetime, secret: str, address: str, what: str) -> None:
        """Record a request without a valid token, unless its address has made too many of them."""
        if self._requests.count(now, f"wrong {address}") > self.limits.wrong_per_address:
            raise RateLimited("too many requests without a valid token in this minute; wait for the next")
        access.record_refusal(db, now, team="", who=address, what=what, why="no valid token")
        if access.is_revoked(db, secret):
            raise AccessRevoked("an admin revoked this token; ask one for another")

    def note_refusal(self, who: AdmittedMember, what: str, why: str) -> None:
        """Record a refused request."""
        with self.database.connect_without_team() as db:
            access.record_refusal(db, self._clock(), team=who.team, who=who.member.person, what=what, why=why)

    @contextmanager
    def open_mind(self, who: AdmittedMember, repo: str = "", *, read_only: bool = False) -> Iterator[TeamMind]:
        """Open the team's memory for a member, seen from a repository; with ``read_only``, a replica may answer."""
        # Trust follows from the channel, so an agent's token must not write as a person.
        channel = Channel.AGENT if who.member.is_agent else Channel.PERSON
        writer = Writer(actor=who.member.person, channel=channel)
        # The hub's own settings name whoever runs it, not the member.
        settings = replace(self._settings, person=who.member.person)
        with self.database.open_team(who.team, who.member, read_only=read_only) as store:
            repository = Repository(id=_parse_repository(repo), root="")
            yield TeamMind(make_context(store, settings, repository, writer, self._clock, self._embedder), store)

    @contextmanager
    def open_exchange(self, who: AdmittedMember) -> Iterator[Exchange]:
        """Open the hub's side of a sync for a member."""
        with self._store(who) as store:
            yield Exchange(
                store=store, member=who.member, now=format_timestamp(self._clock()), history=store.history,
                devices=DeviceRegister(store.db, who.token),
            )  # fmt: skip

    def find_owner(self, team: str) -> AdmittedMember:
        """Return an admin of a team, for whoever can reach the database itself."""
        with self.database.connect_without_team() as db:
            team_id = access.find_team(db, team)
        if team_id is None:
            raise NotFound(f"no team {team!r} on this hub; 'hivemind hub team create' creates one")
        return AdmittedMember(team=team_id, member=TeamMember(person=OPERATOR, role=Role.ADMIN))

    def close(self) -> None:
        """Close every connection to the database."""
        self.database.close()

    def _store(self, who: AdmittedMember) -> HubStore:
        return self.database.open_team(who.team, who.member)


def _authenticate_identity(db: Database, identity: Identity | None) -> AdmittedMember | None:
    """Return the member of an access token of the provider, which must be good for one team of this hub."""
    if identity is None or len(identity.roles) != 1:
        return None
    [(team_name, role)] = identity.roles.items()
    team = access.find_team(db, team_name)
    if team is None:
        return None
    name = sign_in.admit_person(db, identity)
    sign_in.check_removal(db, identity.id, team)
    member = TeamMember(person=name, role=role, is_agent=identity.is_agent)
    until = format_timestamp(datetime.fromtimestamp(identity.expires_at, UTC))
    return AdmittedMember(team=team, member=member, token=name, until=until)


def _parse_repository(text: str) -> str:
    """Return the id of a repository that is given by its id or by the URL it is cloned from."""
    if UNSTORABLE.search(text):
        raise InvalidInput("the repository has a NUL byte or half a character in it; write it like github.com/acme/api")
    if not text or text.startswith(("remote:", "commit:")):
        return text
    return f"remote:{normalise_remote(text if ':' in text else f'https://{text}')}"
