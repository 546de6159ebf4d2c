"""Says whether a content quotes a text, however it is spelled: other case, white space, accents or JSON escapes.

A content quotes a text if it has at least 60 % of the text's words in a row, and at least three of them. The middle
words of a text are part of every such run, so looking for those first is cheap and misses nothing.
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hivemind.model.text import neutral
from hivemind.model.words import STOP_WORDS

SHARE = 0.6
FEWEST_WORDS = 3
"""Fewer words in a row are common speech, unless they are the whole text."""
PART_WORDS = 4
"""Words of a text that a database is asked for; more would cost time and exclude little."""
NAME_LENGTH = 10

_BY_CHARACTER = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words: each character counts as one."""
WORD = re.compile(rf"[{_BY_CHARACTER}]|[^\W_{_BY_CHARACTER}]+")
ESCAPE = re.compile(r"\\+(?:u([0-9a-fA-F]{4})|[nrtbf])")
NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
CHUNK = re.compile(r"[^\s\"'`()\[\]{}<>,;]+")


@dataclass(frozen=True, slots=True)
class Run:
    """Words of a text that stand in a row somewhere else."""

    text: int
    start: int
    stop: int
    of: int
    """How many words the text has."""

    @property
    def is_whole(self) -> bool:
        """Whether all of the text is there."""
        return self.stop - self.start == self.of

    def is_within(self, others: Iterable["Run"]) -> bool:
        """Whether one of the others has all of these words."""
        return any(run.text == self.text and run.start <= self.start and self.stop <= run.stop for run in others)


@dataclass(frozen=True, slots=True)
class _Text:
    words: tuple[str, ...]
    needed: int
    """How many of the words in a row make a quotation."""
    patterns: tuple[tuple[str, ...], ...]
    """Pieces of words that a quotation has in this order, whatever stands between them; one of these at least."""


@dataclass(frozen=True, slots=True)
class Quotation:
    """Texts to look for."""

    texts: tuple[_Text, ...]

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Quotation":
        """What is looked for: the texts, and names in them that make up most of what they say."""
        whole = dict.fromkeys(text for text in texts if words(text))
        names = dict.fromkeys(name for text in whole for name in _names(text))
        parts = [_text(text, SHARE) for text in whole]
        return cls(texts=(*parts, *(_text(name, 1) for name in names if name not in whole)))

    @property
    def patterns(self) -> list[tuple[str, ...]]:
        """What a database can look for: whatever quotes a text has the pieces of one pattern in order, in any case."""
        return list(dict.fromkeys(pattern for text in self.texts for pattern in text.patterns))

    def is_possible_in(self, content: str) -> bool:
        """A cheap look that never misses a quotation."""
        folded = content.lower()
        return any(_has_in_order(folded, pattern) for pattern in self.patterns)

    def runs_in(self, content: str) -> list[Run]:
        """Where a content quotes one of the texts."""
        if not self.is_possible_in(content):
            return []
        said = f" {' '.join(words(content))} "
        return [run for number, text in enumerate(self.texts) for run in _runs(number, text, said)]

    def is_asked_in(self, question: str) -> bool:
        """Whether a question has enough words of one of the texts, in any order."""
        asked = set(words(question))
        return any(len(asked.intersection(text.words)) >= SHARE * len(set(text.words)) for text in self.texts)


def words(text: str) -> list[str]:
    """The words of a text, without case, accents, white space and JSON escapes."""
    plain = ESCAPE.sub(_unescaped, text) if "\\" in text else text
    if not plain.isascii():
        composed = unicodedata.normalize("NFKD", neutral(plain))
        plain = "".join(letter for letter in composed if not unicodedata.combining(letter))
    return WORD.findall(plain.casefold())


def _unescaped(escape: "re.Match[str]") -> str:
    return chr(int(escape[1], 16)) if escape[1] else " "


def _text(text: str, share: float) -> _Text:
    said = tuple(words(text))
    count = len(said)
    needed = max(math.ceil(share * count), min(count, FEWEST_WORDS))
    low, high = count - needed, needed
    # Every run has the words from low to high; where that is a single word, it has a neighbour of it too.
    cores = [(low, high)] if high - low > 1 or count == needed else [(low - 1, high), (low, high + 1)]
    written = _as_written(text, count)
    patterns = tuple(tuple(_pieces(written[start:stop])) for start, stop in cores)
    return _Text(words=said, needed=needed, patterns=patterns)


def _as_written(text: str, count: int) -> list[str]:
    """The words as they stand, as a database sees them; nothing of them where they cannot be told apart."""
    plain = ESCAPE.sub(_unescaped, text) if "\\" in text else text
    written = WORD.findall(unicodedata.normalize("NFC", plain).lower())
    return written if len(written) == count else [""] * count


def _pieces(core: list[str]) -> Iterator[str]:
    """The ASCII pieces of the most telling words of a core: other letters have too many spellings."""
    starts = range(max(1, len(core) - PART_WORDS + 1))
    best = max(starts, key=lambda start: sum(map(len, core[start : start + PART_WORDS])))
    for word in core[best : best + PART_WORDS]:
        yield from filter(None, NOT_ASCII.split(word))


def _names(text: str) -> Iterator[str]:
    """Words like ``OPAL7741-walrus`` that are most of what a text says: whoever repeats one repeats the text."""
    telling = [word for word in words(text) if word not in STOP_WORDS]
    letters = sum(map(len, telling))
    for chunk in CHUNK.findall(text):
        name = chunk.strip(".:!?*_-")
        has_both = any(map(str.isdigit, name)) and any(map(str.isalpha, name))
        if len(name) >= NAME_LENGTH and has_both and 2 * sum(map(len, words(name))) >= letters:
            yield name


def _has_in_order(content: str, pieces: tuple[str, ...]) -> bool:
    at = 0
    for piece in pieces:
        found = content.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _runs(number: int, text: _Text, said: str) -> Iterator[Run]:
    """Extend each place that has the middle words as far as the words agree on both sides."""
    low, high = len(text.words) - text.needed, text.needed
    before, after = text.words[:low], text.words[high:]
    core = f" {' '.join(text.words[low:high])} "
    reach_back, reach_on = len(" ".join(before)) + 1, len(" ".join(after)) + 1
    at = said.find(core)
    while at >= 0:
        end = at + len(core)
        left = _agreeing(before[::-1], said[max(0, at - reach_back) : at].split()[::-1])
        right = _agreeing(after, said[end : end + reach_on].split())
        if left + high - low + right >= text.needed:
            yield Run(text=number, start=low - left, stop=high + right, of=len(text.words))
        at = said.find(core, at + 1)


def _agreeing(wanted: Iterable[str], said: Iterable[str]) -> int:
    count = 0
    for one, other in zip(wanted, said, strict=False):
        if one != other:
            break
        count += 1
    return count
