"""What mentions a name and can be erased, and the report of an erasure: each location of the content, and its state."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Literal

from hivemind.errors import InvalidInput
from hivemind.model.dataclass import dataclass
from hivemind.model.ids import OwnId, Timestamp
from hivemind.model.timestamps import format_minute

HUB, TEAM_DEVICES = "hub", "devices of the team"
"""Names of the locations of a team's copies."""


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

    @property
    def has_failed(self) -> bool:
        """Whether something is left that no later sync erases."""
        return any(place.state == "remains" for place in self.places)

    def with_places(self, places: Iterable[ErasedLocation]) -> "Erasure":
        """The receipt with other reports on some locations."""
        reports = {place.name: place for place in places}
        others = (place for place in self.places if place.name not in reports)
        return replace(self, places=(*others, *reports.values()))


def describe_devices(behind: Sequence[tuple[str, str]]) -> ErasedLocation:
    """Report on the devices of a team; ``behind`` has the person and the last sync of each that has not confirmed."""
    if not behind:
        return ErasedLocation(name=TEAM_DEVICES, state="done", detail="every device has confirmed it")
    waiting = ", ".join(f"{person} (last sync {format_minute(at)})" for person, at in behind)
    detail = f"erased when they sync: {waiting}"
    return ErasedLocation(name=TEAM_DEVICES, state="pending", detail=detail)


class MentionSort(StrEnum):
    """Where a mention was found."""

    MEMORY = "memory"
    VERSION = "earlier version"
    TRACE = "trace"
    OBSERVATION = "observation"
    SESSION = "session"
    QUESTION = "question"
    BACKUP = "backup"
    QUARANTINE = "quarantine"
    RECORD = "record"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """A stored item that contains the name searched for."""

    sort: MentionSort
    id: str
    """The id of the memory, log entry or session; for a file, its name."""
    repo: str
    """The repository it belongs to; empty if it applies everywhere."""
    at: Timestamp
    excerpt: str
    session: str = ""
    """The session it was observed in."""
    stays: str = ""
    """Why it cannot be erased from here; empty if it can."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mentions:
    """All stored items that contain a name."""

    about: str
    found: tuple[Mention, ...]

    @property
    def erasable(self) -> tuple[Mention, ...]:
        """The mentions that can be erased."""
        return tuple(mention for mention in self.found if not mention.stays)

    def exclude(self, exclusions: Iterable[str]) -> tuple[Mention, ...]:
        """The mentions that can be erased, without those that a person excludes by id, session or file."""
        excluded_names: set[str] = set()
        for text in exclusions:
            prefix = text.strip()
            names = {name for mention in self.found for name in (mention.id, mention.session) if name}
            matching = {name for name in names if prefix and name.startswith(prefix)}
            # An exact name wins over names that begin with it.
            matching = {prefix} if prefix in names else matching
            if not matching:
                raise InvalidInput(
                    f"nothing in the list is called {prefix!r}; give an id, session or file as the list shows it"
                )
            excluded_names |= matching
        return tuple(mention for mention in self.erasable if not {mention.id, mention.session} & excluded_names)

    def group_by_sort(self) -> list[tuple[MentionSort, list[Mention]]]:
        """The mentions grouped by sort, in the order of ``MentionSort``."""
        groups = [(sort, [mention for mention in self.found if mention.sort is sort]) for sort in MentionSort]
        return [(sort, group) for sort, group in groups if group]
