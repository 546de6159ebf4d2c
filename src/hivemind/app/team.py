"""A team's memory on its hub, and the verbs that only a hub has: who belongs to it, and who may come in."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from hivemind.app import Hivemind
from hivemind.errors import Refused
from hivemind.hub import access, exchange
from hivemind.hub.store import HubStore
from hivemind.model.claim import Claim
from hivemind.model.events import FACTS
from hivemind.model.memory import Memory
from hivemind.model.moments import written
from hivemind.model.recall import Receipt
from hivemind.model.reports import Explanation
from hivemind.model.scope import Scope
from hivemind.model.team import Device, Member, Refusal, Role, Token
from hivemind.store.database import Database
from hivemind.store.log import Entry

OWN = ("memories.recalled", "write.refused")
"""Facts of what somebody asked or tried, which are not the team's."""


class TeamMind(Hivemind):
    """A team's memory, as one of its members sees it on the hub."""

    _store: HubStore

    def remember_all(self, claims: Iterable[Claim]) -> tuple[Memory, ...]:
        """Keep several things at once; on the hub everything is the team's."""
        return super().remember_all([replace(claim, scope=Scope.TEAM) for claim in claims])

    def explain(self, memory: str) -> Explanation:
        """What a memory rests on, its versions, and when it reached the member who asks."""
        known = super().explain(memory)
        return replace(known, receipts=tuple(one for one in known.receipts if one.actor == self.speaker))

    def receipts(self, session: str = "", *, limit: int = 200) -> tuple[Receipt, ...]:
        """What was put before the member who asks."""
        return tuple(one for one in super().receipts(session, limit=limit) if one.actor == self.speaker)

    def log(self, memory: str = "", *, facts: Sequence[str] = (), actor: str = "", **more: Any) -> tuple[Entry, ...]:
        """What happened, newest first; of what is a person's own, theirs alone."""
        shared = tuple(name for name in facts or FACTS if name not in OWN)
        if shared:
            return super().log(memory, facts=shared, actor=actor, **more)
        return super().log(memory, facts=facts, actor=self.speaker, **more)

    def devices(self) -> list[Device]:
        """The team's devices, when they were last heard of, and what each has not read."""
        return exchange.devices(self._store)

    def members(self) -> list[Member]:
        """Everybody whom a token lets in, people first."""
        good = (one for one in access.tokens(self._store.db) if one.is_good(written(self._clock())))
        found = {Member(person=one.name, role=one.role, is_agent=one.is_agent) for one in good}
        return sorted(found, key=lambda one: (one.is_agent, one.person, one.role))

    def refusals(self, limit: int = 100) -> list[Refusal]:
        """Who was turned away, newest first."""
        return access.refusals(self._as_admin(), limit)

    def tokens(self) -> list[Token]:
        """The team's tokens."""
        return access.tokens(self._as_admin())

    def issue(self, *, name: str, role: Role, is_agent: bool, days: int) -> str:
        """A new token, which can be read only now."""
        return access.issue(self._as_admin(), self._clock(), name=name, role=role, is_agent=is_agent, days=days)

    def revoke(self, token: str) -> Token:
        """Make a token worthless from the next request on; by its id or its member's name."""
        return access.revoke(self._as_admin(), self._clock(), token)

    def rotate(self, token: str, days: int) -> str:
        """A new token in place of an old one, which is revoked."""
        return access.rotate(self._as_admin(), self._clock(), token, days)

    def _as_admin(self) -> Database:
        if not (self._store.member and self._store.member.is_admin):
            raise Refused("only an admin of the team may do that")
        return self._store.db
