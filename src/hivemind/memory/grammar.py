"""English for parsing notes: connecting words, negations, synonyms, stems, and amounts, days and dates as values."""

import re
from enum import Enum, auto
from typing import NamedTuple


class Slot(Enum):
    """The role of words in a statement; a connecting word begins a slot for the words after it."""

    HEAD = auto()
    """The words before any connecting word: the topic of the statement."""
    IS = auto()
    USE = auto()
    BY = auto()
    IN = auto()
    ON = auto()
    TO = auto()
    AS = auto()
    FROM = auto()
    FOR = auto()
    WHEN = auto()
    MANY = auto()
    """Slots that can have several values: what something has or supports."""


def word_set(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


CONNECTIVES: dict[str, Slot] = {
    word: slot
    for slot, group in {
        Slot.IS: "is are was were be been = : equals equal means became stays stay says remains 's 're",
        Slot.USE: "use uses using used ask contact ping returns return fetches prefer prefers",
        Slot.BY: "with via through w/ by",
        Slot.IN: "in at inside into within under",
        Slot.ON: "on onto",
        Slot.TO: "to towards",
        Slot.AS: "as",
        Slot.FROM: "from",
        Slot.FOR: "for of about re per against between",
        Slot.WHEN: "after before until till when whenever if unless during where every than below above over up least"
        " most",
        Slot.MANY: "has have supports support includes include depends depend accept accepts provides exposes offers"
        " contains can",
    }.items()
    for word in group.split()
}
AUXILIARIES = word_set("has have had")
PREDICATES = frozenset({Slot.IS, Slot.USE, Slot.MANY})
RUNNING = word_set("run runs running")
"""Something may run in several places, but runs on one platform."""
TOOLS = frozenset({Slot.USE, Slot.BY, Slot.IN})
"""Slots in which even a common word may be a name, as in "build with make"."""

NEGATIONS = word_set(
    "not never no don't doesn't didn't isn't aren't wasn't won't can't cannot mustn't shouldn't needn't dont doesnt"
    " cant avoid without stop stopped stopping neither nor nobody refuse forbid forbids"
)
ENABLED = "enable"
OPPOSITES = {
    **dict.fromkeys(word_set("disable disables disabled off inactive false deactivated deactivate"), ENABLED),
    **dict.fromkeys(
        word_set("forbidden prohibited banned disallowed impossible reject rejects rejected refuses refused denied"), ""
    ),
    **dict.fromkeys(word_set("manual manually"), "automat"),
    **dict.fromkeys(word_set("private privately"), "public"),
    "unsupported": "support",
    "optional": "requir",
}
"""Words that negate a stem; an empty stem means that they negate the whole statement."""
SYNONYMS = {
    **dict.fromkeys(word_set("enable enables enabled active true activated activate yes"), ENABLED),
    **dict.fromkeys(word_set("need needs needed require requires required requirement mandatory"), "requir"),
    **dict.fromkeys(word_set("supported support supports"), "support"),
    **dict.fromkeys(word_set("automatic automatically automated automate"), "automat"),
    "maximum": "max",
    "minimum": "min",
    "db": "databas",
    "config": "configuration",
    "app": "application",
    "repo": "repository",
}
"""Words mapped to a common stem, because they mean the same."""
SWITCHES = OPPOSITES.keys() | SYNONYMS.keys() | {"on", "no"}
"""Words for which another note may use a different word, so that they are not searched for."""

LIGHT = word_set(
    "a an the our my your its their his her we i you they he she it this that these those there us them everyone"
    " everything everybody anybody somebody team project all one's ok okay fine allowed permitted done again"
    " just now currently always please still really actually finally only ever usually generally sadly careful hey free"
    " feel may could should must shall will would might do does did being get gets got go goes going gone run runs"
    " running ran make makes made making keep keeps kept set sets put puts take takes taking taken anymore longer then"
    " so also too well yet already today yesterday week last days recently sort thing things kind like settled settle"
    " standardised standardized standardise standardize agreed decided planned plan told know check checked think guess"
    " turns turned turn switch switched out up follow follows live lives lived lie lies sit sits reside resides belong"
    " belongs stand stands located stored hosted based more way heads both each new newly old let's lets want wants"
    " raised lowered increased decreased reduced bumped listen listens happen happens replaced replaces replace"
    " superseded dropped moved moving move migrated migrate migrating changed change changing become came come comes"
    " about roughly around approximately some environment env i'm we're we've they're it's that's there's i've you're"
    " btw fyi times anytime"
)
"""Words that add nothing to the topic or the value."""

ADDING = word_set("also too additionally besides plus another")
EXCEPTING = word_set("only except unless")
EVENTS = word_set("fix fixed lost found debugged investigated noticed reverted refactored")
"""Verbs for one-time events, which contradict nothing."""
ASKING = word_set("maybe perhaps whether wondering considering might")
NUMBERED = word_set(
    "number no step task phase part chapter section stage item case example option issue pr ticket rule figure table"
)
"""A number after one of these is a name, not a value."""

LIMITS = {
    word: limit
    for limit, group in {
        "staging": "staging stage stg",
        "production": "prod production",
        "development": "dev development local locally laptop localhost",
        "sandbox": "sandbox",
        "canary": "canary",
        "test": "qa uat",
        "preproduction": "preprod pre-production",
    }.items()
    for word in group.split()
}
"""Words for environments; a statement about one need not be true in another."""

GIVING_UP = word_set(
    "not never instead rather replaced replaces replacing superseded dropped drop rid abandoned away from over stop"
    " stopped more longer removed gone retired shut ditched"
)
"""A sentence gives something up only if it has one of these words; cheaper to check than the patterns."""
GIVING_UP_TERMS = ("not", "instead", "rather", "replaced", "dropped", "from", "longer", "over", "removed", "gone")
GIVEN_UP = (
    r"(?i)(?:(?:,| and| but) (?:not|never|no more)|\b(?:instead of|rather than|replac(?:ed|es|ing)|dropped|drop|ditched"
    r"|(?:got|get) rid of|abandoned|away from|(?:migrated|moved|switched)(?: \w+){0,3} from|(?:took|takes) over from"
    r"|stop(?:ped)? using|no more|no longer (?:uses?|using|runs?|running|deploys? to|depends?|on)"
    r"|(?:prefers?|preferred|choose|chose|picked) \S+ over))\s+"
    r"(?:use |using |on |the |a |an |from |as |into |in |to |with |[a-z]+ing )*(?P<name>`[^`]+`|[\w.+#/@-]*\w[+#]*)"
    # Only a name that ends here: "instead of REST polling" gives up polling, not REST.
    r"(?=\s*(?:$|[.,;:!)]|\b(?:for|in|on|as|when|to|with|because|since|and|at|by)\b))"
)
REPLACED_BY = (
    r"(?i)(?P<name>`[^`]+`|[\w.+#/@-]*\w) (?:(?:was |has been |is |got )?(?:replaced (?:by|with)|superseded by)"
    r"|(?:was|were|has been|have been|is|are|got) (?:removed|gone|dropped|retired|shut down))\b"
)
NAMELESS = LIGHT | CONNECTIVES.keys() | NEGATIONS | word_set("or and both")


def is_plural(word: str) -> bool:
    """Whether a word looks like an English plural."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "os"))


def stem(word: str) -> str:
    """A word in lower case, without the endings that English puts on nouns and verbs."""
    word = word.lower()
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            is_doubled = len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl"
            word = word[:-1] if is_doubled else word
            break
    return word.rstrip("e") if len(word) > 3 else word


class Type(Enum):
    """The type of a word; only words of one type can be compared."""

    WORD = auto()
    NAME = auto()
    INSTANCE = auto()
    """Which of several is meant, as in "server 2 is slow"."""
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

COUNTING = "one two three four five six seven eight nine ten"
NUMBER_WORDS = {word: str(number) for number, word in enumerate(COUNTING.split(), start=1)}
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


def parse_quantity(word: str, following: list[str]) -> Quantity | None:
    """Parse a quantity that begins with this lower-case word; none if it begins none."""
    if word in PERIODS:
        return Quantity(f"{UNITS[word][1]:g}", Type.TIME)
    return _parse_date(word, following) or _parse_number(NUMBER_WORDS.get(word, word), following)


def _parse_date(word: str, following: list[str]) -> Quantity | None:
    after = following[0] if following else ""
    if word in DAYS:
        return Quantity(DAYS[word], Type.DATE)
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
