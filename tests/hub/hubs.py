"""A hub in this process, and how a device reaches it: every exchange passes as JSON, and is kept for the reader."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hivemind.hub.exchange import Exchange
from hivemind.model.team import Bookmark, ChainHead, LogPage, PushResult, Role, TeamMember, Welcome
from hivemind.model.wire import WireEntry, pack_entry, unpack_entry
from hivemind.store.store import Store

NOW = "2026-03-01T12:00:00.000000Z"


@dataclass
class Line:
    """A line to a hub, for one member."""

    hub: Store
    member: TeamMember
    wire: list[str] = field(default_factory=list)
    now: str = NOW

    @property
    def exchange(self) -> Exchange:
        return Exchange(store=self.hub, member=self.member, now=self.now)

    def say_hello(self, device: str, bookmark: Bookmark | None = None) -> Welcome:
        return self.exchange.say_hello(device, bookmark)

    def push(self, device: str, entries: Sequence[WireEntry]) -> PushResult:
        return self.exchange.push(device, self._sent(entries))

    def pull(self, device: str, after: int, limit: int, epoch: str = "") -> LogPage:
        page = self.exchange.pull(device, after, limit, epoch)
        return replace(page, entries=tuple(self._sent(page.entries)))

    def compare(self, device: str, chains: Mapping[str, int]) -> Sequence[ChainHead]:
        return self.exchange.compare(device, chains)

    def list_hashes(self, device: str, after: int) -> Sequence[str]:
        return self.exchange.list_hashes(device, after)

    def take_back(self, device: str, entries: Sequence[WireEntry], head: ChainHead) -> int:
        return self.exchange.take_back(device, self._sent(entries), head)

    def _sent(self, entries: Sequence[WireEntry]) -> list[WireEntry]:
        self.wire.append(json.dumps([pack_entry(entry) for entry in entries]))
        return [unpack_entry(one) for one in json.loads(self.wire[-1])]


def writer(person: str) -> TeamMember:
    return TeamMember(person=person, role=Role.WRITER)


def reviewer(person: str) -> TeamMember:
    return TeamMember(person=person, role=Role.REVIEWER)
