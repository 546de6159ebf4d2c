"""What hooks left in the spool becomes observations."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hivemind import agents
from hivemind.capture.shorten import LONGEST, middle_out
from hivemind.model.events import ObservationMade, strings_changed
from hivemind.model.ids import EventId
from hivemind.model.session import Observation, Skipped

LARGEST_NUMBER = 2**63


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """An observation on its way into the log, under the id that makes it arrive once."""

    id: EventId
    at: str
    directory: str
    fact: ObservationMade


def arrivals(lines: Iterable[tuple[str, str, str, str]]) -> Iterator[Arrival | Skipped]:
    """The observations that spool lines tell of; a line that makes no sense says why."""
    for agent, event, at, payload in lines:
        try:
            told = json.loads(payload)
        except ValueError as error:
            yield Skipped(reason=f"not JSON: {error}", where=f"{agent} {event} at {at}")
            continue
        if agent not in agents.NAMES or not isinstance(told, dict):
            yield Skipped(reason="from nobody we know", where=f"{agent} {event} at {at}")
            continue
        for seen in agents.of(agent).decode(event, told, at):
            if isinstance(seen, Observation):
                yield arrival(seen)
            else:
                yield dataclasses.replace(seen, where=f"{agent} {event} at {at}")


def arrival(seen: Observation, redact: Callable[[str], str] = str) -> Arrival:
    """An observation on its way, without its secrets, trimmed to what is worth keeping."""
    held = {field.name: _storable(getattr(seen, field.name)) for field in dataclasses.fields(ObservationMade)}
    told = ObservationMade(**held)
    # Secrets go first: one that trimming cut in two would not be recognised. Twice the length is enough to look at,
    # because the place where that is cut is trimmed away afterwards.
    clean = strings_changed(_trimmed(told, 2 * LONGEST), redact)
    assert isinstance(clean, ObservationMade)
    fact = _trimmed(clean, LONGEST)
    return Arrival(id=EventId(_storable(seen.source_id)), at=seen.at, directory=told.directory, fact=fact)


def _storable(value: Any) -> Any:
    """What a database can hold: one line of a hook that it could not would keep the store shut for everybody."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode()
    return None if isinstance(value, int) and abs(value) >= LARGEST_NUMBER else value


def _trimmed(fact: ObservationMade, longest: int) -> ObservationMade:
    said = {name: getattr(fact, name) for name in ("text", "input", "output", "diff")}
    long: dict[str, Any] = {name: middle_out(text, longest) for name, text in said.items() if len(text) > longest}
    return dataclasses.replace(fact, **long) if long else fact
