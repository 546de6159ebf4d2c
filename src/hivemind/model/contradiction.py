"""Whether two notes cannot both hold, judged by their words alone.

Statements are compared slot by slot. Two of them conflict if they say the same with opposite polarity, if one gives up
what the other still uses, or if all their words agree except the value of one slot that has room for one value only.
Notes that merely speak of the same thing do not conflict.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hivemind.model.grammar import Slot, is_plural, words
from hivemind.model.quantities import QUANTITIES, Type
from hivemind.model.statements import Statement, Word, statements
from hivemind.model.values import normalised

PLACES = frozenset({Slot.IN, Slot.ON, Slot.TO})
TOOLS = frozenset({Slot.USE, Slot.BY, Slot.ON})
ONE_VALUE = PLACES | TOOLS | {Slot.IS, Slot.AS, Slot.FROM}

SEVERAL = words("support availabl possibl includ hav has depend accept provid expos publish contain offer")
"""Stems of what a thing may do or have more than once."""
OWNERS = words("own lead maintain approv responsibl")
"""Stems of what one person or team does for a thing."""
PLACING = words("put stor sav writ document deploy send sent point escalat default report implement serv")
"""Stems of verbs that say where one thing is or goes."""
ATTRIBUTES = words(
    "algorithm branch broker bundler cach client color colour currency databas day default editor encod engin font"
    " format formatter framework host key languag level library licens limit linter local log maintainer manager mod"
    " nam orm owner path policy port prefix provider queu region registry runner server siz strategy styl suffix target"
    " them timeout tool typ url version zon"
)
"""Stems of what a thing has exactly one of."""
HEADINGS = words(
    "build caveat chor doc docs exampl feat fix gotcha hint idea important known link note not open perf question"
    " refactor remember reviewer rul see skill styl supported test ticket tip todo warn"
)
"""Stems that open a line which is one of several, not the value of a setting."""
OPPOSITES = frozenset(
    frozenset(pair.split("/"))
    for pair in words(
        "manual/automatic manual/automat public/privat internal/external stateless/stateful strict/lenient"
        " shar/separat ascend/descend"
    )
)
OPPOSITE_PREFIXES = ("un", "in", "im", "non", "non-", "a")
MOST_OF_A_VALUE = 3
"""Words."""


class Conflict(NamedTuple):
    """Why two notes cannot both hold, and whether that is certain."""

    reason: str
    is_certain: bool = True


class Difference(NamedTuple):
    """What only one of two statements says, and the words they share."""

    newer: tuple[Word, ...]
    older: tuple[Word, ...]
    shared: frozenset[str]

    @property
    def sides(self) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        """Both values."""
        return self.newer, self.older

    @property
    def slots(self) -> frozenset[Slot]:
        """The slots in which the values stand."""
        return frozenset(word.slot for side in self.sides for word in side)

    @property
    def reason(self) -> str:
        """The two values, for people."""
        return " against ".join(" ".join(word.text for word in side) for side in self.sides)


def find_conflict(newer: str, older: str) -> Conflict | None:
    """Why two notes cannot both hold; nothing if they can."""
    return None if normalised(newer) == normalised(older) else compare(statements(newer), statements(older))


def compare(newer: Sequence[Statement], older: Sequence[Statement]) -> Conflict | None:
    """The first certain conflict between the statements of two notes, else the first possible one."""
    possible = None
    for statement in newer:
        for other in older:
            if statement.stems.isdisjoint(other.stems | other.given_up) and statement.given_up.isdisjoint(other.stems):
                continue
            conflict = _between(statement, other)
            if conflict and conflict.is_certain:
                return conflict
            possible = possible or conflict
    return possible


def _between(newer: Statement, older: Statement) -> Conflict | None:
    if newer.limits != older.limits or newer.is_event or older.is_event:
        return None
    if conflict := _given_up(newer, older) or _given_up(older, newer):
        return conflict
    if newer.is_negated != older.is_negated:
        return _opposite(newer, older)
    difference = _difference(newer, older)
    return _other_value(newer, older, difference) if difference else None


def _opposite(newer: Statement, older: Statement) -> Conflict | None:
    """The newer says the opposite of the same, or of something wider; of something narrower it is an exception."""
    if not newer.words or not newer.stems <= older.stems or newer.is_exception:
        return None
    extra = [word for word in older.words if word.stem not in newer.stems]
    if extra and (older.is_negated or any(word.slot in (Slot.HEAD, Slot.IS) for word in extra)):
        return None
    is_telling = any(word.type is not Type.NUMBER and len(word.stem) > 2 for word in newer.words)
    return Conflict("one says the opposite of the other") if is_telling else None


def _given_up(statement: Statement, other: Statement) -> Conflict | None:
    """One names as given up what the other still uses, for the same thing."""
    still = next((word for word in other.words if word.stem in statement.given_up), None)
    if still is None or other.is_negated or statement.given_up & other.given_up:
        return None
    is_mentioned = still.slot is Slot.FOR or len(other.inside(still.place)) > 2
    is_in_passing = still.place == 0 and still.type is Type.WORD and still not in (other.words[0], other.words[-1])
    has_slots = any(word.place for word in statement.words)
    about = {word.stem for word in statement.words if has_slots and word.slot in (Slot.HEAD, Slot.FOR, Slot.AS)}
    is_elsewhere = bool(about - statement.given_up) and not about & (other.stems - statement.given_up)
    return None if is_mentioned or is_in_passing or is_elsewhere else Conflict(f"one gives up {still.text}")


def _difference(newer: Statement, older: Statement) -> Difference | None:
    """What differs, if it is one stretch of words in one slot on each side."""
    a = tuple(word for word in newer.words if word.stem not in older.stems)
    b = tuple(word for word in older.words if word.stem not in newer.stems)
    shared = newer.stems & older.stems
    is_one_slot = len({word.place for word in a}) == len({word.place for word in b}) == 1
    return Difference(a, b, shared) if shared and is_one_slot else None


def _other_value(newer: Statement, older: Statement, difference: Difference) -> Conflict | None:
    """All words agree but a value."""
    a, b = difference.newer[0], difference.older[0]
    lengths = {len(side) for side in difference.sides}
    if newer.is_addition or older.is_addition or Type.INSTANCE in (a.type, b.type):
        return None
    # "Task 3" and "task 4" are two tasks; "node 18 in CI" has a version.
    is_count = a.type is Type.NUMBER and a.slot is Slot.HEAD and len(difference.shared) == 1
    if lengths == {1} and not is_count and (_are_quantities(a, b) or _differ_in_number(a.stem, b.stem)):
        return Conflict(difference.reason)
    if max(lengths) > MOST_OF_A_VALUE or difference.shared & SEVERAL:
        return None
    if {a.type, b.type} & QUANTITIES and difference.slots != {Slot.IS}:
        return None
    if difference.slots == {Slot.HEAD}:
        return _other_head(newer, older, difference)
    is_about_the_same = any(word.stem in difference.shared and word.place != a.place for word in newer.words)
    if not is_about_the_same or not difference.slots <= ONE_VALUE or all(map(_is_phrase, difference.sides)):
        return None
    return _other_in_slot(newer, older, difference)


def _other_head(newer: Statement, older: Statement, difference: Difference) -> Conflict | None:
    """Somebody else owns it, another tool is for it, or another value is the default."""
    a, b = difference.sides
    is_opening = newer.words[0] is a[0] and older.words[0] is b[0]
    is_whole = _is_whole(newer, older, difference)
    is_short = len(a) == len(b) == 1 or (_is_name(a) and _is_name(b))
    behind = {word.slot for word in (*newer.words, *older.words) if word.place}
    is_certain = (
        (is_opening and bool(difference.shared & OWNERS))
        or (is_whole and is_short and behind == {Slot.FOR})
        or (is_whole and newer.is_definite and older.is_definite)
        or (is_short and "default" in difference.shared and len(difference.shared) > 1)
    )
    return Conflict(difference.reason) if is_certain else None


def _other_in_slot(newer: Statement, older: Statement, difference: Difference) -> Conflict | None:
    conflict, slots = Conflict(difference.reason), difference.slots
    if newer.is_change != older.is_change:
        return conflict
    if slots == {Slot.IS}:
        return conflict if _is_other_attribute(newer, older, difference) else None
    if slots == {Slot.USE}:
        return _other_tool(newer, difference)
    if slots <= PLACES:
        return conflict if _is_other_place(newer, older, difference) else None
    if Slot.IS in slots:
        return conflict if slots - {Slot.IS} <= TOOLS and difference.shared & ATTRIBUTES else None
    return conflict if len(slots) == 1 or slots <= TOOLS else None


def _other_tool(newer: Statement, difference: Difference) -> Conflict | None:
    """Another tool for the same purpose or process; a service may use several."""
    shared = [word for word in newer.words if word.stem in difference.shared]
    is_for_the_same = any(word.slot is Slot.FOR for word in shared)
    processes = [word.text for word in shared if word.slot is Slot.HEAD]
    if not is_for_the_same and not processes:
        return None
    return Conflict(difference.reason, is_certain=is_for_the_same or _is_process(processes[-1]))


def _is_other_place(newer: Statement, older: Statement, difference: Difference) -> bool:
    if Type.PATH in {word.type for side in difference.sides for word in side}:
        return True
    says_where = any(word.slot is Slot.IS or word.stem in PLACING for word in newer.words)
    is_bare = len(newer.inside(0)) == 1
    is_named = all(map(_is_name, difference.sides))
    return _is_whole(newer, older, difference) and (says_where or is_bare or is_named)


def _is_other_attribute(newer: Statement, older: Statement, difference: Difference) -> bool:
    a, b = difference.sides
    topic = [word.stem for word in newer.inside(0)]
    are_lists = all(
        is_plural(side[-1].text) and side[-1].type is Type.WORD and side[0].type not in QUANTITIES for side in (a, b)
    )
    if not topic or (newer.is_setting and topic[0] in HEADINGS) or (are_lists and max(len(a), len(b)) > 1):
        return False
    is_whole = _is_whole(newer, older, difference)
    has_phrase = any(map(_is_phrase, difference.sides))
    if (newer.is_setting and is_whole and not has_phrase) or all(map(_is_name, difference.sides)):
        return True
    if len(a) == len(b) == 1 and _are_opposite(a[0].stem, b[0].stem):
        return True
    return bool(ATTRIBUTES & set(topic)) and is_whole


def _are_quantities(a: Word, b: Word) -> bool:
    """Two numbers of one sort; or two answers to how often, such as "every Friday" and "every two weeks"."""
    if a.type in QUANTITIES and a.type is b.type:
        return True
    return a.slot is b.slot is Slot.WHEN and {a.type, b.type} == {Type.TIME, Type.DATE}


def _differ_in_number(a: str, b: str) -> bool:
    """Two names that are the same but for their digits, such as ES2019 and ES2022."""
    letters = ["".join(letter for letter in stem if letter not in "0123456789.") for stem in (a, b)]
    return letters[0] == letters[1] != ""


def _are_opposite(a: str, b: str) -> bool:
    shorter, longer = sorted((a, b), key=len)
    return frozenset((a, b)) in OPPOSITES or longer in {f"{prefix}{shorter}" for prefix in OPPOSITE_PREFIXES}


def _is_whole(newer: Statement, older: Statement, difference: Difference) -> bool:
    """Whether nothing in the slot is shared: in "unit tests" against "end-to-end tests", something is."""
    sides = zip((newer, older), difference.sides, strict=True)
    return all(len(statement.inside(side[0].place)) == len(side) for statement, side in sides)


def _is_process(word: str) -> bool:
    """Whether a word looks like something that is done, and done in one way: deploys, testing, authentication."""
    return is_plural(word) or word.endswith(("ing", "tion", "ment"))


def _is_phrase(side: Sequence[Word]) -> bool:
    """Whether this is a description in common words; a value has a name."""
    return len(side) > 1 and not _is_name(side)


def _is_name(side: Sequence[Word]) -> bool:
    return any(word.type is not Type.WORD for word in side)
