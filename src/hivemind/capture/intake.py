"""What hooks left in the spool becomes observations."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hivemind import agents
from hivemind.capture.shorten import LONGEST, middle_out
from hivemind.model import moments
from hivemind.model.events import ObservationMade, strings_changed
from hivemind.model.ids import EventId
from hivemind.model.session import LONGEST_RAW, Observation, Skipped
from hivemind.model.untrusted import Unreadable, parse_json

LARGEST_NUMBER = 2**63

SpoolLine = tuple[str, str, str, str]
"""Agent, event, moment, payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """An observation on its way into the log, under the id that makes it arrive once."""

    id: EventId
    at: str
    directory: str
    fact: ObservationMade


def arrivals(lines: Iterable[SpoolLine]) -> Iterator[Arrival | Skipped]:
    """The observations that spool lines tell of; a line that makes no sense says why."""
    for line in lines:
        yield from _read(line)


def unreadable(line: SpoolLine, reason: str) -> Skipped:
    """A spool line that is set aside, as it stood in the spool."""
    agent, event, at, _ = line
    return Skipped(reason=reason, where=f"{agent} {event} at {moments.minute(at)}", raw="\t".join(line)[:LONGEST_RAW])


def _read(line: SpoolLine) -> list[Arrival | Skipped]:
    agent, event, at, payload = line
    try:
        if agent not in agents.NAMES or not moments.is_written(at):
            return [unreadable(line, "from nobody we know")]
        told = parse_json(payload)
        if not isinstance(told, dict):
            return [unreadable(line, f"a {type(told).__name__} where an object belongs")]
        return [
            arrival(seen) if isinstance(seen, Observation) else unreadable(line, seen.reason)
            for seen in agents.of(agent).decode(event, told, at)
        ]
    except Exception as error:  # noqa: BLE001 - an agent's next version may send anything, and the other lines count
        return [unreadable(line, told_by(error))]


def told_by(error: Exception) -> str:
    """What an exception says about input; the name of its kind too, unless it was raised to say this."""
    return str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"


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
    if isinstance(value, str) and (not value.isascii() or "\0" in value):
        # Searching ends at a zero byte in SQLite, and Postgres takes none.
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return None if isinstance(value, int) and abs(value) >= LARGEST_NUMBER else value


def _trimmed(fact: ObservationMade, longest: int) -> ObservationMade:
    said = {name: getattr(fact, name) for name in ("text", "input", "output", "diff")}
    long: dict[str, Any] = {name: middle_out(text, longest) for name, text in said.items() if len(text) > longest}
    return dataclasses.replace(fact, **long) if long else fact
