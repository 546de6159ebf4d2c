"""Detect whether two notes contradict each other, by their words alone.

Statements are compared slot by slot. Two of them conflict if they say the same with opposite polarity, if one gives up
what the other still uses, or if all their words agree except the value of one slot that can have only one value.
Notes that merely have the same topic do not conflict.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hivemind.text.grammar import Slot, is_plural, word_set
from hivemind.text.quantities import QUANTITIES, Type
from hivemind.text.statements import Statement, Word

PLACES = frozenset({Slot.IN, Slot.ON, Slot.TO})
TOOLS = frozenset({Slot.USE, Slot.BY, Slot.ON})
ONE_VALUE = PLACES | TOOLS | {Slot.IS, Slot.AS, Slot.FROM}

SEVERAL = word_set("support availabl possibl includ hav has depend accept provid expos publish contain offer")
"""Stems of verbs that allow several values: a service may support or contain many things."""
OWNERS = word_set("own lead maintain approv responsibl")
"""Stems of what only one person or team does for a thing."""
PLACING = word_set("put stor sav writ document deploy send sent point escalat default report implement serv")
"""Stems of verbs that say where a thing is or goes."""
ATTRIBUTES = word_set(
    "algorithm branch broker bundler cach client color colour currency databas day default editor encod engin font"
    " format formatter framework host key languag level library licens limit linter local log maintainer manager mod"
    " nam orm owner path policy port prefix provider queu region registry runner server siz strategy styl suffix target"
    " them timeout tool typ url version zon"
)
"""Stems of what a thing has exactly one of."""
HEADINGS = word_set(
    "build caveat chor doc docs exampl feat fix gotcha hint idea important known link note not open perf question"
    " refactor remember reviewer rul see skill styl supported test ticket tip todo warn"
)
"""Stems that begin a line of a list, such as "note" or "todo"; what follows is not the value of a setting."""
OPPOSITES = frozenset(
    frozenset(pair.split("/"))
    for pair in word_set(
        "manual/automatic manual/automat public/privat internal/external stateless/stateful strict/lenient"
        " shar/separat ascend/descend"
    )
)
OPPOSITE_PREFIXES = ("un", "in", "im", "non", "non-", "a")
MAX_VALUE_WORDS = 3
"""Words; a longer difference is a description, not a value."""


class Conflict(NamedTuple):
    """Two notes contradict each other, certainly or possibly."""

    is_certain: bool = True


class Difference(NamedTuple):
    """The words that only one of two statements has, and the stems they share."""

    newer: tuple[Word, ...]
    older: tuple[Word, ...]
    shared_stems: frozenset[str]

    @property
    def sides(self) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        """The words of both statements, the newer first."""
        return self.newer, self.older

    @property
    def slots(self) -> frozenset[Slot]:
        """The slots of the differing words."""
        return frozenset(word.slot for side in self.sides for word in side)


def find_statement_conflict(newer: Sequence[Statement], older: Sequence[Statement]) -> Conflict | None:
    """The first certain conflict between the statements of two notes, else the first possible one."""
    possible = None
    for statement in newer:
        for other in older:
            # Statements without a common word cannot conflict.
            if statement.stems.isdisjoint(other.stems | other.given_up) and statement.given_up.isdisjoint(other.stems):
                continue
            conflict = _compare_statements(statement, other)
            if conflict and conflict.is_certain:
                return conflict
            possible = possible or conflict
    return possible


def _compare_statements(newer: Statement, older: Statement) -> Conflict | None:
    # A value in staging may differ from production, and a one-time event contradicts nothing.
    if newer.limits != older.limits or newer.is_event or older.is_event:
        return None
    if conflict := _find_given_up(newer, older) or _find_given_up(older, newer):
        return conflict
    if newer.is_negated != older.is_negated:
        return _find_opposite(newer, older)
    difference = _find_difference(newer, older)
    return _find_other_value(newer, older, difference) if difference else None


def _find_opposite(newer: Statement, older: Statement) -> Conflict | None:
    """A conflict if the newer negates the older or something more general; a narrower negation is an exception."""
    if not newer.words or not newer.stems <= older.stems or newer.is_exception:
        return None
    extra = [word for word in older.words if word.stem not in newer.stems]
    if extra and (older.is_negated or any(word.slot in (Slot.HEAD, Slot.IS) for word in extra)):
        return None
    # A number or a word of two letters alone is too little evidence.
    is_telling = any(word.type is not Type.NUMBER and len(word.stem) > 2 for word in newer.words)
    return Conflict() if is_telling else None


def _find_given_up(statement: Statement, other: Statement) -> Conflict | None:
    """A conflict if one statement gives up what the other still uses for the same thing."""
    match = next((word for word in other.words if word.stem in statement.given_up), None)
    if match is None or other.is_negated or statement.given_up & other.given_up:
        return None
    # Not a conflict if the other only mentions the name, in a purpose, a longer phrase or in passing.
    is_mentioned = match.slot is Slot.FOR or len(other.inside(match.place)) > 2
    is_in_passing = match.place == 0 and match.type is Type.WORD and match not in (other.words[0], other.words[-1])
    has_slots = any(word.place for word in statement.words)
    topic = {word.stem for word in statement.words if has_slots and word.slot in (Slot.HEAD, Slot.FOR, Slot.AS)}
    # Nor if the two are about different topics.
    is_elsewhere = bool(topic - statement.given_up) and not topic & (other.stems - statement.given_up)
    return None if is_mentioned or is_in_passing or is_elsewhere else Conflict()


def _find_difference(newer: Statement, older: Statement) -> Difference | None:
    """The difference, if it lies within one slot of each statement."""
    newer_words = tuple(word for word in newer.words if word.stem not in older.stems)
    older_words = tuple(word for word in older.words if word.stem not in newer.stems)
    shared_stems = newer.stems & older.stems
    is_one_slot = len({word.place for word in newer_words}) == len({word.place for word in older_words}) == 1
    return Difference(newer_words, older_words, shared_stems) if shared_stems and is_one_slot else None


def _find_other_value(newer: Statement, older: Statement, difference: Difference) -> Conflict | None:
    """A conflict if all words agree except one value."""
    a, b = difference.newer[0], difference.older[0]
    lengths = {len(side) for side in difference.sides}
    if newer.is_addition or older.is_addition or Type.INSTANCE in (a.type, b.type):
        return None
    # "Task 3" and "task 4" are two tasks, but in "node 18 in CI" the number is a version.
    is_count = a.type is Type.NUMBER and a.slot is Slot.HEAD and len(difference.shared_stems) == 1
    if lengths == {1} and not is_count and (_are_quantities(a, b) or _differ_in_number(a.stem, b.stem)):
        return Conflict()
    if max(lengths) > MAX_VALUE_WORDS or difference.shared_stems & SEVERAL:
        return None
    if {a.type, b.type} & QUANTITIES and difference.slots != {Slot.IS}:
        return None
    if difference.slots == {Slot.HEAD}:
        return _find_other_head(newer, older, difference)
    is_about_the_same = any(word.stem in difference.shared_stems and word.place != a.place for word in newer.words)
    if not is_about_the_same or not difference.slots <= ONE_VALUE or all(map(_is_phrase, difference.sides)):
        return None
    return _find_other_in_slot(newer, older, difference)


def _find_other_head(newer: Statement, older: Statement, difference: Difference) -> Conflict | None:
    """A conflict if the heads name another owner, another tool for the same purpose, or another default."""
    a, b = difference.sides
    is_opening = newer.words[0] is a[0] and older.words[0] is b[0]
    is_whole = _is_whole(newer, older, difference)
    is_short = len(a) == len(b) == 1 or (_is_name(a) and _is_name(b))
    behind = {word.slot for word in (*newer.words, *older.words) if word.place}
    is_certain = (
        (is_opening and bool(difference.shared_stems & OWNERS))
        or (is_whole and is_short and behind == {Slot.FOR})
        or (is_whole and newer.is_definite and older.is_definite)
        or (is_short and "default" in difference.shared_stems and len(difference.shared_stems) > 1)
    )
    return Conflict() if is_certain else None


def _find_other_in_slot(newer: Statement, older: Statement, difference: Difference) -> Conflict | None:
    conflict, slots = Conflict(), difference.slots
    # "Moved to X" replaces whatever the other names, so no further evidence is needed.
    if newer.is_change != older.is_change:
        return conflict
    if slots == {Slot.IS}:
        return conflict if _is_other_attribute(newer, older, difference) else None
    if slots == {Slot.USE}:
        return _find_other_tool(newer, difference)
    if slots <= PLACES:
        return conflict if _is_other_place(newer, older, difference) else None
    if Slot.IS in slots:
        return conflict if slots - {Slot.IS} <= TOOLS and difference.shared_stems & ATTRIBUTES else None
    return conflict if len(slots) == 1 or slots <= TOOLS else None


def _find_other_tool(newer: Statement, difference: Difference) -> Conflict | None:
    """A conflict if another tool is used for the same purpose or process; a service may use several tools."""
    shared_words = [word for word in newer.words if word.stem in difference.shared_stems]
    is_for_the_same = any(word.slot is Slot.FOR for word in shared_words)
    processes = [word.text for word in shared_words if word.slot is Slot.HEAD]
    if not is_for_the_same and not processes:
        return None
    return Conflict(is_certain=is_for_the_same or _is_process(processes[-1]))


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
    # Two plurals in common words may both be true, as members of one list.
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
    """Whether both are numbers of one type, or both say how often, such as "every Friday" and "every two weeks"."""
    if a.type in QUANTITIES and a.type is b.type:
        return True
    return a.slot is b.slot is Slot.WHEN and {a.type, b.type} == {Type.TIME, Type.DATE}


def _differ_in_number(a: str, b: str) -> bool:
    """Whether two names differ only in their digits, such as ES2019 and ES2022."""
    letters = ["".join(letter for letter in stem if letter not in "0123456789.") for stem in (a, b)]
    return letters[0] == letters[1] != ""


def _are_opposite(a: str, b: str) -> bool:
    shorter, longer = sorted((a, b), key=len)
    return frozenset((a, b)) in OPPOSITES or longer in {f"{prefix}{shorter}" for prefix in OPPOSITE_PREFIXES}


def _is_whole(newer: Statement, older: Statement, difference: Difference) -> bool:
    """Whether the slots share no word; "unit tests" and "end-to-end tests" share one."""
    sides = zip((newer, older), difference.sides, strict=True)
    return all(len(statement.inside(side[0].place)) == len(side) for statement, side in sides)


def _is_process(word: str) -> bool:
    """Whether a word looks like a process, which is usually done in one way: deploys, testing, authentication."""
    return is_plural(word) or word.endswith(("ing", "tion", "ment"))


def _is_phrase(side: Sequence[Word]) -> bool:
    """Whether the words are a description in common words; a value contains a name."""
    return len(side) > 1 and not _is_name(side)


def _is_name(side: Sequence[Word]) -> bool:
    return any(word.type is not Type.WORD for word in side)
