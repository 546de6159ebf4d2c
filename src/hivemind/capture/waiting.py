"""What waits in the spool because nobody could write to the store: receipts, and the newest steps of a session."""

import json
from dataclasses import dataclass

from hivemind.capture import intake, spool
from hivemind.formats.untrusted import Unreadable, parse_json
from hivemind.model.events import NAME_BY_FACT, Event, MemoriesRecalled, ObservationMade, encode_fact, find_shape_error
from hivemind.model.scope import Scope
from hivemind.model.session import ObservationKind

RECEIPT_SENDER, RECEIPT_EVENT = "hivemind", "receipt"
"""Stand in a line in the places of agent and event."""
FIELD_COUNT = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingSession:
    """What the spool has of a session."""

    receipts: tuple[Event, ...] = ()
    last_compaction: str = ""
    """When its context was last compacted or cleared; empty if the spool does not say."""
    last_prompt: str = ""


def leave_receipt(directory: str, event: Event) -> None:
    """Append a receipt to the spool."""
    fields = [event.id, event.at, event.actor, event.channel, event.session, encode_fact(event.fact)[1]]
    spool.append(directory, RECEIPT_SENDER, RECEIPT_EVENT, event.at, json.dumps(fields))


def is_receipt(line: intake.SpoolLine) -> bool:
    """Whether a line is a receipt."""
    return line[:2] == (RECEIPT_SENDER, RECEIPT_EVENT)


def parse_receipt(line: intake.SpoolLine) -> Event:
    """Parse the line of a receipt; raises ``Unreadable``."""
    fields = parse_json(line[3])
    # Nothing but a receipt can be recorded this way, whoever wrote the line.
    if not isinstance(fields, list) or [type(field) for field in fields] != [str] * FIELD_COUNT:
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
    lines = [line for line in spool.read_waiting_lines(directory) if session_id in line[3]]
    receipts = tuple(
        event for event in map(_read_receipt, filter(is_receipt, lines)) if event and event.session == session_id
    )
    arrivals = intake.parse_spool_lines(line for line in lines if not is_receipt(line))
    steps = [
        arrival for arrival in arrivals if isinstance(arrival, intake.Arrival) and arrival.fact.session_id == session_id
    ]
    prompts = [step for step in steps if step.fact.seen is ObservationKind.PROMPT and not step.fact.subagent]
    return WaitingSession(
        receipts=receipts,
        last_compaction=max((step.at for step in steps if _forgets(step.fact)), default=""),
        last_prompt=max(prompts, key=lambda step: step.at).fact.text if prompts else "",
    )


def _read_receipt(line: intake.SpoolLine) -> Event | None:
    try:
        return parse_receipt(line)
    except Unreadable:
        # It is set aside when the spool is recorded.
        return None


def _forgets(step: ObservationMade) -> bool:
    """Whether the agent no longer knows what it was told before; as ``sessions.find_last_compaction`` says it."""
    return step.seen is ObservationKind.COMPACTED or (
        step.seen is ObservationKind.STARTED and step.text in ("compact", "clear")
    )
