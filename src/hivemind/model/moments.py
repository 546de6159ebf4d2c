"""Points in time as people write them and as the log stores them.

A stored moment is UTC text of fixed width, so that comparing text compares time.
"""

import re
from datetime import UTC, datetime, timedelta

from hivemind.errors import InvalidInput

EARLIEST, LATEST = 1970, 2200
"""Years outside are typing mistakes, not dates."""

DURATION = re.compile(r"(\d{1,5})\s*(h|d|w|mo|y)")
UNIT = {
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
WINDOWS = {"yesterday": (2, 0), "today": (1, 0), "this week": (7, 0), "last week": (14, 3), "last month": (62, 14)}
"""Days back from now: people mean these loosely, so they reach a little further than the calendar."""
AGO = re.compile(r"\b(\d{1,3}) (hour|day|week|month|year)s? ago\b")
HOW_TO_WRITE = "write a date like 2026-03-01, a time like 2026-03-01T14:00Z, or a span like 28d, 6w or 12h"


def written(moment: datetime) -> str:
    """A moment as the log stores it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read(stored: str) -> datetime:
    """The moment that ``written`` wrote."""
    return datetime.fromisoformat(stored)


def later(now: str, than: str) -> str:
    """Now, or the next moment after an earlier one that a clock put too late."""
    return now if now > than else written(read(than) + timedelta(microseconds=1))


def stamp(moment: datetime) -> str:
    """A moment as part of a file's name."""
    return moment.astimezone(UTC).strftime("%Y%m%d-%H%M%S-%f")


def is_written(stored: str) -> bool:
    """Whether it is a moment as the log stores it."""
    try:
        return written(read(stored)) == stored
    except (ValueError, OverflowError):
        return False


def day(stored: str | None) -> str:
    """A stored moment as people read it: the date."""
    return stored[:10] if stored else ""


def minute(stored: str | None) -> str:
    """A stored moment as people read it, to the minute, in UTC."""
    return stored[:16].replace("T", " ") if stored else ""


def in_words(stored: str) -> str:
    """A stored date as a question may name it: ``2023-05-07 May 7 2023 Sunday``."""
    return read(stored).strftime("%Y-%m-%d %B %-d %Y %A") if stored else ""


def parse_date(text: str) -> str:
    """A date or time a person wrote, as the log stores it; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidInput(f"{text!r} is not a date; {HOW_TO_WRITE}") from None
    if not EARLIEST <= moment.year <= LATEST:
        raise InvalidInput(f"{text!r} is not a year we believe; it must lie between {EARLIEST} and {LATEST}")
    return written(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def parse_deadline(text: str, now: datetime) -> str:
    """A date, or a span counted from now (``28d``)."""
    return _shifted(text, now, 1) or parse_date(text)


def parse_past(text: str, now: datetime) -> str:
    """A date, or a span counted back from now (``2w`` is two weeks ago)."""
    return _shifted(text, now, -1) or parse_date(text)


def end_of_day(text: str) -> str:
    """A bare date meant as a point to look back from includes that whole day."""
    stored = parse_date(text)
    is_bare = len(text.strip()) == len("2026-03-01")
    return written(read(stored) + timedelta(days=1, microseconds=-1)) if is_bare else stored


def window_named(question: str, now: str) -> tuple[str, str] | None:
    """The stretch of time a question names, such as "last week" or "3 days ago"; none if it names none."""
    moment = read(now)
    ago = AGO.search(question.lower())
    if ago:
        span = UNIT["mo" if ago[2] == "month" else ago[2][0]]
        middle = moment - int(ago[1]) * span
        return written(middle - span / 2), written(middle + span / 2)
    named = next((name for name in WINDOWS if name in question.lower()), None)
    if named is None:
        return None
    oldest, newest = WINDOWS[named]
    return written(moment - timedelta(days=oldest)), written(moment - timedelta(days=newest))


def _shifted(text: str, now: datetime, direction: int) -> str | None:
    span = DURATION.fullmatch(text.strip().lower())
    if span is None:
        return None
    try:
        moment = now + direction * int(span[1]) * UNIT[span[2]]
    except OverflowError:
        raise InvalidInput(f"{text!r} is too far away; {HOW_TO_WRITE}") from None
    return parse_date(moment.isoformat())
