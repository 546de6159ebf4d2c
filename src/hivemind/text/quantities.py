"""Numbers with their units, days and dates in a text, as values that can be compared."""

import re
from enum import Enum, auto
from typing import NamedTuple


class Type(Enum):
    """The type of a word; only words of one type can be compared."""

    WORD = auto()
    NAME = auto()
    INSTANCE = auto()
    """Which of several is meant, as in "server 2 is slow"."""
    PATH = auto()
    NUMBER = auto()
    TIME = auto()
    SIZE = auto()
    SHARE = auto()
    DATE = auto()


QUANTITIES = frozenset({Type.NUMBER, Type.TIME, Type.SIZE, Type.SHARE, Type.DATE})


class Quantity(NamedTuple):
    """A number with its unit, a day or a date, as one value."""

    value: str
    type: Type
    following: int = 0
    """How many of the next words belong to it."""


NUMBER = r"v?(?P<digits>\d[\d.,]*)(?P<unit>%|[a-z]{0,4})$"
DATE = r"\d{4}-\d\d(?:-\d\d)?$|q[1-4]$|\d{1,2}:\d\d$|\d{1,2}(?::\d\d)?[ap]m$|midnight$|noon$"
DAY_OF_MONTH = r"\d{1,2}(?:st|nd|rd|th)?$"

NUMBER_WORDS = dict(
    zip(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
        map(str, range(1, 11)),
        strict=True,
    )
)
UNITS: dict[str, tuple[Type, float]] = {
    unit: (type, factor)
    for group, type, factor in (
        ("ms millisecond milliseconds", Type.TIME, 0.001),
        ("s sec secs second seconds", Type.TIME, 1),
        ("m min mins minute minutes", Type.TIME, 60),
        ("h hr hrs hour hours hourly", Type.TIME, 3600),
        ("d day days daily nightly", Type.TIME, 86_400),
        ("week weeks weekly", Type.TIME, 604_800),
        ("month months monthly", Type.TIME, 2_592_000),
        ("quarter quarters quarterly", Type.TIME, 7_776_000),
        ("year years yearly", Type.TIME, 31_536_000),
        # Decimal and binary units count as equal.
        ("kb kib", Type.SIZE, 1),
        ("mb mib", Type.SIZE, 1e3),
        ("gb gib", Type.SIZE, 1e6),
        ("tb tib", Type.SIZE, 1e9),
        ("% percent", Type.SHARE, 1),
    )
    for unit in group.split()
}
PERIODS = frozenset(
    ("hour", "day", "week", "month", "quarter", "year", "hourly", "daily", "nightly", "weekly", "monthly", "quarterly",
     "yearly")
)  # fmt: skip
"""Words that are a duration without a number, as in "every month" or "partitioned by day"."""
WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS = {form: day for day in WEEK for form in (day, f"{day}s")}
YEAR = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
MONTHS = {form: month for month in YEAR for form in (month, month[:3])} | {"sept": "september"}
NOT_ONLY_MONTHS = frozenset(("may", "mar", "march", "dec"))
"""Names of months that are also ordinary words or abbreviations; they count as months only beside a day."""
WEEKS_OF_MONTH = frozenset(("first", "second", "third", "fourth", "last"))


def parse_quantity(word: str, following: list[str]) -> Quantity | None:
    """Parse a quantity that begins with this lower-case word; none if it begins none."""
    if word in PERIODS:
        return Quantity(f"{UNITS[word][1]:g}", Type.TIME)
    return _parse_date(word, following) or _parse_number(NUMBER_WORDS.get(word, word), following)


def _parse_date(word: str, following: list[str]) -> Quantity | None:
    after = following[0] if following else ""
    if word in DAYS:
        return Quantity(DAYS[word], Type.DATE)
    if word in WEEKS_OF_MONTH and after in DAYS:
        return Quantity(f"{word} {DAYS[after]}", Type.DATE, 1)
    if word in MONTHS and re.match(DAY_OF_MONTH, after):
        return Quantity(f"{MONTHS[word]} {_keep_digits(after)}", Type.DATE, 1)
    if after in MONTHS and re.match(DAY_OF_MONTH, word):
        # A year is consumed but not compared: "12 March" and "12 March 2026" are the same day.
        has_year = len(following) > 1 and following[1].isdigit() and len(following[1]) == 4
        return Quantity(f"{MONTHS[after]} {_keep_digits(word)}", Type.DATE, 1 + has_year)
    if word in MONTHS and word not in NOT_ONLY_MONTHS:
        return Quantity(MONTHS[word], Type.DATE)
    return Quantity(word, Type.DATE) if re.match(DATE, word) else None


def _parse_number(word: str, following: list[str]) -> Quantity | None:
    match = re.match(NUMBER, word)
    if not match:
        return None
    digits, unit = match["digits"].replace(",", "").rstrip("."), match["unit"]
    is_separate = not unit and bool(following) and following[0] in UNITS
    type_and_factor = UNITS.get(following[0] if is_separate else unit)
    # Two dots make a version number, not a decimal.
    if type_and_factor and digits.count(".") < 2:
        return Quantity(f"{float(digits) * type_and_factor[1]:g}", type_and_factor[0], int(is_separate))
    return Quantity(f"{digits}{unit}", Type.NUMBER)


def _keep_digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
