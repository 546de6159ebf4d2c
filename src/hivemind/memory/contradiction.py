"""Decide whether two notes contradict each other, by their words alone.

Two statements are aligned word by word. They conflict if they say the same with opposite polarity, if one gives up what
the other still uses, or if they agree except in one value: another amount for certain, other words if the learned
weights say so. If both have further words that the other lacks, they are about different things.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hivemind.memory.grammar import ENABLED, QUANTITIES, Slot, Type, is_plural, word_set
from hivemind.memory.statements import Statement, Word
from hivemind.text.thesaurus import find_concepts

SEVERAL = word_set("support availabl possibl includ hav has depend accept provid expos publish contain offer")
"""Stems of verbs that allow several values: a service may support or contain many things."""
SEVERAL_SLOTS = frozenset({Slot.MANY, Slot.FOR, Slot.WHEN})
DESCRIBING = ("ed", "ing", "able", "ible", "ous", "ive", "y")
"""Endings of words that describe a thing; several descriptions may be true."""

LONGEST_VALUE, MOST_OTHER_WORDS = 3, 1
"""Words; a longer difference is a description, and more words beside the value make another topic."""

BIAS = 1.68
WEIGHTS = {
    "longer values": -1.03,
    "names": 0.25,
    "amount and words": -0.94,
    "in the topic": -2.97,
    "slot for several": -3.09,
    "other words and slot": -1.75,
    "same concept": 0.92,
    "description": -1.41,
    "purpose": 1.19,
    "plural": -1.61,
}
"""Logistic regression over the tuning pairs of ``lab/yardstick/cases/contradiction/pairs.jsonl`` and 1,500 unrelated
pairs; ``python -m lab.evals.contradiction`` fits them again."""
POSSIBLE, CERTAIN = 1.5, 1.9
"""Scores; by cross-validation 3 % of look-alikes reach the first, and half as many the second."""


class Conflict(NamedTuple):
    """Two notes contradict each other, certainly or possibly."""

    is_certain: bool = True


class Difference(NamedTuple):
    """The one value in which two statements differ."""

    values: tuple[tuple[Word, ...], tuple[Word, ...]]
    """The differing words within one slot of each statement, the newer first; neither is empty."""
    other_words: int
    """Words beside the value that only one of the statements has."""
    shared: tuple[Word, ...]

    @property
    def pair(self) -> tuple[Word, Word]:
        """The word of each value that is compared: a quantity, else the last."""
        return _choose_pair(*self.values)


def find_statement_conflict(newer: Sequence[Statement], older: Sequence[Statement]) -> Conflict | None:
    """The first certain conflict between the statements of two notes, else the first possible one."""
    possible = None
    for statement in newer:
        for other in older:
            # Statements without a common word cannot conflict.
            if statement.stems.isdisjoint(other.stems | other.given_up) and statement.given_up.isdisjoint(other.stems):
                continue
            if _uses_replacement(statement, older) or _uses_replacement(other, newer):
                continue
            comparison = compare_statements(statement, other)
            conflict = _weigh(comparison) if isinstance(comparison, Difference) else comparison
            if conflict and conflict.is_certain:
                return conflict
            possible = possible or conflict
    return possible


def _uses_replacement(statement: Statement, others: Sequence[Statement]) -> bool:
    """Whether a note also uses what a statement takes in place of something: "pnpm, not npm", "after npm, run pnpm"."""
    kept = {word.stem for word in statement.words if word.slot is Slot.USE} if statement.given_up else set()
    return bool(kept) and any(kept <= other.stems for other in others)


def compare_statements(newer: Statement, older: Statement) -> Conflict | Difference | None:
    """A certain conflict, a difference in words that have to be weighed, or none if both can be true."""
    # A value in staging may differ from production, and a one-time event contradicts nothing.
    if newer.limits != older.limits or newer.is_event or older.is_event:
        return None
    if _gives_up(newer, older) or _gives_up(older, newer):
        return Conflict()
    shared, newer_words, older_words = _align(newer.words, older.words)
    if newer.is_negated != older.is_negated:
        is_opposite = _is_opposite(newer, older, shared, newer_words, older_words)
        return Conflict() if is_opposite else None
    if newer.is_addition or older.is_addition:
        return None
    difference = _find_difference(shared, newer_words, older_words)
    return _compare_values(newer, difference) if difference else None


def _align(newer: Sequence[Word], older: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[Word, ...], tuple[Word, ...]]:
    """The words of the newer statement that both have, and the words that only the newer or only the older has."""
    rest, shared, newer_only = list(older), list[Word](), list[Word]()
    for word in newer:
        match = next((other for other in rest if other.stem == word.stem), None)
        (shared if match else newer_only).append(word)
        if match:
            rest.remove(match)
    return tuple(shared), tuple(newer_only), tuple(rest)


def _gives_up(statement: Statement, other: Statement) -> bool:
    """Whether one statement gives up what the other still uses for the same thing."""
    if other.stems.isdisjoint(statement.given_up) or other.is_negated or statement.given_up & other.given_up:
        return False
    has_slots = any(word.place for word in statement.words)
    topic = {word.stem for word in statement.words if has_slots and word.slot in (Slot.HEAD, Slot.FOR, Slot.AS)}
    # Not a conflict if the two are about different topics.
    return not topic - statement.given_up or bool(topic & (other.stems - statement.given_up))


def _is_opposite(
    newer: Statement, older: Statement, shared: Sequence[Word], newer_words: Sequence[Word], older_words: Sequence[Word]
) -> bool:
    """Whether the newer negates the older or something more general; a narrower negation is an exception."""
    is_narrower = any(word.stem != ENABLED for word in newer_words) or newer.is_exception
    # A number or a word of two letters alone is too little evidence.
    is_telling = any(word.type is not Type.NUMBER and len(word.stem) > 2 for word in shared)
    is_about_more = len(older_words) > len(shared) or (bool(older_words) and older.is_negated)
    return is_telling and not is_narrower and not is_about_more


def _find_difference(
    shared: tuple[Word, ...], newer_words: Sequence[Word], older_words: Sequence[Word]
) -> Difference | None:
    """The difference, if it is one value; if both have other words beside it, they are about different things."""
    if not newer_words or not older_words:
        return None
    pair = _choose_pair(newer_words, older_words)
    sides = tuple(zip((newer_words, older_words), pair, strict=True))
    newer_value, older_value = (tuple(word for word in words if word.place == chosen.place) for words, chosen in sides)
    newer_rest, older_rest = len(newer_words) - len(newer_value), len(older_words) - len(older_value)
    if newer_rest and older_rest:
        return None
    return Difference((newer_value, older_value), newer_rest + older_rest, shared)


def _choose_pair(newer_words: Sequence[Word], older_words: Sequence[Word]) -> tuple[Word, Word]:
    """The first two quantities of one type, else the last word of each: values come after their topic."""
    pairs = ((word, other) for word in newer_words for other in older_words)
    return next((pair for pair in pairs if _are_amounts(*pair)), (newer_words[-1], older_words[-1]))


def _are_amounts(word: Word, other: Word) -> bool:
    """Whether both are numbers of one type, or both say how often, such as "every Friday" and "every two weeks"."""
    if word.type in QUANTITIES and word.type is other.type:
        return True
    return word.slot is other.slot is Slot.WHEN and {word.type, other.type} == {Type.TIME, Type.DATE}


def _compare_values(newer: Statement, difference: Difference) -> Conflict | Difference | None:
    a, b = difference.pair
    lengths = [len(value) for value in difference.values]
    if Type.INSTANCE in (a.type, b.type):
        return None
    if _are_amounts(a, b) or (max(lengths) == 1 and _differ_in_number(a.stem, b.stem)):
        # "Task 3" and "task 4" are two tasks, but in "node 18 in CI" the number is a version.
        is_name = a.type is Type.NUMBER and a.slot is Slot.HEAD and len(difference.shared) == 1 and not newer.limits
        is_topic = min(lengths) > 1 or max(lengths) + difference.other_words > 2
        return None if is_name or is_topic or difference.other_words > len(difference.shared) else Conflict()
    is_long = max(lengths) > LONGEST_VALUE or difference.other_words > MOST_OTHER_WORDS
    # What they have in common must be the topic, not a part of the value, unless that is a name: "Ubuntu Noble".
    is_about_the_same = a.slot is Slot.HEAD or any(
        word.place != a.place or word.type is Type.NAME for word in difference.shared
    )
    allows_several = any(word.stem in SEVERAL for word in difference.shared)
    return difference if is_about_the_same and not is_long and not allows_several else None


def _weigh(difference: Difference) -> Conflict | None:
    evidence = measure_evidence(difference)
    score = BIAS + sum(WEIGHTS[name] * value for name, value in evidence.items())
    # A service may use several tools, unless they are for the same purpose.
    is_tool = difference.pair[0].slot is Slot.USE and not evidence["purpose"]
    return Conflict(is_certain=score >= CERTAIN and not is_tool) if score >= POSSIBLE else None


def measure_evidence(difference: Difference) -> dict[str, float]:
    """What speaks for or against a conflict in the differing words, by the names of the weights."""
    (a, b), values = difference.pair, difference.values
    return {
        "longer values": min(map(len, values)) - 1,
        "names": sum(any(word.type is Type.NAME for word in value) for value in values) / 2,
        "amount and words": (a.type in QUANTITIES) != (b.type in QUANTITIES),
        "in the topic": ((a.slot is Slot.HEAD) + (b.slot is Slot.HEAD)) / 2,
        "slot for several": ((a.slot in SEVERAL_SLOTS) + (b.slot in SEVERAL_SLOTS)) / 2,
        "other words and slot": difference.other_words > 0 and a.slot is not b.slot,
        "same concept": not _find_concepts(values[0]).isdisjoint(_find_concepts(values[1])),
        "description": any(word.type is Type.WORD and word.text.endswith(DESCRIBING) for word in (a, b)),
        "purpose": any(word.slot is Slot.FOR for word in difference.shared),
        "plural": sum(word.type is Type.WORD and is_plural(word.text) for word in (a, b)) / 2,
    }


def _find_concepts(words: Sequence[Word]) -> set[str]:
    return set(find_concepts(" ".join(word.text for word in words)))


def _differ_in_number(a: str, b: str) -> bool:
    """Whether two names differ only in their digits, such as ES2019 and ES2022."""
    letters = ["".join(letter for letter in stem if letter not in "0123456789.") for stem in (a, b)]
    return letters[0] == letters[1] != ""
