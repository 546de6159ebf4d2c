"""What an erasure reports: each place where the content was or may be, and what became of it."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Somewhere the content was or may be, and what became of it."""

    name: str
    state: Literal["done", "pending", "remains", "outside"]
    """Nothing was found there; it will be tried again; it is still there and why; it is out of our reach."""
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """The receipt of an erasure."""

    memories: tuple[str, ...]
    at: str
    places: tuple[Place, ...]
    batch: str = ""
    """Names all entries of the log that belong to it."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left that we could destroy."""
        return all(place.state in ("done", "outside") for place in self.places)
