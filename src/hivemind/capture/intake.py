"""Turns the lines that hooks left in the spool into observations."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hivemind import agents
from hivemind.capture.truncate import LONGEST, cut_middle
from hivemind.formats import timestamps
from hivemind.formats.untrusted import Unreadable, parse_json
from hivemind.model.events import ObservationMade
from hivemind.model.free_text import change_text
from hivemind.model.ids import EventId
from hivemind.model.session import MAX_RAW_CHARACTERS, Observation, SkippedInput

LARGEST_NUMBER = 2**63

SpoolLine = tuple[str, str, str, str]
"""Agent, event, time, payload."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """An observation ready for the log, with an id that stays the same when it is read again."""

    id: EventId
    at: str
    directory: str
    fact: ObservationMade


def parse_spool_lines(lines: Iterable[SpoolLine]) -> Iterator[Arrival | SkippedInput]:
    """Parse spool lines into observations; a line that cannot be parsed becomes a ``SkippedInput`` with the reason."""
    for line in lines:
        yield from _parse_line(line)


def describe_unreadable(line: SpoolLine, reason: str) -> SkippedInput:
    """Describe a spool line that is set aside, with its text as it stood in the spool."""
    agent, event, at, _ = line
    return SkippedInput(
        reason=reason,
        where=f"{agent} {event} at {timestamps.format_minute(at)}",
        raw="\t".join(line)[:MAX_RAW_CHARACTERS],
    )


def _parse_line(line: SpoolLine) -> list[Arrival | SkippedInput]:
    agent, event, at, payload = line
    try:
        if agent not in agents.NAMES or not timestamps.is_timestamp(at):
            return [describe_unreadable(line, "an unknown agent or an invalid time")]
        message = parse_json(payload)
        if not isinstance(message, dict):
            return [describe_unreadable(line, f"a JSON {type(message).__name__}; expected an object")]
        return [
            make_arrival(observation)
            if isinstance(observation, Observation)
            else describe_unreadable(line, observation.reason)
            for observation in agents.get_agent(agent).decode(event, message, at)
        ]
    except Exception as error:  # noqa: BLE001 - an agent's next version may send anything, and the other lines count
        return [describe_unreadable(line, describe_error(error))]


def describe_error(error: Exception) -> str:
    """Describe an exception about input, with its type unless it was raised to be shown."""
    return str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"


def make_arrival(observation: Observation, redact: Callable[[str], str] = str) -> Arrival:
    """Make an observation ready for the log: storable, redacted and trimmed."""
    fields = {field.name: _storable(getattr(observation, field.name)) for field in dataclasses.fields(ObservationMade)}
    full_fact = ObservationMade(**fields)
    # Redact before trimming: a secret that trimming cut in two would not be recognised. Twice the length is enough to
    # redact, because the place where that is cut is trimmed away afterwards.
    fact = _trim(change_text(_trim(full_fact, 2 * LONGEST), redact), LONGEST)
    return Arrival(
        id=EventId(_storable(observation.source_id)), at=observation.at, directory=full_fact.directory, fact=fact
    )


def _storable(value: Any) -> Any:
    """Replace what a database cannot store; otherwise one such line would stop every later opening of the store."""
    if isinstance(value, str) and (not value.isascii() or "\0" in value):
        # SQLite stops searching at a NUL byte, and Postgres rejects it.
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return None if isinstance(value, int) and abs(value) >= LARGEST_NUMBER else value


def _trim(fact: ObservationMade, longest: int) -> ObservationMade:
    texts = {name: getattr(fact, name) for name in ("text", "input", "output", "diff")}
    shortened_texts: dict[str, Any] = {
        name: cut_middle(text, longest) for name, text in texts.items() if len(text) > longest
    }
    return dataclasses.replace(fact, **shortened_texts) if shortened_texts else fact
