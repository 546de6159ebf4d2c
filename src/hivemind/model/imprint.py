"""Finds an erased text inside a longer one, although the erased text itself is no longer kept.

An erased text leaves an imprint: how many words it had, and a keyed digest of each stretch of six of them. The key is
the store's secret, so the imprint tells nothing to somebody who has only the digests. Words are compared as in
``values``: without case, accents, invisible and look-alike characters, whatever stands between them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import accumulate
from operator import sub
from typing import NamedTuple

from hivemind.model.values import normalised

STRETCH = 6
"""Words; fewer are too easily guessed and too common, more would miss what is quoted in part."""
SHORTEST = 8
"""Letters; a shorter text is an ordinary word or two, and cutting it out would spoil what others said."""
MARK = "[erased]"
"""Stands where an erased text was cut out."""

BETWEEN = r"^ *\d+(?:→|\t)|(?<=\\n) *\d+(?:→|\\t)|\\[nrtbf\"\\/]"
"""What stands between words and has letters or digits itself: line numbers as agents print them, escapes of JSON."""
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Scripts without spaces: each character is a word."""
WITHIN = "\u00ad\u0300-\u036f\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff"
"""Accents and invisible characters, which do not end a word."""
ASIDE = re.compile(BETWEEN, re.MULTILINE)
WORD = re.compile(f"{BETWEEN}|([{UNSPACED}]|[^\\W_{UNSPACED}](?:[{WITHIN}]|[^\\W_{UNSPACED}])*)", re.MULTILINE)
SEPARATORS = str.maketrans({code: " " for code in range(128) if not chr(code).isalnum()})
"""Splitting ASCII, which most of what agents print is, at these is five times as fast as finding words in it."""
WELL_FORMED = re.compile(r"[1-9]\d{0,5}:(?:[0-9a-f]{21})+", re.ASCII)
SUM, LENGTH = 5, 21
"""Digits of what is kept of one stretch: of the sum of its words' numbers, by which few stretches of other texts need
a digest, and of both.
"""
MOST_WORDS = 50_000
"""That are remembered with their numbers; what agents print has many that never come again."""


class Stretch(NamedTuple):
    """A stretch of an erased text: which text, and where in it the stretch begins."""

    text: int
    start: int


class Hit(NamedTuple):
    """A stretch that was found: where it begins here, and where its text would begin."""

    word: int
    text_start: int
    start: int


def words_of(text: str) -> list[str]:
    """The words of a text as they are written."""
    if not text.isascii():
        return list(filter(None, WORD.findall(text)))
    if "\\" in text or "\t" in text:
        text = ASIDE.sub(" ", text)
    return text.translate(SEPARATORS).split()


def places_of(text: str) -> list[tuple[int, int]]:
    """Where the words of a text begin and end."""
    return [match.span(1) for match in WORD.finditer(text) if match[1]]


def fold(word: str) -> str:
    """The same for every spelling of a word."""
    return word.lower() if word.isascii() else normalised(word).replace(" ", "")


def imprint(text: str, key: bytes) -> str:
    """What is kept of an erased text; empty where it is too short to be looked for in other texts."""
    words = list(map(fold, words_of(text)))
    if sum(map(len, words)) < SHORTEST:
        return ""
    length = min(STRETCH, len(words))
    stretches = [words[start : start + length] for start in _starts(len(words))]
    sums = [sum(_number(word, key) for word in stretch) for stretch in stretches]
    digests = [_digest(stretch, key) for stretch in stretches]
    return f"{len(words)}:" + "".join(f"{mark:05x}{digest}" for mark, digest in zip(sums, digests, strict=True))


class _Numbers(dict[str, int]):
    """A number for each word that tells nothing without the key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __missing__(self, word: str) -> int:
        if len(self) > MOST_WORDS:
            self.clear()
        self[word] = _number(fold(word), self._key)
        return self[word]


class Watch:
    """Looks for erased texts in other texts; without imprints it costs nothing."""

    def __init__(self, imprints: Mapping[bytes, Iterable[str]]) -> None:
        self._lookouts = [_Lookout(key, list(kept)) for key, kept in imprints.items() if kept]

    def __bool__(self) -> bool:
        return bool(self._lookouts)

    def cut(self, text: str) -> str:
        """The text with a mark in place of each erased text, quoted whole or at least half of it."""
        if not self._lookouts or len(text) < SHORTEST:
            return text
        words = words_of(text)
        spans = [span for lookout in self._lookouts for span in lookout.spans(words)]
        return _without(text, spans) if spans else text

    def holds(self, text: str) -> bool:
        """Whether a text contains an erased one whole, of at least one full stretch."""
        words = words_of(text) if self._lookouts else []
        return any(lookout.is_whole_in(words) for lookout in self._lookouts)


class _Lookout:
    """The imprints of one key."""

    def __init__(self, key: bytes, imprints: list[str]) -> None:
        self._key = key
        self._lengths: list[int] = []
        self._stretches: dict[int, dict[int, dict[str, list[Stretch]]]] = {}
        self._numbers = _Numbers(key)
        for text, kept in enumerate(imprints):
            self._add(text, kept)

    def _add(self, text: int, kept: str) -> None:
        count, _, marks = kept.partition(":")
        # It may come from somebody else's machine; what is not well formed finds nothing.
        words = int(count) if WELL_FORMED.fullmatch(kept) else 0
        self._lengths.append(words)
        if len(marks) != len(_starts(words)) * LENGTH or not words:
            return
        of_length = self._stretches.setdefault(min(STRETCH, words), {})
        for place, start in enumerate(_starts(words)):
            kept_here = marks[place * LENGTH : (place + 1) * LENGTH]
            of_length.setdefault(int(kept_here[:SUM], 16), {}).setdefault(kept_here[SUM:], []).append(
                Stretch(text, start)
            )

    def spans(self, words: list[str]) -> Iterator[tuple[int, int]]:
        """From which word up to which an erased text is quoted, whole or at least half of it."""
        for text, hits in self._hits(words, shortest=1).items():
            length = self._lengths[text]
            needed = -(-len(_starts(length)) // 2)
            for quote in _quotes(hits, length):
                if len({hit.start for hit in quote}) >= needed:
                    yield min(hit.word for hit in quote), max(hit.word for hit in quote) + min(STRETCH, length)

    def is_whole_in(self, words: list[str]) -> bool:
        """Whether all of an erased text stands there."""
        return any(
            len({hit.start for hit in quote}) == len(_starts(self._lengths[text]))
            for text, hits in self._hits(words, shortest=STRETCH).items()
            for quote in _quotes(hits, self._lengths[text])
        )

    def _hits(self, words: list[str], *, shortest: int) -> dict[int, list[Hit]]:
        sums = list(accumulate(map(self._numbers.__getitem__, words), initial=0))
        hits: dict[int, list[Hit]] = defaultdict(list)
        for length, marks in self._stretches.items():
            if length < shortest:
                continue
            totals = list(map(sub, sums[length:], sums))
            if marks.keys().isdisjoint(totals):
                continue
            for place, total in enumerate(totals):
                if total in marks:
                    digest = _digest(map(fold, words[place : place + length]), self._key)
                    for stretch in marks[total].get(digest, ()):
                        hits[stretch.text].append(Hit(place, place - stretch.start, stretch.start))
        return hits


def _starts(words: int) -> range | list[int]:
    """Where the stretches of a text begin: one after the other, and one that ends where the text does."""
    if words <= STRETCH:
        return [0]
    starts = range(0, words - STRETCH + 1, STRETCH)
    return starts if starts[-1] == words - STRETCH else [*starts, words - STRETCH]


def _quotes(hits: list[Hit], length: int) -> Iterator[list[Hit]]:
    """Hits that belong to one quotation: line numbers may stand within it, so its stretches may lie further apart."""
    slack = length // 4
    quote: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: hit.text_start):
        if quote and hit.text_start - quote[0].text_start > slack:
            yield quote
            quote = []
        quote.append(hit)
    if quote:
        yield quote


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    places = places_of(text)
    pieces: list[str] = []
    position = 0
    for first, end in sorted(spans):
        start = places[first][0]
        if start >= position:
            pieces += (text[position:start], MARK)
        position = max(position, places[end - 1][1])
    return "".join(pieces) + text[position:]


def _number(folded: str, key: bytes) -> int:
    return int.from_bytes(_keyed(folded, key, 2))


def _digest(words: Iterable[str], key: bytes) -> str:
    return _keyed(" ".join(words), key, 8).hex()


def _keyed(text: str, key: bytes, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), key=key[:64], digest_size=size, person=b"erased text").digest()
