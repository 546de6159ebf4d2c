"""The network between devices and hubs: it loses, repeats, delays, reorders and corrupts messages."""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hivemind.errors import Refused, Unavailable
from hivemind.hub.exchange import Exchange
from hivemind.model.team import Bookmark, ChainHead, LogPage, PushResult, Welcome
from hivemind.model.wire import WireEntry, pack_entry, unpack_entry
from hivemind.store.store import Store
from lab.evals.simulation.machines import Machine

Answer = TypeVar("Answer")


@dataclass
class Network:
    """The odds of faults, the traffic so far, and the delayed requests."""

    chance: random.Random
    now: Callable[[], str]
    trouble: float = 0.0
    wire: list[str] = field(default_factory=list)
    pages: dict[str, list[LogPage]] = field(default_factory=dict)
    delayed: list[Callable[[], object]] = field(default_factory=list)

    def odds(self, share: float = 1.0) -> bool:
        """Return whether a fault happens now."""
        return self.chance.random() < self.trouble * share

    def deliver_late(self) -> None:
        """Deliver a delayed copy of an earlier request."""
        if self.delayed:
            late = self.delayed.pop(self.chance.randrange(len(self.delayed)))
            try:
                late()
            except Refused:
                # Nobody waits for the answer any more.
                return


@dataclass
class Line:
    """The connection of one device to a hub."""

    network: Network
    machine: Machine
    hub: Store

    def say_hello(self, device: str, bookmark: Bookmark | None = None) -> Welcome:
        """Send a greeting."""
        return self._send(lambda: self._exchange().say_hello(device, bookmark))

    def compare(self, device: str, chains: Mapping[str, int]) -> Sequence[ChainHead]:
        """Ask what the hub has of each chain."""
        return self._send(lambda: self._exchange().compare(device, chains))

    def list_hashes(self, device: str, after: int) -> Sequence[str]:
        """Ask what the hub has of this device's chain."""
        return self._send(lambda: self._exchange().list_hashes(device, after))

    def take_back(self, device: str, entries: Sequence[WireEntry], head: ChainHead) -> int:
        """Send back what the hub lost."""
        return self._send(lambda: self._exchange().take_back(device, self._as_json(entries), head))

    def push(self, device: str, entries: Sequence[WireEntry]) -> PushResult:
        """Send entries to the hub; sometimes the later ones arrive first, or a copy arrives late."""

        def deliver(part: Sequence[WireEntry]) -> PushResult:
            return self._exchange().push(device, self._as_json(part))

        if self.network.odds():
            self.network.delayed.append(lambda: deliver(entries))
        if len(entries) > 1 and self.network.odds():
            self._send(lambda: deliver(entries[1:]))
        return self._send(lambda: deliver(entries))

    def pull(self, device: str, after: int, limit: int, epoch: str = "") -> LogPage:
        """Request a page from the hub; sometimes an old page comes back."""

        def ask() -> LogPage:
            page = self._exchange().pull(device, after, limit, epoch)
            return replace(page, entries=tuple(self._as_json(page.entries)))

        page = self._send(ask)
        pages = self.network.pages.setdefault(device, [])
        pages.append(page)
        return self.network.chance.choice(pages) if self.network.odds(0.3) else page

    def _exchange(self) -> Exchange:
        return Exchange(store=self.hub, member=self.machine.member, now=self.network.now())

    def _send(self, request: Callable[[], Answer]) -> Answer:
        if self.machine.is_partitioned or self.network.odds():
            raise Unavailable("the request was lost")
        answer = request()
        if self.network.odds():
            answer = request()
        if self.network.odds():
            raise Unavailable("the answer was lost")
        return answer

    def _as_json(self, entries: Sequence[WireEntry]) -> list[WireEntry]:
        text = json.dumps([pack_entry(entry) for entry in entries])
        self.network.wire.append(text)
        if self.network.odds(0.5):
            text = text.replace("holds", "hoIds")
        return [unpack_entry(entry) for entry in json.loads(text)]
