"""The way between a device and a hub: it loses, repeats, delays, reorders and changes what it carries."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from evals.simulation.machines import Machine
from hivemind.errors import Refused, Unavailable
from hivemind.hub import exchange
from hivemind.model.team import Page, Pushed, Welcome
from hivemind.model.wire import Entry, packed, unpacked
from hivemind.store import Store

Answer = TypeVar("Answer")


@dataclass
class Network:
    """Faults by their odds, what was carried so far, and what is still on its way."""

    chance: random.Random
    now: Callable[[], str]
    trouble: float = 0.0
    wire: list[str] = field(default_factory=list)
    pages: dict[str, list[Page]] = field(default_factory=dict)
    delayed: list[Callable[[], object]] = field(default_factory=list)

    def odds(self, share: float = 1.0) -> bool:
        """Whether a fault happens now."""
        return self.chance.random() < self.trouble * share

    def deliver_late(self) -> None:
        """Let a repetition of some earlier request arrive at last."""
        if self.delayed:
            late = self.delayed.pop(self.chance.randrange(len(self.delayed)))
            try:
                late()
            except Refused:
                # Nobody waits for the answer any more.
                return


@dataclass
class Line:
    """One device's way to a hub."""

    network: Network
    machine: Machine
    hub: Store

    def hello(self, device: str) -> Welcome:
        """Carry a greeting."""
        return self._carried(lambda: exchange.hello(self.hub, device, self.machine.member))

    def push(self, device: str, entries: Sequence[Entry]) -> Pushed:
        """Carry entries to the hub, in two parts and the second first when it so happens."""

        def deliver(part: Sequence[Entry]) -> Pushed:
            return exchange.push(self.hub, device, self._as_json(part), self.machine.member, self.network.now())

        if self.network.odds():
            self.network.delayed.append(lambda: deliver(entries))
        if len(entries) > 1 and self.network.odds():
            self._carried(lambda: deliver(entries[1:]))
        return self._carried(lambda: deliver(entries))

    def pull(self, device: str, after: int, limit: int) -> Page:
        """Carry a question to the hub, and a page back; sometimes a page that was asked for long ago."""

        def ask() -> Page:
            page = exchange.pull(self.hub, device, after, self.machine.member, self.network.now(), limit)
            return Page(after=page.after, entries=tuple(self._as_json(page.entries)), cursor=page.cursor, end=page.end)

        page = self._carried(ask)
        kept = self.network.pages.setdefault(device, [])
        kept.append(page)
        return self.network.chance.choice(kept) if self.network.odds(0.3) else page

    def _carried(self, request: Callable[[], Answer]) -> Answer:
        if self.machine.is_partitioned or self.network.odds():
            raise Unavailable("the request was lost")
        answer = request()
        if self.network.odds():
            answer = request()
        if self.network.odds():
            raise Unavailable("the answer was lost")
        return answer

    def _as_json(self, entries: Sequence[Entry]) -> list[Entry]:
        carried = json.dumps([packed(entry) for entry in entries])
        self.network.wire.append(carried)
        if self.network.odds(0.5):
            carried = carried.replace("holds", "hoIds")
        return [unpacked(one) for one in json.loads(carried)]
