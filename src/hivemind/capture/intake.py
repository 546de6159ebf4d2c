"""What hooks left in the spool becomes observations."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hivemind import agents
from hivemind.model.events import ObservationMade
from hivemind.model.ids import EventId
from hivemind.model.session import Observation

LONGEST_OUTPUT = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """An observation on its way into the log, under the id that makes it arrive once."""

    id: EventId
    at: str
    directory: str
    fact: ObservationMade


def arrivals(lines: Iterable[tuple[str, str, str, str]]) -> Iterator[Arrival]:
    """The observations that spool lines tell of; a line that makes no sense is left out."""
    for agent, event, at, payload in lines:
        try:
            told = json.loads(payload)
        except ValueError:
            continue
        seen = agents.decode(agent, event, told, at) if isinstance(told, dict) else None
        if seen is not None:
            yield _arrival(seen)


def _arrival(seen: Observation) -> Arrival:
    return Arrival(
        id=EventId(seen.source_id),
        at=seen.at,
        directory=seen.directory,
        fact=ObservationMade(
            agent=seen.agent,
            session_id=seen.session_id,
            seen=seen.seen,
            directory=seen.directory,
            text=_middle_out(seen.text),
            tool=seen.tool,
            input=_middle_out(seen.input),
            output=_middle_out(seen.output),
            exit_code=seen.exit_code,
            file=seen.file,
            model=seen.model,
        ),
    )


def _middle_out(text: str) -> str:
    """Beginning and end of what is too long: a build log says its errors there."""
    if len(text) <= LONGEST_OUTPUT:
        return text
    half = LONGEST_OUTPUT // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters left out …\n{text[-half:]}"
