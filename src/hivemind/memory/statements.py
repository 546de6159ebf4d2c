"""Parse a short note into statements: words in slots, polarity, and the environments each statement is limited to.

This is not a grammar of English: connecting words such as "is", "uses", "with" and "for" begin slots, and the words
after them go into these. Patterns are strings, compiled when first used: that takes three milliseconds, and most
commands compare nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hivemind.memory import grammar
from hivemind.memory.grammar import QUANTITIES, Slot, Type, is_plural, parse_quantity, stem

LONGEST_TEXT, MOST_SENTENCES = 400, 3
"""Characters, and sentences; a longer note is a list or a report."""
LONGEST_SENTENCE, MOST_COMMAS, MOST_WORDS = 28, 2, 14
"""Words, commas, and content words of a clause. People correct themselves in short sentences; more commas make a
list, and long clauses that share words usually only share a topic."""
LONGEST_KEY, LONGEST_VALUE, SHORTEST_KEY = 3, 4, 2
"""Words of a setting, and letters; longer text after a colon is a sentence under a heading, and "Q" is no topic."""
DEPENDENT_SLOTS = (Slot.WHEN, Slot.TO, Slot.FOR, Slot.AS)
"""Of a connecting word with which a clause begins that only limits the one before it, or gives its reason."""
MOST_VALUES, MOST_VALUES_OF_HEAD, MOST_GROUPS = 2, 4, 40
"""Values of a statement, and groups of its words, that are searched for."""

QUESTION_MARK = r"\?(?:\s|$)"
SENTENCE_END = r"(?<=[.!?;])\s+|\n+"
CLAUSE_END = (
    r"(?i),\s+|:\s+(?!\d)|\s+(?:because|so that|so|but|which|since|although|though|and then|and|that)\s+|\s+[–—-]+\s+"
)
ASIDE = r"\([^()]*\)"
SETTING = r"(?P<key>(?:[^:=,]{1,60}: )?[^:=,]{1,40}?)\s*[:=]\s+(?P<value>(?:[^,:]|:(?! ))+)(?:,|$)"
AMOUNT_OR_FOLDER = r"\d|[\w.]+/"
TOKEN = r"`[^`\s]*`|\"[^\"\s]*\"|[=:](?=\s|$)|w/|[\w.+#/@%*$~{}:-]*\w(?:'\w+)?[+#%/*]*|[<>]=?"


# Named tuples, because creating a frozen dataclass adds a millisecond to every start of the program.
class Word(NamedTuple):
    """A content word: its stem, its type, and its slot."""

    stem: str
    type: Type
    slot: Slot
    place: int
    """The number of the slot, counted from the left."""
    text: str


class Statement(NamedTuple):
    """One claim of a note."""

    words: tuple[Word, ...] = ()
    stems: frozenset[str] = frozenset()
    given_up: frozenset[str] = frozenset()
    """What it says is no longer used: Jest, in "Vitest, not Jest"."""
    limits: frozenset[str] = frozenset()
    """The environments it is limited to."""
    is_negated: bool = False
    is_event: bool = False
    is_exception: bool = False
    is_addition: bool = False
    """It names one more of several: "also", "too"."""


def parse_statements(text: str) -> tuple[Statement, ...]:
    """The claims of a note that are short enough to compare; none for a note with a question.

    The answer means nothing without its question, as in "Q: Which port? A: 8080".
    """
    if len(text) > LONGEST_TEXT or re.search(QUESTION_MARK, text):
        return ()
    sentences = [sentence for sentence in _split_sentences(text) if not _is_question(sentence)]
    if len(sentences) > MOST_SENTENCES:
        return ()
    # A setting must be the whole note: after a sentence "Ticket: AV-12" is a reference, before one it is a heading.
    claims = [sentence for sentence in sentences if len(sentences) == 1 or not _parse_setting(sentence)]
    return tuple(statement for sentence in claims for statement in _parse_sentence(sentence))


def search_terms(claims: Iterable[Statement]) -> list[tuple[str, ...]]:
    """Groups of words to search for; a contradicting note has all words of at least one group."""
    groups = (group for claim in claims for group in (*_find_agreeing_groups(claim), *_find_giving_up_groups(claim)))
    return list(dict.fromkeys(group for group in groups if group))[:MOST_GROUPS]


def _find_agreeing_groups(claim: Statement) -> Iterator[tuple[str, ...]]:
    """All words of a statement, and what is left if one slot or one of its first words has another value."""
    words = [word for word in claim.words if word.type not in QUANTITIES and word.text.lower() not in grammar.SWITCHES]
    yield tuple(word.text for word in words)
    for place in dict.fromkeys(word.place for word in words):
        yield tuple(word.text for word in words if word.place != place)
    for other in words[:MOST_VALUES_OF_HEAD]:
        yield tuple(word.text for word in words if word is not other)


def _find_giving_up_groups(claim: Statement) -> Iterator[tuple[str, ...]]:
    """What this statement gives up, and what it uses together with words by which another gives it up."""
    yield from ((name,) for name in claim.given_up)
    values = [word.text for word in claim.words if word.place and word.slot is not Slot.FOR] or [
        word.text for word in claim.words[:1]
    ]
    yield from ((value, word) for value in values[:MOST_VALUES] for word in grammar.GIVING_UP_TERMS)


def _split_sentences(text: str) -> Iterator[str]:
    for part in re.split(SENTENCE_END, text.replace("**", "").replace("’", "'")):
        sentence = part.strip().lstrip("-*•").strip().rstrip(".!;")
        is_short = len(sentence.split()) <= LONGEST_SENTENCE and sentence.count(", ") <= MOST_COMMAS
        if sentence and is_short and not sentence.endswith(":"):
            yield sentence


def _is_question(sentence: str) -> bool:
    return not grammar.ASKING.isdisjoint(_split_words(sentence))


def _parse_sentence(sentence: str) -> list[Statement]:
    words = _split_words(sentence)
    common = Statement(
        given_up=_find_given_up(sentence, words),
        limits=frozenset(grammar.LIMITS[word] for word in words if word in grammar.LIMITS),
        is_event=not grammar.EVENTS.isdisjoint(words[:3]),
        is_addition=not grammar.ADDING.isdisjoint(words) or "as well" in sentence.lower(),
    )
    if common.given_up:
        # What is given up must not be parsed as used.
        sentence = re.sub(grammar.GIVEN_UP, " ", sentence)
    claims = [statement for clause in _split_clauses(sentence) if (statement := _parse_clause(clause, common))]
    return claims or ([common] if common.given_up else [])


def _split_words(text: str) -> list[str]:
    """The words of a text in lower case, without punctuation."""
    return [word.strip(".,;:!?()`\"'") for word in text.lower().split()] or [""]


def _find_given_up(sentence: str, words: Sequence[str]) -> frozenset[str]:
    if grammar.GIVING_UP.isdisjoint(words):
        return frozenset()
    matches = (match for pattern in (grammar.GIVEN_UP, grammar.REPLACED_BY) for match in re.finditer(pattern, sentence))
    names = (match["name"].strip("`") for match in matches)
    return frozenset(stem(name) for name in names if name.lower() not in grammar.NAMELESS)


def _split_clauses(sentence: str) -> list[str]:
    if _parse_setting(sentence):
        return [sentence]
    first, *others = re.split(CLAUSE_END, re.sub(ASIDE, " ", sentence))
    # "…, until version 6 is out" says how long the clause before it holds, and claims nothing about version 6.
    return [first, *(clause for clause in others if not _is_dependent(clause))]


def _is_dependent(clause: str) -> bool:
    first = _split_words(clause)[0]
    return first == "since" or grammar.CONNECTIVES.get(first) in DEPENDENT_SLOTS


def _parse_setting(sentence: str) -> tuple[str, str] | None:
    """The two sides of a line such as "Package manager: pnpm"."""
    match = re.match(SETTING, sentence)
    if not match:
        return None
    key, value = match["key"].replace("(", " ").replace(")", " "), re.sub(ASIDE, "", match["value"]).strip()
    topic, words = key.rpartition(": ")[2].lower().split(), value.lower().split()
    if not 0 < len(topic) <= LONGEST_KEY or not 0 < len(words) <= LONGEST_VALUE or len(key) < SHORTEST_KEY:
        return None
    # Under a plural key a word is one of several values; an amount or a folder applies to all of them.
    is_list = is_plural(topic[-1]) and not re.match(AMOUNT_OR_FOLDER, value)
    # A command or a file in backticks is also one of several.
    is_entry = value[0] == value[-1] == "`" and "`" not in key
    return None if is_list or is_entry else (key, value)


def _parse_clause(clause: str, common: Statement) -> Statement | None:
    parser, setting = _Parser(), _parse_setting(clause)
    if setting:
        parser.read(setting[0])
        parser.read_value(setting[1])
    else:
        parser.read(clause)
    words = tuple(parser.words)
    if not words or len(words) > MOST_WORDS:
        return None
    return common._replace(
        words=words,
        stems=frozenset(word.stem for word in words),
        is_negated=parser.negations % 2 == 1,  # Two negations cancel each other.
        is_exception=not grammar.EXCEPTING.isdisjoint(_split_words(clause)),
    )


class _Parser:
    """Sorts the tokens of a clause into slots, from left to right."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.negations = 0
        self._slot, self._place = Slot.HEAD, 0
        self._is_value = False

    def read(self, text: str) -> None:
        """Parse a clause, in which connecting words begin slots, or the rest of a value."""
        tokens = re.findall(TOKEN, text)
        at = 0
        while at < len(tokens):
            before = tokens[at - 1].lower() if at else ""
            at += self._take(tokens[at], before, [token.lower() for token in tokens[at + 1 : at + 3]])

    def read_value(self, text: str) -> None:
        """Parse the text after a colon: all of it is one value."""
        self._open(Slot.IS)
        self._is_value = True
        self.read(text)

    def _take(self, token: str, before: str, following: list[str]) -> int:
        """Parse a token; returns how many tokens were used."""
        low = token.lower()
        # "Has" adds nothing in "has been removed".
        is_participle = bool(following) and following[0].endswith(("ed", "been", "become", "gone"))
        is_auxiliary = low in grammar.AUXILIARIES and is_participle
        if before in grammar.NUMBERED and low[0].isdigit():
            self._add(low, Type.INSTANCE, token)
        elif quantity := parse_quantity(low, following):
            self._add(quantity.value, quantity.type, " ".join([token, *following[: quantity.following]]))
            return 1 + quantity.following
        elif is_auxiliary or self._is_polarity(low, token, following):
            pass
        elif low in grammar.CONNECTIVES:
            if not self._is_value:
                self._connect(low, before)
        elif low in grammar.LIGHT:
            if self._is_name(token, before, following):
                self._add(low, Type.NAME, token)
        elif low not in grammar.LIMITS:
            self._add(_find_stem(low), _find_type(token, is_first=not before), token)
        return 1

    def _is_polarity(self, low: str, token: str, following: list[str]) -> bool:
        """Parse a word of polarity such as "not" or "disabled"; returns whether it is one."""
        # "On" says that something is enabled, or where it is.
        if low == "on" and (not following or following[0] in {"by", "for", "in", "at"}):
            self._add(grammar.ENABLED, Type.WORD, token)
        # A "no" at the end is a value, as in "Debug: no"; it is handled below.
        elif low in grammar.NEGATIONS and (low != "no" or following):
            self.negations += 1
        elif low in grammar.OPPOSITES or low == "no":
            self.negations += 1
            self._add(grammar.OPPOSITES.get(low, grammar.ENABLED), Type.WORD, token)
        else:
            return False
        return True

    def _connect(self, low: str, before: str) -> None:
        # Two steps may not change places: "before" is the opposite of "after".
        self.negations += low == "before"
        self._open(Slot.MANY if low == "in" and before in grammar.RUNNING else grammar.CONNECTIVES[low])

    def _is_name(self, token: str, before: str, following: list[str]) -> bool:
        """Whether a common word is the name of a tool, as in "build with make" or "Language: Go"."""
        is_alone = not self.words or self.words[-1].place != self._place
        is_all = is_alone and (not following or following[0] in grammar.CONNECTIVES)
        is_capital = token != token.lower() and bool(before)
        return is_capital or (is_all and (self._is_value or self._slot in grammar.TOOLS))

    def _open(self, slot: Slot) -> None:
        if self._slot in (Slot.HEAD, Slot.FOR) and slot in grammar.PREDICATES and self.words:
            self.words[-1] = _mark_instance(self.words[-1])
        self._slot, self._place = slot, self._place + 1

    def _add(self, stem: str, type: Type, text: str) -> None:
        if stem:
            self.words.append(Word(stem, type, self._slot, self._place, text))


def _mark_instance(word: Word) -> Word:
    """A number just before the verb says which of several is meant; it is not a value."""
    has_number = word.type is Type.NUMBER or (word.type is Type.NAME and word.stem[-1:].isdigit())
    return word._replace(type=Type.INSTANCE) if has_number else word


def _find_stem(low: str) -> str:
    return grammar.SYNONYMS.get(low) or stem(low.strip('`"'))


def _find_type(token: str, *, is_first: bool) -> Type:
    plain = token.strip('`"')
    # Every sentence begins with a capital letter, so that letter is no evidence of a name.
    letters = plain[1:] if is_first else plain
    is_name = token[0] in '`"' or letters != letters.lower() or not plain.isalpha()
    return Type.NAME if is_name else Type.WORD
