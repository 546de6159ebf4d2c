"""What hooks left in the spool becomes observations."""

import dataclasses
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hivemind import agents
from hivemind.model.events import ObservationMade
from hivemind.model.ids import EventId
from hivemind.model.session import Observation, Skipped

LONGEST_OUTPUT = 64 * 1024


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
        for seen in agents.read(agent, event, told, at):
            if isinstance(seen, Observation):
                yield arrival(seen)
            else:
                yield dataclasses.replace(seen, where=f"{agent} {event} at {at}")


def arrival(seen: Observation) -> Arrival:
    """An observation on its way, trimmed to what is worth keeping."""
    fields = {field.name: getattr(seen, field.name) for field in dataclasses.fields(ObservationMade)}
    trimmed = {name: _middle_out(fields[name]) for name in ("text", "input", "output", "diff")}
    return Arrival(
        id=EventId(seen.source_id), at=seen.at, directory=seen.directory, fact=ObservationMade(**fields | trimmed)
    )


def _middle_out(text: str) -> str:
    """Beginning and end of what is too long: a build log says its errors there."""
    if len(text) <= LONGEST_OUTPUT:
        return text
    half = LONGEST_OUTPUT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
