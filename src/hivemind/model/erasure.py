"""The report of an erasure: each location of the content, and its state."""

from typing import Literal

from hivemind.model.dataclass import dataclass
from hivemind.model.ids import OwnId, Timestamp


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedLocation:
    """A location where the content was or may be, and its state."""

    name: str
    state: Literal["done", "pending", "remains", "outside"]
    """done: nothing is left there; pending: will be retried; remains: still there; outside: we cannot reach it."""
    detail: str
    holders: tuple[OwnId, ...] = ()
    """Ids of the memories and log entries that still contain it there."""
    file: str = ""
    """The file that still contains it, below the home directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of an erasure."""

    memories: tuple[str, ...]
    at: Timestamp
    places: tuple[ErasedLocation, ...]
    batch: str = ""
    """Marks all log entries that belong to this erasure."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left that Hivemind could erase."""
        # What lies outside can never be erased from here, so it does not keep the erasure open.
        return all(place.state in ("done", "outside") for place in self.places)
