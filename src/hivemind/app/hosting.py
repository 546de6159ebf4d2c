"""The hub's object: it knows who is asking, and opens their team's memory for them.

Nothing is kept in the process but the model, so any number of hubs may stand before one database.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from hivemind.app import Hivemind
from hivemind.app.core import Clock, utc_now
from hivemind.codebase.repository import normalised
from hivemind.errors import NotFound, Refused, TooOften, Unavailable, Unknown
from hivemind.hub import access, exchange
from hivemind.hub.oidc import Issuer
from hivemind.hub.store import Hub, HubStore
from hivemind.model.claim import Claim
from hivemind.model.memory import Channel, Memory
from hivemind.model.moments import written
from hivemind.model.scope import Scope
from hivemind.model.team import Admitted, Device, Member, Page, Pushed, Refusal, Role, Token, Welcome
from hivemind.model.wire import Entry
from hivemind.model.writer import Writer
from hivemind.recall import meaning
from hivemind.recall.meaning import Meaning
from hivemind.settings import Settings
from hivemind.store.database import Database

PER_TOKEN, PER_ADDRESS, WRONG_PER_ADDRESS = 600, 2_400, 30
"""Requests in a minute; many people may share an address, and nobody mistypes a token that often."""
EMBEDDED_PER_PUSH = 256
FIRST_TEAM = "team"


class TeamMind(Hivemind):
    """A team's memory, as one of its members sees it on the hub."""

    def remember_all(self, claims: Iterable[Claim]) -> tuple[Memory, ...]:
        """Keep several things at once; on the hub everything is the team's."""
        return super().remember_all([replace(claim, scope=Scope.TEAM) for claim in claims])


class Host:
    """A hub, open for its teams."""

    def __init__(self, hub: Hub, settings: Settings, issuer: Issuer | None = None, clock: Clock = utc_now) -> None:
        self._hub = hub
        self._settings = settings
        self._issuer = issuer
        self._clock = clock

    @classmethod
    def open(cls, database: str, *, issuer: str = "", audience: str = "", clock: Clock = utc_now) -> "Host":
        """Bring the database up to date and open it."""
        believed = Issuer(url=issuer, audience=audience) if issuer else None
        return cls(Hub.open(database), Settings.load(), believed, clock)

    def first_token(self) -> str:
        """The first team and the token of its admin; nothing if there are teams already."""
        with self._hub.door() as db:
            is_new = not access.has_teams(db)
        return self.found_team(FIRST_TEAM) if is_new else ""

    def found_team(self, name: str) -> str:
        """Begin a team; return the token of its admin, which can be read only now."""
        with self._hub.team(self._hub.found(name)) as store:
            return access.issue(store.db, self._clock(), name="admin", role=Role.ADMIN)

    def admit(self, secret: str, address: str, what: str) -> Admitted:
        """Who is asking; an error, which is on record, where they may not or ask too often."""
        now = self._clock()
        with self._hub.door() as db:
            known = self._known(db, secret)
            limits = [(f"address {address}", PER_ADDRESS)]
            limits += [(f"token {known.token}", PER_TOKEN)] if known else [(f"wrong {address}", WRONG_PER_ADDRESS)]
            team, who = (known.team, known.member.person) if known else ("", address)
            if any(access.count(db, now, asker) > most for asker, most in limits):
                access.note_refusal(db, now, team=team, who=who, what=what, why="too often")
                raise TooOften("too many requests in this minute; wait for the next")
            if known is None:
                access.note_refusal(db, now, team="", who=address, what=what, why="no valid token")
                raise Unknown("this token is not valid; ask an admin of your team for one")
        return known

    def note_refusal(self, who: Admitted, what: str, why: str) -> None:
        """Leave a record of having said no."""
        with self._hub.door() as db:
            access.note_refusal(db, self._clock(), team=who.team, who=who.member.person, what=what, why=why)

    @contextmanager
    def mind(self, who: Admitted, repo: str = "", session: str = "") -> Iterator[Hivemind]:
        """The team's memory, seen from a repository, as somebody may use it."""
        channel = Channel.AGENT if who.member.is_agent else Channel.PERSON
        writer = Writer(actor=who.member.person, channel=channel, session_id=session)
        settings = replace(self._settings, person=who.member.person)
        with self._store(who) as store:
            mind = TeamMind.at_hub(store, _repository(repo), settings=settings, writer=writer, clock=self._clock)
            # Loading it takes longer than answering; all requests share one.
            mind.__dict__["_meaning"] = self._meaning
            yield mind

    def hello(self, who: Admitted, device: str) -> Welcome:
        """What a device must know before it begins."""
        with self._store(who) as store:
            return exchange.hello(store, device, who.member)

    def push(self, who: Admitted, device: str, entries: Sequence[Entry]) -> Pushed:
        """Take in what a device wrote."""
        with self._store(who) as store:
            return exchange.push(store, device, entries, who.member, written(self._clock()))

    def pull(self, who: Admitted, device: str, after: int, limit: int) -> Page:
        """What comes after a position in the team's log."""
        with self._store(who) as store:
            return exchange.pull(store, device, after, who.member, written(self._clock()), limit)

    def catch_up(self, who: Admitted) -> int:
        """Let some of what was just pushed be found by its meaning."""
        if not self._meaning:
            return 0
        with self._store(who) as store:
            return self._meaning.catch_up(store.db, EMBEDDED_PER_PUSH)

    def devices(self, who: Admitted) -> list[Device]:
        """The team's devices, and what each has not read."""
        with self._store(who) as store:
            return exchange.devices(store)

    def refusals(self, who: Admitted, limit: int = 100) -> list[Refusal]:
        """Who was turned away, newest first."""
        with self._for_admin(who) as store:
            return access.refusals(store.db, limit)

    def tokens(self, who: Admitted) -> list[Token]:
        """The team's tokens."""
        with self._for_admin(who) as store:
            return access.tokens(store.db)

    def issue(self, who: Admitted, *, name: str, role: Role, is_agent: bool, days: int) -> str:
        """A new token, which can be read only now."""
        with self._for_admin(who) as store:
            return access.issue(store.db, self._clock(), name=name, role=role, is_agent=is_agent, days=days)

    def revoke(self, who: Admitted, token: str) -> Token:
        """Make a token worthless."""
        with self._for_admin(who) as store:
            return access.revoke(store.db, self._clock(), token)

    def rotate(self, who: Admitted, token: str, days: int) -> str:
        """A new token in place of an old one."""
        with self._for_admin(who) as store:
            return access.rotate(store.db, self._clock(), token, days)

    def owner_of(self, team: str) -> Admitted:
        """Whoever holds the database's own address may do what a team's admin may."""
        with self._hub.door() as db:
            found = access.team_named(db, team)
        if found is None:
            raise NotFound(f"there is no team {team!r} on this hub; 'hivemind hub team create' begins one")
        return Admitted(team=found, member=Member(person="owner", role=Role.ADMIN))

    def close(self) -> None:
        """Give every connection back."""
        self._hub.close()

    def _known(self, db: Database, secret: str) -> Admitted | None:
        if self._issuer and not secret.startswith(access.PREFIX):
            return self._issuer.admitted(secret, lambda name: access.team_named(db, name))
        return access.admitted(db, self._clock(), secret)

    def _store(self, who: Admitted) -> HubStore:
        return self._hub.team(who.team, who.member)

    @contextmanager
    def _for_admin(self, who: Admitted) -> Iterator[HubStore]:
        if not who.member.is_admin:
            self.note_refusal(who, "tokens", "not an admin")
            raise Refused("only an admin of the team may do that")
        with self._store(who) as store:
            yield store

    @cached_property
    def _meaning(self) -> Meaning | None:
        try:
            return meaning.load(self._settings.model)
        except Unavailable:
            return None


def _repository(written_as: str) -> str:
    """A repository by its id, or by the address people clone it from."""
    if not written_as or written_as.startswith(("remote:", "commit:")):
        return written_as
    return f"remote:{normalised(written_as) if ':' in written_as else written_as.lower().removesuffix('.git')}"
