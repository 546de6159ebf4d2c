"""A short note taken apart into statements: words in slots, polarity, and what the statement is limited to."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import combinations

MOST_TERMS, MOST_GROUPS = 5, 24
"""Words of a statement, and groups of them, that are looked up."""
LONGEST_TEXT = 400
MOST_WORDS = 14
"""Content words of a statement; longer ones that share a topic merely speak of the same thing."""


class Slot(Enum):
    """What a connecting word makes of the words behind it."""

    HEAD = auto()
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
    """Something may have or support several of these."""


class Type(Enum):
    """What a word can be compared with."""

    WORD = auto()
    NAME = auto()
    PATH = auto()
    NUMBER = auto()
    TIME = auto()
    SIZE = auto()
    SHARE = auto()
    DATE = auto()


QUANTITIES = frozenset({Type.NUMBER, Type.TIME, Type.SIZE, Type.SHARE, Type.DATE})


@dataclass(frozen=True, slots=True)
class Word:
    """A content word: its stem, what it can be compared with, and the slot it stands in."""

    stem: str
    type: Type
    slot: Slot
    place: int
    """Which of the statement's slots, counted from the left."""
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One claim of a note."""

    words: tuple[Word, ...]
    is_negated: bool = False
    is_change: bool = False
    is_definite: bool = False
    """It says what *the* value of something is: "Main is the default branch"."""
    is_setting: bool = False
    """A line such as "Package manager: pnpm"."""
    adds: bool = False
    """It names one more of several: "also", "too"."""
    is_exception: bool = False
    is_event: bool = False
    limits: frozenset[str] = frozenset()
    """Environments it is limited to."""
    given_up: frozenset[str] = frozenset()
    stems: frozenset[str] = frozenset()

    def inside(self, place: int) -> tuple[Word, ...]:
        """The words of one slot."""
        return tuple(word for word in self.words if word.place == place)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


CONNECTIVES: dict[str, Slot] = {
    **dict.fromkeys(_set("is are was were be been = : equals equal means became stays stay says remains 's 're"), Slot.IS),
    **dict.fromkeys(_set("use uses using used ask contact ping returns return fetches prefer prefers"), Slot.USE),
    **dict.fromkeys(_set("with via through w/ by"), Slot.BY),
    **dict.fromkeys(_set("in at inside into within under"), Slot.IN),
    **dict.fromkeys(_set("on onto"), Slot.ON),
    **dict.fromkeys(_set("to towards"), Slot.TO),
    **dict.fromkeys(_set("as"), Slot.AS),
    **dict.fromkeys(_set("from"), Slot.FROM),
    **dict.fromkeys(_set("for of about re per against between"), Slot.FOR),
    **dict.fromkeys(_set("after before until till when whenever if unless during where every than below above over"
                         " up least most"), Slot.WHEN),
    **dict.fromkeys(_set("has have supports support includes include depends depend accepts provides exposes offers"
                         " contains"), Slot.MANY),
}  # fmt: skip
RUNNING = _set("run runs running")
"""Something may run in several places."""
AUXILIARIES = _set("has have had")
NAMING = frozenset({Slot.USE, Slot.BY, Slot.IN})
PURPOSES = {word: slot for word, slot in CONNECTIVES.items() if slot is Slot.FOR}
TELLING = _set("has have supports support returns return fetches")
"""Connecting words that are words of the topic too."""
NUMBERED = _set(
    "step task phase part chapter section stage item case example option issue pr ticket rule # figure table"
)
"""The number behind these is a name, not a value."""
SWITCHED = _set("turn turns turned switch switched")
NEGATIONS = _set(
    "not never no don't doesn't didn't isn't aren't wasn't won't can't cannot mustn't shouldn't needn't dont doesnt"
    " cant avoid without stop stopped stopping neither nor refuse forbid forbids"
)
NO_LONGER = re.compile(
    r"\b(?:no longer|not any ?more|no more|no need to|not need to|(?:do|does|is|are) not|must not|should not|may not|can not)\b",
    re.IGNORECASE,
)
OPPOSITES = {
    **dict.fromkeys(_set("disable disables disabled off inactive false deactivated deactivate"), "enable"),
    **dict.fromkeys(_set("unsupported"), "support"),
    **dict.fromkeys(_set("forbidden prohibited banned disallowed impossible"), ""),
    **dict.fromkeys(_set("optional"), "requir"),
}
SAME = {
    **dict.fromkeys(_set("enable enables enabled active true activated activate yes"), "enable"),
    **dict.fromkeys(_set("need needs needed require requires required requirement"), "requir"),
    **dict.fromkeys(_set("supported support supports"), "support"),
    **dict.fromkeys(_set("max maximum"), "max"), **dict.fromkeys(_set("min minimum"), "min"),
    "db": "databas", "config": "configuration", "app": "application", "repo": "repository", "ms": "ms",
}  # fmt: skip
LIGHT = _set(
    "a an the our my your its their his her we i you they he she it this that these those there us them everyone"
    " everything everybody anybody somebody team project all just now currently always please still really actually"
    " finally again only ever usually generally sadly careful hey ok okay fine allowed permitted free feel may can"
    " could should must shall will would might do does did done being get gets got go goes going gone run runs running"
    " ran make makes made making keep keeps kept set sets put puts take takes taking taken anymore any-more longer"
    " then so also too well yet already today yesterday week last days recently sort thing things kind like"
    " settled settle standardised standardized standardise standardize agreed decided planned plan told know check checked think guess turns turned turn switch switched"
    " out up follow follows live lives lived lie lies sit sits reside resides belong belongs stand stands located"
    " stored hosted based one's more way heads by-the-way both each new newly old let's lets want wants"
    " raised lowered increased decreased reduced bumped listen listens happen happens replaced replaces replace superseded dropped moved moving move migrated migrate migrating changed change changing become came come comes"
    " about roughly around approximately some environment env i'm we're we've they're it's that's there's i've you're"
)
REFERRING = _set(
    "a an the our my your its their we i you they he she it this that these those there us them everyone everything"
    " everybody anybody somebody team project all one's ok okay fine allowed permitted done again"
)
ADDS = _set("also too additionally besides plus another")
CHANGES = re.compile(
    r"\b(?:moved|moving|raised|lowered|increased|decreased|reduced|bumped|switch(?:ed|ing)|migrat(?:ed|ing)|changed|replaced|became|handed|took over)\b",
    re.IGNORECASE,
)
EVENT = re.compile(
    r"(?:\w+,? ){0,2}(?:fix(?:ed)?|lost|found|debugged|investigated|noticed|reverted|refactored)\b", re.IGNORECASE
)
QUESTION = re.compile(
    r"\?|^(?:open|todo|question|idea|proposal)\b|\b(?:maybe|perhaps|whether|should we|not sure|to be decided|find out"
    r"|have to decide|need to decide|check if|wondering|considering|might)\b",
    re.IGNORECASE,
)  # fmt: skip
LIMITS = {
    **dict.fromkeys(_set("staging stage stg"), "staging"),
    **dict.fromkeys(_set("prod production live"), "production"),
    **dict.fromkeys(_set("dev development locally laptop localhost"), "development"),
    **dict.fromkeys(_set("sandbox"), "sandbox"), **dict.fromkeys(_set("canary"), "canary"),
    **dict.fromkeys(_set("qa uat"), "qa"), **dict.fromkeys(_set("preprod pre-production"), "preprod"),
}  # fmt: skip
INSTEAD = re.compile(
    r"(?:(?:,| and| but) (?:not|never|no more)|\b(?:instead of|rather than|replac(?:ed|es|ing)|dropped|drop|got rid of"
    r"|get rid of|abandoned|away from|(?:migrated|moved|switched)(?: \w+){0,3} from|(?:took|takes) over from"
    r"|stop(?:ped)? using|no more|no longer (?:uses?|using|runs?|running|deploys? to|depends?|on)"
    r"|(?:prefers?|preferred|choose|chose|picked) \S+ over))\s+"
    r"(?:use |using |on |the |a |an |from |as |into |in |to |with |[a-z]+ing )*(?P<old>`[^`]+`|[\w.+#/@-]*\w[+#]*)"
    # Only a name that ends here: in "instead of REST polling" it is the polling that is given up.
    r"(?=\s*(?:$|[.,;:!)]|\b(?:for|in|on|as|when|to|with|because|since|and|at|by)\b))",
    re.IGNORECASE,
)
REPLACED_BY = re.compile(
    r"(?P<old>`[^`]+`|[\w.+#/@-]*\w) (?:was |has been |is |got )?(?:replaced (?:by|with)|superseded by)\b",
    re.IGNORECASE,
)
IN_FAVOUR = re.compile(r"\bin favou?r of\b", re.IGNORECASE)
EMPTY = LIGHT | CONNECTIVES.keys() | NEGATIONS | _set("or and by it that this them those both")

TOKEN = re.compile(r"`[^`\s]*`|\"[^\"\s]*\"|[=:](?=\s|$)|w/|[\w.+#/@%*$~{}:-]*\w(?:'\w+)?[+#%/*]*|[<>]=?")
WORDS = re.compile(r"[\w-]+")
FILE = re.compile(r"\w\.\w{1,5}$")
NUMBER = re.compile(r"v?(?P<digits>\d[\d.,]*)(?P<unit>%|[a-z]{0,4})$")
NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
}
UNITS: dict[str, tuple[Type, float]] = {
    **dict.fromkeys(_set("ms millisecond milliseconds"), (Type.TIME, 0.001)),
    **dict.fromkeys(_set("s sec secs second seconds"), (Type.TIME, 1)),
    **dict.fromkeys(_set("m min mins minute minutes"), (Type.TIME, 60)),
    **dict.fromkeys(_set("h hr hrs hour hours"), (Type.TIME, 3600)),
    **dict.fromkeys(_set("d day days"), (Type.TIME, 86_400)),
    **dict.fromkeys(_set("week weeks"), (Type.TIME, 604_800)),
    **dict.fromkeys(_set("month months"), (Type.TIME, 2_592_000)),
    **dict.fromkeys(_set("year years"), (Type.TIME, 31_536_000)),
    **dict.fromkeys(_set("kb kib"), (Type.SIZE, 1)),
    **dict.fromkeys(_set("mb mib"), (Type.SIZE, 1e3)),
    **dict.fromkeys(_set("gb gib"), (Type.SIZE, 1e6)),
    **dict.fromkeys(_set("tb tib"), (Type.SIZE, 1e9)),
    **dict.fromkeys(_set("% percent"), (Type.SHARE, 1)),
}
FREQUENCIES = {
    adverb: UNITS[unit][1]
    for adverb, unit in zip(
        "hourly daily nightly weekly monthly yearly".split(), "hour day day week month year".split(), strict=True
    )
}
WEEK = "monday tuesday wednesday thursday friday saturday sunday".split()
DAYS = {form: day[:3] for day in WEEK for form in (day, f"{day}s")}
YEAR_MONTHS = "january february march april may june july august september october november december".split()
MONTHS = {form: month[:3] for month in YEAR_MONTHS for form in (month, month[:3])} | {"sept": "sep"}
AMBIGUOUS_MONTHS = _set("may mar march dec")
PLACES_IN_A_MONTH = _set("first second third fourth last")
ORDINAL = re.compile(r"\d{1,2}(?:st|nd|rd|th)?$")
ISO_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?$")
QUARTER = re.compile(r"q[1-4]$")
YEAR = re.compile(r"\d{4}$")
DEFINITE = re.compile(r"\bis (?:now )?(?:the|our)\b", re.IGNORECASE)
EXCEPTION = re.compile(r"\b(?:only|except|unless)\b", re.IGNORECASE)


def statements(text: str) -> tuple[Statement, ...]:
    """The claims of a note that are short enough to be compared; a question claims nothing."""
    if len(text) > LONGEST_TEXT:
        return ()
    sentences = [sentence for sentence in _sentences(text) if not QUESTION.search(sentence)]
    # At the end of another sentence, "Ticket: AV-12" is a reference.
    told = [sentence for at, sentence in enumerate(sentences) if at == 0 or not _setting(sentence)]
    return tuple(claim for sentence in told for claim in _claims(sentence))


def search_terms(claims: Iterable[Statement]) -> list[tuple[str, ...]]:
    """Groups of words; a contradicting note has all of one: what is given up, a topic, or two words of it."""
    groups: dict[tuple[str, ...], None] = {}
    for claim in claims:
        groups.update({(name,): None for name in claim.given_up})
        topic = [word for word in claim.words if word.type not in QUANTITIES and word.stem.isalnum()]
        opening = [word.text for word in topic if word.place == 0]
        told = list(dict.fromkeys(word.text for word in topic))[:MOST_TERMS]
        groups.update({pair: None for pair in combinations(told, 2)})
        groups.update({(word,): None for word in (opening if len(opening) == 1 else told if len(told) == 1 else [])})
    return list(groups)[:MOST_GROUPS]


def given_up(text: str) -> frozenset[str]:
    """What a text says is no longer so: Jest, in "Vitest, not Jest"."""
    named = (match["old"] for pattern in (INSTEAD, REPLACED_BY) for match in pattern.finditer(text))
    return frozenset(stem(name.strip("`")) for name in named if name.lower() not in EMPTY)


SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
EMPHASIS = re.compile(r"\*\*|__(?=\W|$)|(?<!\w)__")
ASIDE = re.compile(r"\([^()]*\)")
CLAUSE_END = re.compile(
    r",\s+|:\s+(?!\d)|\s+(?:because|so that|so|but|which|since|although|though|and then|and|that)\s+|\s+[–—-]+\s+",
    re.IGNORECASE,
)
INTRODUCTION = re.compile(r"(?:in|on|at|for|during|if|when|until|with|from)\b", re.IGNORECASE)
LONGEST_SENTENCE, MOST_COMMAS = 28, 2
"""Words, and commas: a longer sentence is no correction, and more commas make a list."""
SETTING = re.compile(r"(?P<key>(?:[^:=,]{1,60}: )?[^:=,]{1,40}?)\s*[:=]\s+(?P<value>(?:[^,:]|:(?! ))+)(?:,|$)")
LONGEST_KEY, LONGEST_VALUE = 3, 4
"""Words; a longer text behind a colon is a sentence under a heading."""
LOCAL = re.compile(
    r"^local\b|\b(?:in|my) local\b(?! time)"
    r"|\blocal (?:machine|setup|dev|development|env|environment|stack|server|database)\b",
    re.IGNORECASE,
)
PERSONS = _set("i we you they he she it")
SENTENCE_LIKE = frozenset(word for word, slot in CONNECTIVES.items() if slot in (Slot.IS, Slot.USE, Slot.MANY))


def _sentences(text: str) -> Iterator[str]:
    for part in SENTENCE_END.split(EMPHASIS.sub("", text).strip()):
        sentence = BULLET.sub("", part).strip().rstrip(".!;")
        is_short = len(sentence.split()) <= LONGEST_SENTENCE and sentence.count(", ") <= MOST_COMMAS
        if sentence and is_short and not sentence.endswith(":"):
            yield sentence


def _claims(sentence: str) -> Iterator[Statement]:
    old = given_up(sentence)
    lower = set(WORDS.findall(sentence.lower()))
    common = Statement(
        words=(),
        is_change=bool(CHANGES.search(sentence)),
        is_event=bool(EVENT.match(sentence)),
        adds=bool(lower & ADDS) or "as well" in sentence.lower(),
        limits=frozenset(LIMITS[word] for word in lower if word in LIMITS) | _local(sentence),
        given_up=old,
    )
    sentence = IN_FAVOUR.sub("with", sentence)
    rest = ASIDE.sub(" ", INSTEAD.sub(" ", sentence)) if not _setting(sentence) else sentence
    claims = [claim for claim in (_claim(clause, common) for clause in _clauses(rest)) if claim]
    return iter(claims or ([common] if old else []))


def _local(sentence: str) -> frozenset[str]:
    """A local database belongs to development; a local disk or a local time does not."""
    return frozenset({"development"}) if LOCAL.search(sentence) else frozenset()


def _clauses(sentence: str) -> list[str]:
    if _setting(sentence):
        return [sentence]
    if INTRODUCTION.match(sentence):
        return [sentence.replace(",", " ")]
    return CLAUSE_END.split(sentence)


def _setting(sentence: str) -> tuple[str, str] | None:
    """The two sides of a line such as "Package manager: pnpm"."""
    match = SETTING.match(sentence)
    if not match:
        return None
    key, value = match["key"].replace("(", " ").replace(")", " "), ASIDE.sub("", match["value"]).strip()
    named = key.rpartition(": ")[2].lower().split()
    words = value.lower().split()
    is_topic = 0 < len(named) <= LONGEST_KEY and not PERSONS & set(named)
    # Under a name for several things, a word is one of them; a number or a folder is what they have in common.
    is_topic = is_topic and (not is_plural(named[-1]) or bool(re.match(r"\d|[\w.]+/", value)))
    is_value = 0 < len(words) <= LONGEST_VALUE and not SENTENCE_LIKE & set(words)
    # Behind a heading, a command or a file in backticks is one of several.
    is_entry = value[:1] == value[-1:] == "`" and "`" not in key
    return (key, value) if is_topic and is_value and not is_entry else None


def is_plural(word: str) -> bool:
    """Whether a word looks like the name of several things."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "os"))


def _claim(clause: str, common: Statement) -> Statement | None:
    setting = _setting(clause)
    reader = _Reader()
    if setting:
        reader.read(setting[0])
        reader.read_value(setting[1])
    else:
        reader.read(clause)
    words = tuple(word for word in reader.words if not (common.is_change and word.slot is Slot.FROM))
    if not words or len(words) > MOST_WORDS:
        return None
    return replace(
        common,
        words=words,
        stems=frozenset(word.stem for word in words),
        given_up=common.given_up | {word.stem for word in reader.words if word not in words},
        is_negated=reader.negations % 2 == 1,
        is_setting=bool(setting),
        is_definite=bool(DEFINITE.search(clause)),
        is_exception=bool(EXCEPTION.search(clause)),
    )


class _Reader:
    """Puts the tokens of a clause into slots, from left to right."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.negations = 0
        self._slot, self._place = Slot.HEAD, 0
        self._is_setting = False

    def read(self, text: str) -> None:
        """Read a clause, in which connecting words open slots."""
        self._read(text, CONNECTIVES)

    def read_value(self, text: str) -> None:
        """Read what stands behind a colon: all of it is one value, but what it is for."""
        self._open(Slot.IS)
        self._is_setting = True
        self._read(text, PURPOSES)

    def _open(self, slot: Slot) -> None:
        self._slot, self._place = slot, self._place + 1

    def _read(self, text: str, connectives: Mapping[str, Slot]) -> None:
        tokens = TOKEN.findall(NO_LONGER.sub("not", text.replace("’", "'")))
        at = 0
        while at < len(tokens):
            following = [token.lower() for token in tokens[at + 1 : at + 3]]
            before = tokens[at - 1].lower() if at else ""
            at += 1 + self._token(tokens[at], before, following, connectives, is_first=at == 0)

    def _token(
        self, token: str, before: str, following: list[str], connectives: Mapping[str, Slot], *, is_first: bool
    ) -> int:
        """Read one token; return how many of the following belong to it."""
        low = token.lower()
        if low in NEGATIONS and (low != "no" or following):
            self.negations += 1
        elif low in OPPOSITES or low == "no":
            self.negations += 1
            self._add(OPPOSITES.get(low, "enable"), Type.WORD, token)
        elif low == "on" and _is_state(before, following):
            self._add("enable", Type.WORD, token)
        elif before in NUMBERED and low[0].isdigit():
            self._add(low, Type.NAME, token)
        elif quantity := _quantity(low, following):
            self._add(quantity.value, quantity.type, " ".join([token, *following[: quantity.following]]))
            return quantity.following
        elif low in AUXILIARIES and following and following[0].endswith(("ed", "been", "become", "gone")):
            pass
        elif low == "in" and before in RUNNING:
            self._open(Slot.MANY)
        elif low in connectives:
            if low in TELLING:
                self._add(SAME.get(low) or stem(low), Type.WORD, token)
            self._open(connectives[low])
        elif low in LIGHT:
            if (token != low and not is_first and low not in REFERRING) or self._is_value_alone(low, following):
                self._add(low, Type.NAME, token)
        elif low not in LIMITS and low not in CONNECTIVES:
            self._add(SAME.get(low) or stem(low.strip('`"')), _type(token, is_first=is_first), token)
        return 0

    def _is_value_alone(self, low: str, following: list[str]) -> bool:
        """Whether a common word is the name of a tool, as in "build with make" or "language: Go"."""
        is_alone = not (self.words and self.words[-1].place == self._place) and (
            not following or following[0] in CONNECTIVES
        )
        return is_alone and low not in REFERRING and (self._slot in NAMING or self._is_setting)

    def _add(self, stem: str, type: Type, text: str) -> None:
        if stem:
            self.words.append(Word(stem, type, self._slot, self._place, text))


def _is_state(before: str, following: list[str]) -> bool:
    """Whether "on" says that something is enabled, not where it is."""
    return not following or following[0] in {"by", "for", "in", "at"} or before in SWITCHED


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit, a day or a date, as one value."""

    value: str
    type: Type
    following: int = 0
    """How many of the following tokens belong to it."""


def _quantity(low: str, following: list[str]) -> Quantity | None:
    return _date(low, following) or _number(low, following)


def _date(low: str, following: list[str]) -> Quantity | None:
    after = following[0] if following else ""
    if low in FREQUENCIES:
        return Quantity(f"{FREQUENCIES[low]:g}", Type.TIME)
    if day := DAYS.get(low):
        return Quantity(day, Type.DATE)
    if low in PLACES_IN_A_MONTH and after in DAYS:
        return Quantity(f"{low} {DAYS[after]}", Type.DATE, 1)
    if ISO_DATE.match(low) or QUARTER.match(low):
        return Quantity(low, Type.DATE)
    if low in MONTHS and ORDINAL.match(after):
        return Quantity(f"{MONTHS[low]} {_digits(after)}", Type.DATE, 1)
    if ORDINAL.match(low) and after in MONTHS:
        has_year = len(following) > 1 and bool(YEAR.match(following[1]))
        return Quantity(f"{MONTHS[after]} {_digits(low)}", Type.DATE, 1 + has_year)
    return Quantity(MONTHS[low], Type.DATE) if low in MONTHS and low not in AMBIGUOUS_MONTHS else None


def _number(low: str, following: list[str]) -> Quantity | None:
    match = NUMBER.match(NUMBER_WORDS.get(low, low))
    if not match:
        return None
    digits, unit = match["digits"].replace(",", "").rstrip("."), match["unit"] or ""
    is_apart = not unit and bool(following) and following[0] in UNITS
    known = UNITS.get(following[0] if is_apart else unit)
    if known and digits.count(".") < 2:
        return Quantity(f"{float(digits) * known[1]:g}", known[0], int(is_apart))
    return Quantity(f"{digits}{unit}", Type.NUMBER)


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _type(token: str, *, is_first: bool) -> Type:
    plain = token.strip('`"')
    if ("/" in plain and plain == plain.lower()) or FILE.search(plain):
        return Type.PATH
    letters = plain[1:] if is_first else plain
    is_name = token[0] in '`"' or letters != letters.lower() or not plain.isalpha()
    return Type.NAME if is_name else Type.WORD


def stem(word: str) -> str:
    """A word without the endings that English puts on nouns and verbs."""
    word = word.lower()
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sl":
                word = word[:-1]
            break
    return word.rstrip("e") if len(word) > 3 else word
