"""Detect whether a content quotes a text, regardless of case, white space, accents and escapes.

A content quotes a text if it has at least 60 % of the text's words in a row, and at least three of them. Every such run
contains the middle words of the text, so searching for those first is cheap and misses nothing.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hivemind.text.clean import count_equal, neutralise
from hivemind.text.escapes import unescape
from hivemind.text.excluded_text import UNSPACED, ErasedTextFilter
from hivemind.text.search_terms import STOP_WORDS

MIN_SHARE = 0.6
MIN_WORDS = 3
"""Fewer words in a row are too common, unless they are the whole text."""
QUERY_WORDS = 4
"""Words of a text in a database query; more would cost time and exclude little."""
MIN_NAME_LENGTH = 10
MIN_CONTENT_LETTERS = 4

WORD = re.compile(rf"[{UNSPACED}]|[^\W_{UNSPACED}]+")
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
CHUNK = re.compile(r"[^\s\"'`()\[\]{}<>,;]+")


@dataclass(frozen=True, slots=True)
class QuotedRun:
    """Consecutive words of a text that occur in another text."""

    text: int
    start: int
    stop: int
    of: int
    """How many words the text has."""

    @property
    def is_whole(self) -> bool:
        """Whether the run is the whole text."""
        return self.stop - self.start == self.of

    def is_within(self, other_runs: Iterable["QuotedRun"]) -> bool:
        """Whether one of the other runs contains this one."""
        return any(run.text == self.text and run.start <= self.start and self.stop <= run.stop for run in other_runs)


@dataclass(frozen=True, slots=True)
class _Text:
    words: tuple[str, ...]
    min_words: int
    """How many words in a row make a quotation."""
    patterns: tuple[tuple[str, ...], ...]
    """Every quotation has the pieces of at least one of these, in order, with anything in between."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """Texts whose quotations are searched for."""

    texts: tuple[_Text, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Quotation":
        """Search for the texts, and for distinctive names that make up most of a text."""
        whole_texts = dict.fromkeys(text for text in texts if split_words(text))
        names = dict.fromkeys(name for text in whole_texts for name in _find_names(text))
        parts = [_make_text(text, MIN_SHARE) for text in whole_texts]
        return cls(texts=(*parts, *(_make_text(name, 1) for name in names if name not in whole_texts)))

    @property
    def patterns(self) -> list[tuple[str, ...]]:
        """Patterns for a database query: every quotation has the pieces of one of them in order, in any case."""
        return list(dict.fromkeys(pattern for text in self.texts for pattern in text.patterns))

    def is_possible_in(self, content: str) -> bool:
        """A fast check that never misses a quotation."""
        lower_content = content.lower()
        return any(_has_in_order(lower_content, pattern) for pattern in self.patterns)

    def find_runs(self, content: str) -> list[QuotedRun]:
        """The quotations of the texts in a content."""
        if not self.is_possible_in(content):
            return []
        # Spaces at both ends, so that words are only found whole.
        normalised_content = f" {' '.join(split_words(content))} "
        return [run for number, text in enumerate(self.texts) for run in _find_runs(number, text, normalised_content)]

    def matches_question(self, question: str) -> bool:
        """Whether a question has enough words of one of the texts, in any order."""
        words = set(split_words(question))
        return any(len(words.intersection(text.words)) >= MIN_SHARE * len(set(text.words)) for text in self.texts)

    def list_words(self) -> set[str]:
        """The words of the texts, normalised."""
        return {word for text in self.texts for word in text.words}


@dataclass(frozen=True, slots=True)
class ImprintSearch(Quotation):
    """Finds quotations of texts by what is known of them: some texts, and the imprints of all."""

    text_filter: ErasedTextFilter

    @property
    def patterns(self) -> list[tuple[str, ...]]:
        """One pattern that is in every content: digests say nothing about letters."""
        return [("",)]

    def find_runs(self, content: str) -> list[QuotedRun]:
        """The quotations in a content; one that its imprint finds counts as the whole text."""
        is_found = self.text_filter.replace_erased_texts(content) != content
        return Quotation.find_runs(self, content) or [QuotedRun(text=-1, start=0, stop=1, of=1)] * is_found

    def matches_question(self, question: str) -> bool:
        """Whether a question has enough words of one of the known texts, or quotes one by its imprint."""
        return Quotation.matches_question(self, question) or bool(self.find_runs(question))


def list_content_words(text: str) -> list[str]:
    """The words of a text that say what it is about: no stop words and none of one to three letters."""
    return [word for word in split_words(text) if len(word) >= MIN_CONTENT_LETTERS and word not in STOP_WORDS]


def split_words(text: str) -> list[str]:
    """The words of a text, normalised: no case, accents or escapes."""
    unescaped_text = unescape(text)
    if not unescaped_text.isascii():
        characters = unicodedata.normalize("NFKD", neutralise(unescaped_text))
        unescaped_text = "".join(letter for letter in characters if not unicodedata.combining(letter))
    return WORD.findall(unescaped_text.casefold())


def _make_text(text: str, share: float) -> _Text:
    words = tuple(split_words(text))
    count = len(words)
    min_words = max(math.ceil(share * count), min(count, MIN_WORDS))
    low, high = count - min_words, min_words
    # Every run has the words from low to high; if that is a single word, it also has one of its neighbours.
    cores = [(low, high)] if high - low > 1 or count == min_words else [(low - 1, high), (low, high + 1)]
    original_words = _split_original_words(text, count)
    patterns = tuple(tuple(_select_pieces(original_words[start:stop])) for start, stop in cores)
    return _Text(words=words, min_words=min_words, patterns=patterns)


def _split_original_words(text: str, count: int) -> list[str]:
    """The words as a database stores them; empty strings if they cannot be matched to the normalised words."""
    # A copy may have the same escapes or none, so nothing is known about how it is stored.
    if unescape(text) != text:
        return [""] * count
    # NFC and lower case, because the database compares stored text, ignoring only case.
    original_words = WORD.findall(unicodedata.normalize("NFC", text).lower())
    return original_words if len(original_words) == count else [""] * count


def _select_pieces(core: list[str]) -> Iterator[str]:
    """The ASCII pieces of the longest words in a row; other letters have too many spellings."""
    starts = range(max(1, len(core) - QUERY_WORDS + 1))
    best = max(starts, key=lambda start: sum(map(len, core[start : start + QUERY_WORDS])))
    for word in core[best : best + QUERY_WORDS]:
        yield from filter(None, NOT_ASCII.split(word))


def _find_names(text: str) -> Iterator[str]:
    """Names like ``OPAL7741-walrus`` that are most of a text, so that repeating the name repeats the text."""
    content_words = [word for word in split_words(text) if word not in STOP_WORDS]
    total_letters = sum(map(len, content_words))
    for chunk in CHUNK.findall(text):
        name = chunk.strip(".:!?*_-")
        has_both = any(map(str.isdigit, name)) and any(map(str.isalpha, name))
        # Letters and digits together hardly ever form an ordinary word, so such a name identifies its text.
        if len(name) >= MIN_NAME_LENGTH and has_both and 2 * sum(map(len, split_words(name))) >= total_letters:
            yield name


def _has_in_order(content: str, pieces: tuple[str, ...]) -> bool:
    position = 0
    for piece in pieces:
        start = content.find(piece, position)
        if start < 0:
            return False
        position = start + len(piece)
    return True


def _find_runs(number: int, text: _Text, content: str) -> Iterator[QuotedRun]:
    """Extend each occurrence of the middle words as far as the words on both sides match."""
    low, high = len(text.words) - text.min_words, text.min_words
    before, after = text.words[:low], text.words[high:]
    core = f" {' '.join(text.words[low:high])} "
    # A run cannot be longer than the text, so no more of the content is split.
    reach_back, reach_on = len(" ".join(before)) + 1, len(" ".join(after)) + 1
    start = content.find(core)
    while start >= 0:
        end = start + len(core)
        words_before = content[max(0, start - reach_back) : start].split()
        matches_before = count_equal(before[::-1], words_before[::-1])
        matches_after = count_equal(after, content[end : end + reach_on].split())
        if matches_before + high - low + matches_after >= text.min_words:
            yield QuotedRun(text=number, start=low - matches_before, stop=high + matches_after, of=len(text.words))
        # One further and not behind it, because occurrences may overlap.
        start = content.find(core, start + 1)
