"""Turns the lines that hooks left in the spool into observations, and receipts into lines and back."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from hivemind.agents import callers
from hivemind.agents.agent import get_agent
from hivemind.model import timestamps
from hivemind.model.events import NAME_BY_FACT, Event, MemoriesRecalled, ObservationMade, encode_fact, find_shape_error
from hivemind.model.free_text import change_text
from hivemind.model.ids import EventId
from hivemind.model.recall import WaitingSession
from hivemind.model.scope import Scope
from hivemind.model.session import MAX_RAW_CHARACTERS, Observation, ObservationKind, SkippedInput
from hivemind.sessions import spool, spool_reader
from hivemind.sessions.truncate import LONGEST, cut_middle
from hivemind.text.untrusted import Unreadable, parse_json

LARGEST_NUMBER = 2**63
RECEIPT_SENDER, RECEIPT_EVENT = "hivemind", "receipt"
"""Stand in a line in the places of agent and event."""
RECEIPT_FIELDS = 6

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
    return chain.from_iterable(map(_parse_line, lines))


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
        if agent not in callers.NAMES or not timestamps.is_timestamp(at):
            return [describe_unreadable(line, "an unknown agent or an invalid time")]
        message = parse_json(payload)
        if not isinstance(message, dict):
            return [describe_unreadable(line, f"a JSON {type(message).__name__}; expected an object")]
        return [
            make_arrival(observation)
            if isinstance(observation, Observation)
            else describe_unreadable(line, observation.reason)
            for observation in get_agent(agent).decode(event, message, at)
        ]
    except Exception as error:  # noqa: BLE001 - an agent's next version may send anything, and the other lines count
        return [describe_unreadable(line, describe_error(error))]


def describe_error(error: Exception) -> str:
    """Describe an exception about input, with its type unless it was raised to be shown."""
    return str(error) if isinstance(error, Unreadable) else f"{type(error).__name__}: {error}"


def make_arrival(observation: Observation, redact: Callable[[str], str] = str) -> Arrival:
    """Make an observation ready for the log: storable, redacted and trimmed."""
    fields = {
        field.name: _make_storable(getattr(observation, field.name)) for field in dataclasses.fields(ObservationMade)
    }
    full_fact = ObservationMade(**fields)
    # Redact before trimming: a secret that trimming cut in two would not be recognised. Twice the length is enough to
    # redact, because the place where that is cut is trimmed away afterwards.
    fact = _trim(change_text(_trim(full_fact, 2 * LONGEST), redact), LONGEST)
    return Arrival(
        id=EventId(_make_storable(observation.source_id)), at=observation.at, directory=full_fact.directory, fact=fact
    )


def _make_storable(value: Any) -> Any:
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


def leave_receipt(directory: str, event: Event) -> None:
    """Append a receipt to the spool."""
    fields = [event.id, event.at, event.actor, event.channel, event.session, encode_fact(event.fact)[1]]
    spool.append(directory, RECEIPT_SENDER, RECEIPT_EVENT, event.at, json.dumps(fields))


def is_receipt(line: SpoolLine) -> bool:
    """Whether a line is a receipt."""
    return line[:2] == (RECEIPT_SENDER, RECEIPT_EVENT)


def parse_receipt(line: SpoolLine) -> Event:
    """Parse the line of a receipt; raises ``Unreadable``."""
    fields = parse_json(line[3])
    # Nothing but a receipt can be recorded this way, whoever wrote the line.
    if not isinstance(fields, list) or [type(field) for field in fields] != [str] * RECEIPT_FIELDS:
        raise Unreadable("not a receipt")
    event_id, at, actor, channel, session, content = fields
    try:
        event = Event.read(
            content, event_id, at, actor, channel, Scope.USER, "", session, "", NAME_BY_FACT[MemoriesRecalled]
        )
    except (KeyError, TypeError, ValueError) as error:
        raise Unreadable(f"not a receipt: {error}") from None
    if problem := find_shape_error(event.fact):
        raise Unreadable(f"not a receipt: {problem}")
    return event


def read_session(directory: str, session_id: str) -> WaitingSession:
    """Read what the spool has of a session."""
    # Most lines are of other sessions, and looking for the id takes a hundredth of the time of parsing.
    lines = [line for line in spool_reader.read_waiting_lines(directory) if session_id in line[3]]
    receipts: list[Event] = []
    for line in filter(is_receipt, lines):
        # What cannot be read is set aside when the spool is recorded.
        with suppress(Unreadable):
            receipts.append(parse_receipt(line))
    arrivals = parse_spool_lines(line for line in lines if not is_receipt(line))
    steps = [arrival for arrival in arrivals if isinstance(arrival, Arrival) and arrival.fact.session_id == session_id]
    prompts = [step for step in steps if step.fact.seen is ObservationKind.PROMPT and not step.fact.subagent]
    return WaitingSession(
        receipts=tuple(event for event in receipts if event.session == session_id),
        last_compaction=max((step.at for step in steps if _forgets(step.fact)), default=""),
        last_prompt=max(prompts, key=lambda step: step.at).fact.text if prompts else "",
    )


def _forgets(step: ObservationMade) -> bool:
    """Whether the agent no longer knows what it was told before; as ``sessions.find_last_compaction`` says it."""
    return step.seen is ObservationKind.COMPACTED or (
        step.seen is ObservationKind.STARTED and step.text in ("compact", "clear")
    )
