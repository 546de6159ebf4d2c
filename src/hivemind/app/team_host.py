"""The hub's object: it knows who is asking, and opens their team's memory for them, with the verbs only a hub has.

Nothing is kept in the process but the model, so any number of hubs may stand before one database.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from hivemind.app.context import Clock, Context, LazyEmbedder, utc_now
from hivemind.app.history import History
from hivemind.app.memories import Memories
from hivemind.app.mind import Mind
from hivemind.codebase.repository import normalise_remote
from hivemind.errors import InvalidInput, NotFound, RateLimited, Refused, Unauthenticated
from hivemind.formats.timestamps import format_timestamp
from hivemind.hub import access, exchange
from hivemind.hub.oidc import Issuer
from hivemind.hub.store import BACKUP_DAYS, Hub, HubStore
from hivemind.model import wire
from hivemind.model.memory import Channel, Writer
from hivemind.model.scope import Repository, Scope
from hivemind.model.team import AdmittedMember, Device, LogPage, PushResult, Refusal, Role, TeamMember, Token, Welcome
from hivemind.settings import Settings
from hivemind.store import sync_state
from hivemind.store.database import Database

PER_TOKEN, PER_ADDRESS, WRONG_PER_ADDRESS = 600, 2_400, 30
"""Requests in a minute; many people may share an address, and nobody mistypes a token that often."""
EMBEDDED_PER_PUSH = 256
FIRST_TEAM = "team"


class TeamMind(Mind):
    """A team's memory, as one of its members sees it on the hub."""

    def __init__(self, context: Context, store: HubStore) -> None:
        super().__init__(context)
        self._store = store

    @cached_property
    def history(self) -> History:
        """What happened; of what is a person's own, theirs alone."""
        return History(self._context, own_only=True)

    @cached_property
    def _memories(self) -> Memories:
        return Memories(self._context, scope=Scope.TEAM)

    def devices(self) -> list[Device]:
        """The team's devices, when they were last heard of, and what each has not read."""
        return sync_state.list_devices(self._store.db)

    def members(self) -> list[TeamMember]:
        """Everybody whom a token lets in, people first."""
        valid = (token for token in access.list_tokens(self._store.db) if token.is_good(self._context.now))
        members = {TeamMember(person=token.name, role=token.role, is_agent=token.is_agent) for token in valid}
        return sorted(members, key=lambda member: (member.is_agent, member.person, member.role))

    def refusals(self, limit: int = 100) -> list[Refusal]:
        """Who was turned away, newest first."""
        return access.list_refusals(self._as_admin(), limit)

    def tokens(self) -> list[Token]:
        """The team's tokens."""
        return access.list_tokens(self._as_admin())

    def issue(self, *, name: str, role: Role, is_agent: bool, days: int) -> str:
        """A new token, which can be read only now."""
        return access.issue(self._as_admin(), self._context.clock(), name=name, role=role, is_agent=is_agent, days=days)

    def revoke(self, token: str) -> Token:
        """Make a token worthless from the next request on; by its id or its member's name."""
        return access.revoke(self._as_admin(), self._context.clock(), token)

    def rotate(self, token: str, days: int) -> str:
        """A new token in place of an old one, which is revoked."""
        return access.rotate(self._as_admin(), self._context.clock(), token, days)

    def _as_admin(self) -> Database:
        if not (self._store.member and self._store.member.is_admin):
            raise Refused("only an admin of the team may do that")
        return self._store.db


class Host:
    """A hub, open for its teams."""

    def __init__(self, hub: Hub, settings: Settings, issuer: Issuer | None = None, clock: Clock = utc_now) -> None:
        self._hub = hub
        self._settings = settings
        self._embedder = LazyEmbedder(settings.model)
        self._issuer = issuer
        self._clock = clock

    @classmethod
    def open(cls, database: str, *, issuer: str = "", audience: str = "", backup_days: int = BACKUP_DAYS) -> "Host":
        """Bring the database up to date and open it."""
        believed = Issuer(url=issuer, audience=audience) if issuer else None
        return cls(Hub.open(database, backup_days=backup_days), Settings.load(), believed)

    def first_token(self) -> str:
        """The first team and the token of its admin; nothing if there are teams already."""
        with self._hub.connect_without_team() as db:
            is_new = not access.has_teams(db)
        try:
            return self.found_team(FIRST_TEAM) if is_new else ""
        except InvalidInput:
            # Another hub that started at the same moment was first.
            return ""

    def found_team(self, name: str) -> str:
        """Begin a team; return the token of its admin, which can be read only now."""
        with self._hub.open_team(self._hub.create_team(name)) as store:
            return access.issue(store.db, self._clock(), name="admin", role=Role.ADMIN)

    def admit(self, secret: str, address: str, what: str) -> AdmittedMember:
        """Who is asking; an error, which is on record, where they may not or ask too often."""
        return self._let_in(lambda db: self._known(db, secret), address, what)

    def begin_visit(self, secret: str, address: str) -> str:
        """Let a browser in by its person's token; return what it shows from then on."""
        who = self.admit(secret, address, "to log in")
        if who.member.is_agent:
            self.note_refusal(who, "to log in", "an agent")
            raise Refused("these pages are for people; an agent asks at /mcp")
        with self._store(who) as store:
            return access.begin_visit(store.db, self._clock(), who)

    def visiting(self, shown: str, address: str, what: str) -> AdmittedMember:
        """Whom a browser speaks for; an error if it is nobody any more."""
        return self._let_in(lambda db: access.authenticate_visit(db, self._clock(), shown), address, what)

    def end_visit(self, who: AdmittedMember, shown: str) -> None:
        """Know a browser no longer."""
        with self._store(who) as store:
            access.end_visit(store.db, shown)

    def _let_in(self, ask: Callable[[Database], AdmittedMember | None], address: str, what: str) -> AdmittedMember:
        now = self._clock()
        with self._hub.connect_without_team() as db:
            known = ask(db)
            limits = [(f"address {address}", PER_ADDRESS)]
            limits += [(f"token {known.token}", PER_TOKEN)] if known else [(f"wrong {address}", WRONG_PER_ADDRESS)]
            team, who = (known.team, known.member.person) if known else ("", address)
            if any(access.count_request(db, now, asker) > most for asker, most in limits):
                access.record_refusal(db, now, team=team, who=who, what=what, why="too often")
                raise RateLimited("too many requests in this minute; wait for the next")
            if known is None:
                access.record_refusal(db, now, team="", who=address, what=what, why="no valid token")
                raise Unauthenticated("this token is not valid; ask an admin of your team for one")
        return known

    def note_refusal(self, who: AdmittedMember, what: str, why: str) -> None:
        """Leave a record of having said no."""
        with self._hub.connect_without_team() as db:
            access.record_refusal(db, self._clock(), team=who.team, who=who.member.person, what=what, why=why)

    @contextmanager
    def mind(self, who: AdmittedMember, repo: str = "", session: str = "") -> Iterator[TeamMind]:
        """The team's memory, seen from a repository, as somebody may use it."""
        channel = Channel.AGENT if who.member.is_agent else Channel.PERSON
        writer = Writer(actor=who.member.person, channel=channel, session_id=session)
        settings = replace(self._settings, person=who.member.person)
        with self._store(who) as store:
            repository = Repository(id=_repository(repo), root="")
            yield TeamMind(Context(store, settings, repository, writer, self._clock, self._embedder), store)

    def hello(self, who: AdmittedMember, device: str) -> Welcome:
        """What a device must know before it begins."""
        with self._store(who) as store:
            return exchange.hello(store, device, who.member)

    def push(self, who: AdmittedMember, device: str, entries: Sequence[wire.WireEntry]) -> PushResult:
        """Take in what a device wrote."""
        with self._store(who) as store:
            return exchange.push(store, device, entries, who.member, format_timestamp(self._clock()))

    def pull(self, who: AdmittedMember, device: str, after: int, limit: int) -> LogPage:
        """What comes after a position in the team's log."""
        with self._store(who) as store:
            return exchange.pull(store, device, after, who.member, format_timestamp(self._clock()), limit)

    def catch_up(self, who: AdmittedMember) -> int:
        """Let some of what was just pushed be found by its meaning."""
        if not self._embedder.meaning:
            return 0
        with self._store(who) as store:
            return self._embedder.meaning.catch_up(store.db, EMBEDDED_PER_PUSH)

    def owner_of(self, team: str) -> AdmittedMember:
        """Whoever holds the database's own address may do what a team's admin may."""
        with self._hub.connect_without_team() as db:
            found = access.find_team(db, team)
        if found is None:
            raise NotFound(f"there is no team {team!r} on this hub; 'hivemind hub team create' begins one")
        return AdmittedMember(team=found, member=TeamMember(person="owner", role=Role.ADMIN))

    def close(self) -> None:
        """Give every connection back."""
        self._hub.close()

    def _known(self, db: Database, secret: str) -> AdmittedMember | None:
        if self._issuer and not secret.startswith(access.TOKEN_PREFIX):
            return self._issuer.authenticate(secret, lambda name: access.find_team(db, name))
        return access.authenticate(db, self._clock(), secret)

    def _store(self, who: AdmittedMember) -> HubStore:
        return self._hub.open_team(who.team, who.member)


def _repository(written_as: str) -> str:
    """A repository by its id, or by the address people clone it from."""
    if not written_as or written_as.startswith(("remote:", "commit:")):
        return written_as
    return f"remote:{normalise_remote(written_as if ':' in written_as else f'https://{written_as}')}"
