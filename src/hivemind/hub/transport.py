"""How a device reaches its hub."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from hivemind.model.team import Bookmark, ChainHead, LogPage, PushResult, Welcome
from hivemind.model.wire import WireEntry


class Transport(Protocol):
    """What a hub answers a device; it identifies the member by the token."""

    def hello(self, device: str, bookmark: Bookmark | None = None) -> Welcome:
        """Identify this device and return how many of its entries the hub has, and from where to read on."""

    def push(self, device: str, entries: Sequence[WireEntry]) -> PushResult:
        """Send entries of the device's own chain."""

    def pull(self, device: str, after: int, limit: int, epoch: str = "") -> LogPage:
        """Return the entries after a position of the team's log."""

    def compare(self, device: str, chains: Mapping[str, int]) -> Sequence[ChainHead]:
        """Return the hub's entry with that number of each chain, or the newest if it has fewer."""

    def hashes(self, device: str, after: int) -> Sequence[str]:
        """Return the hashes of this device's entries that the hub has, after a number."""

    def take_back(self, device: str, entries: Sequence[WireEntry], head: ChainHead) -> int:
        """Send entries that the hub lost, with its seal on the last one; return how many it lacked."""
