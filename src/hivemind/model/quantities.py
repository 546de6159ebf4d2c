"""Numbers with their units, days and dates in a text, as values that can be compared."""

import re
from enum import Enum, auto
from typing import NamedTuple


class Type(Enum):
    """What a word can be compared with."""

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
    """How many of the following words belong to it."""


NUMBER = r"v?(?P<digits>\d[\d.,]*)(?P<unit>%|[a-z]{0,4})$"
DATE = r"\d{4}-\d\d(?:-\d\d)?$|q[1-4]$"
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
        ("year years yearly", Type.TIME, 31_536_000),
        ("kb kib", Type.SIZE, 1),
        ("mb mib", Type.SIZE, 1e3),
        ("gb gib", Type.SIZE, 1e6),
        ("tb tib", Type.SIZE, 1e9),
        ("% percent", Type.SHARE, 1),
    )
    for unit in group.split()
}
FREQUENCIES = frozenset(("hourly", "daily", "nightly", "weekly", "monthly", "yearly"))
WEEK = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
DAYS = {form: day for day in WEEK for form in (day, f"{day}s")}
YEAR = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
MONTHS = {form: month for month in YEAR for form in (month, month[:3])} | {"sept": "september"}
NOT_ONLY_MONTHS = frozenset(("may", "mar", "march", "dec"))
PLACES_IN_A_MONTH = frozenset(("first", "second", "third", "fourth", "last"))


def read_quantity(word: str, following: list[str]) -> Quantity | None:
    """The quantity that begins with a word in lower case, if one does."""
    if word in FREQUENCIES:
        return Quantity(f"{UNITS[word][1]:g}", Type.TIME)
    return _date(word, following) or _number(NUMBER_WORDS.get(word, word), following)


def _date(word: str, following: list[str]) -> Quantity | None:
    after = following[0] if following else ""
    if word in DAYS:
        return Quantity(DAYS[word], Type.DATE)
    if word in PLACES_IN_A_MONTH and after in DAYS:
        return Quantity(f"{word} {DAYS[after]}", Type.DATE, 1)
    if word in MONTHS and re.match(DAY_OF_MONTH, after):
        return Quantity(f"{MONTHS[word]} {_digits(after)}", Type.DATE, 1)
    if after in MONTHS and re.match(DAY_OF_MONTH, word):
        has_year = len(following) > 1 and following[1].isdigit() and len(following[1]) == 4
        return Quantity(f"{MONTHS[after]} {_digits(word)}", Type.DATE, 1 + has_year)
    if word in MONTHS and word not in NOT_ONLY_MONTHS:
        return Quantity(MONTHS[word], Type.DATE)
    return Quantity(word, Type.DATE) if re.match(DATE, word) else None


def _number(word: str, following: list[str]) -> Quantity | None:
    match = re.match(NUMBER, word)
    if not match:
        return None
    digits, unit = match["digits"].replace(",", "").rstrip("."), match["unit"]
    is_apart = not unit and bool(following) and following[0] in UNITS
    known = UNITS.get(following[0] if is_apart else unit)
    if known and digits.count(".") < 2:
        return Quantity(f"{float(digits) * known[1]:g}", known[0], int(is_apart))
    return Quantity(f"{digits}{unit}", Type.NUMBER)


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))
