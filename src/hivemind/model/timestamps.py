"""Timestamps as people write them and as the log stores them.

A stored timestamp is UTC text of fixed width, so that comparing text compares time.
"""

import re
from datetime import UTC, date, datetime, timedelta

from hivemind.errors import InvalidInput
from hivemind.model.ids import Timestamp

EARLIEST, LATEST = 1970, 2200
"""Other years are taken for typing mistakes."""

DURATION = re.compile(r"(\d{1,5})\s*(h|d|w|mo|y)")
UNIT = {
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
WINDOWS = {"yesterday": (2, 0), "today": (1, 0), "this week": (7, 0), "last week": (14, 3), "last month": (62, 14)}
"""The oldest and newest day, counted back from now; people use these words loosely, so the windows are wide."""
AGO = re.compile(r"\b(\d{1,3}) (hour|day|week|month|year)s? ago\b")
When = str | date | timedelta
"""A time as callers give it: text as a person writes it, or Python's date, datetime or timedelta from now."""
HOW_TO_WRITE = "write a date like 2026-03-01, a time like 2026-03-01T14:00Z, or a span like 28d, 6w or 12h"


def format_timestamp(moment: datetime) -> Timestamp:
    """Format a datetime as the log stores it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_timestamp(timestamp: Timestamp) -> datetime:
    """Parse a timestamp of the log."""
    return datetime.fromisoformat(timestamp)


def next_timestamp(now: Timestamp, than: Timestamp) -> Timestamp:
    """Now, or one microsecond after ``than`` where a wrong clock dated that in the future."""
    return now if now > than else format_timestamp(parse_timestamp(than) + timedelta(microseconds=1))


def format_for_filename(moment: datetime) -> str:
    """Format a datetime for a file name."""
    return moment.astimezone(UTC).strftime("%Y%m%d-%H%M%S-%f")


def is_timestamp(timestamp: str) -> bool:
    """Whether a text is a timestamp in the log's format."""
    try:
        return format_timestamp(parse_timestamp(timestamp)) == timestamp
    except (ValueError, OverflowError):
        return False


def format_date(timestamp: Timestamp | None) -> str:
    """The date of a timestamp, for people; empty without one."""
    return timestamp[:10] if timestamp else ""


def format_minute(timestamp: Timestamp | None) -> str:
    """A timestamp to the minute in UTC, for people; empty without one."""
    return timestamp[:16].replace("T", " ") if timestamp else ""


def format_period(start: Timestamp, end: Timestamp) -> str:
    """Two timestamps to the minute, the day once if it is the same."""
    return f"{format_minute(start)} to {format_minute(end)[11 if start[:10] == end[:10] else 0 :]}"


def spell_out_date(timestamp: Timestamp) -> str:
    """The ways a question may name a date, for full-text search: ``2023-05-07 May 7 2023 Sunday``."""
    if not timestamp:
        return ""
    moment = parse_timestamp(timestamp)
    # The day without its zero by hand: not every platform has a code for it.
    return moment.strftime(f"%Y-%m-%d %B {moment.day} %Y %A")


def parse_date(when: When) -> Timestamp:
    """Parse a date or time that a person wrote into a timestamp; without a time zone it is UTC."""
    text = _spell(when)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is not a date; {HOW_TO_WRITE}") from None
    if not EARLIEST <= moment.year <= LATEST:
        raise InvalidInput(f"the year of {text!r} is out of range; use a year from {EARLIEST} to {LATEST}")
    return format_timestamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def parse_deadline(when: When, now: datetime) -> Timestamp:
    """Parse a date, or a span counted from now (``28d``), into a timestamp."""
    return _parse_span(when, now, 1) or parse_date(when)


def parse_past(when: When, now: datetime) -> Timestamp:
    """Parse a date, or a span counted back from now (``2w`` is two weeks ago), into a timestamp."""
    return _parse_span(when, now, -1) or parse_date(when)


def parse_end_of_day(when: When) -> Timestamp:
    """Parse a date or time; a date without a time means the end of that day, so that the day is included."""
    timestamp = parse_date(when)
    # A date without a time; the example has the only length that it can have.
    is_bare = len(_spell(when)) == len("2026-03-01")
    return format_timestamp(parse_timestamp(timestamp) + timedelta(days=1, microseconds=-1)) if is_bare else timestamp


def find_time_window(question: str, now: Timestamp) -> tuple[Timestamp, Timestamp] | None:
    """Start and end of the time a question names, such as "last week" or "3 days ago"; none if it names none."""
    moment = parse_timestamp(now)
    match = AGO.search(question.lower())
    if match:
        span = UNIT["mo" if match[2] == "month" else match[2][0]]
        middle = moment - int(match[1]) * span
        # "3 weeks ago" is meant roughly: half a week on either side.
        return format_timestamp(middle - span / 2), format_timestamp(middle + span / 2)
    phrase = next((name for name in WINDOWS if name in question.lower()), None)
    if phrase is None:
        return None
    oldest, newest = WINDOWS[phrase]
    return format_timestamp(moment - timedelta(days=oldest)), format_timestamp(moment - timedelta(days=newest))


def _spell(when: When) -> str:
    if not isinstance(when, str | date):
        raise InvalidInput(f"{when!r} is not a date; {HOW_TO_WRITE}")
    return when.isoformat() if isinstance(when, date) else when.strip()


def _parse_span(when: When, now: datetime, direction: int) -> Timestamp | None:
    if isinstance(when, timedelta):
        span = when
    elif match := DURATION.fullmatch(_spell(when).lower()):
        span = int(match[1]) * UNIT[match[2]]
    else:
        return None
    try:
        moment = now + direction * span
    except OverflowError:
        raise InvalidInput(f"{str(when)!r} is too far away; {HOW_TO_WRITE}") from None
    return parse_date(moment.isoformat())
