"""Recognise texts that were rejected or erased, although they are no longer stored, whatever their spelling.

A text is compared without case, spaces, accents, invisible and look-alike characters. Of a rejected one only a digest
is stored, keyed with a secret of the store, because a plain digest of a short text could be guessed. An erased text
leaves an imprint, by which it is found inside longer texts too, also behind escapes: how many words it had, and a keyed
digest of each stretch of six of them.
"""

import hmac
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from operator import sub
from typing import NamedTuple

from hivemind.text.clean import neutralise
from hivemind.text.escapes import decode, iterate_forms

STRETCH_WORDS = 6
"""Words per stretch; shorter ones are easy to guess and too common, longer ones would miss partial quotations."""
MIN_LETTERS = 8
"""Letters; a shorter text is an ordinary word or two, and removing it would damage unrelated texts."""
MARK = "[erased]"
"""Replaces an erased text."""

SEPARATORS = r"^ *\d+(?:→|\t)|(?<=\\n) *\d+(?:→|\\t)|\\[nrtbf\"\\/]"
"""Separators that contain letters or digits: line numbers as agents print them, and JSON escapes."""
UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words: each character counts as a word."""
WITHIN = "\u00ad\u0300-\u036f\u200b-\u200f\u2060-\u206f\ufe00-\ufe0f\ufeff"
"""Accents and invisible characters, which do not end a word."""
SEPARATOR = re.compile(SEPARATORS, re.MULTILINE)
ASCII_SEPARATORS = str.maketrans({code: " " for code in range(128) if not chr(code).isalnum()})
"""For splitting ASCII text, which is most of what agents print: five times as fast as the regular expression."""
WELL_FORMED = re.compile(r"[1-9]\d{0,5}:(?:[0-9a-f]{21})+", re.ASCII)
# Six numbers of 16 bits add up to at most five hexadecimal digits; a digest of 8 bytes has sixteen.
SUM_DIGITS, STRETCH_DIGITS = 5, 21
"""Hexadecimal digits of a stretch: of the sum of its words' numbers, and in total.

The sum is cheap to compute and rules out almost all stretches of other texts; only the few others need a digest.
"""
MAX_CACHED_WORDS = 50_000
"""Words in the cache of numbers; agents print many words that never occur again."""
LOOK_ALIKES = {
    "a": "аᴀαɑ", "b": "вьʙ", "c": "сϲᴄ", "d": "ԁᴅ", "e": "еεҽᴇ", "f": "ғꜰ", "g": "ɡԍɢ", "h": "һнʜ", "i": "іɩιıɪ",
    "j": "јᴊ", "k": "κкᴋ", "l": "ⅼӏʟ", "m": "мᴍ", "n": "пηɴ", "o": "оοσօᴏ", "p": "рρᴘ", "q": "ԛ", "r": "гʀ", "s": "ѕꜱ",
    "t": "тτᴛ", "u": "υսᴜ", "v": "νѵᴠ", "w": "ԝωᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢ",
}  # fmt: skip
"""Cyrillic, Greek and phonetic letters that look like Latin ones."""
AS_LATIN = str.maketrans({like: letter for letter, likes in LOOK_ALIKES.items() for like in likes})

NEUTRAL_SEPARATORS = re.compile(r"[\s.,;:!?'\"“”‘’`´()\[\]{}*_~…–—-]+")
"""Separators that do not change the meaning of a text; < > = + # % do change it."""


class Stretch(NamedTuple):
    """A stretch of an erased text: the text's index, and the stretch's first word in it."""

    text: int
    start: int


class StretchHit(NamedTuple):
    """A stretch found in another text: its first word there, and the word where the erased text would begin."""

    word: int
    text_start: int
    start: int


def normalise(text: str) -> str:
    """A form of a text that is the same for every spelling of its words."""
    folded_text = unicodedata.normalize("NFKD", neutralise(text)).casefold()
    if not folded_text.isascii():  # ASCII has neither marks nor look-alikes, and most texts are ASCII.
        folded_text = "".join(letter for letter in folded_text if not unicodedata.combining(letter)).translate(AS_LATIN)
    return NEUTRAL_SEPARATORS.sub(" ", folded_text).strip()


def digest_value(text: str, secret: bytes) -> str:
    """The keyed digest of a normalised text; it reveals nothing without the secret."""
    return hmac.digest(secret, normalise(text).encode("utf-8", "replace"), "sha256").hex()


@cache
def word_pattern() -> re.Pattern[str]:
    """The pattern of words and separators; its only group is a word."""
    # Compiled when it is first used: that takes 5 ms, and most texts are ASCII and need none.
    words = f"[{UNSPACED}]|[^\\W_{UNSPACED}](?:[{WITHIN}]|[^\\W_{UNSPACED}])*"
    return re.compile(f"{SEPARATORS}|({words})", re.MULTILINE)


def split_words(text: str) -> list[str]:
    """The words of a text in their original spelling."""
    if not text.isascii():
        return list(filter(None, word_pattern().findall(text)))
    # Only a backslash or a tab can begin a JSON escape or end a line number in ASCII.
    if "\\" in text or "\t" in text:
        text = SEPARATOR.sub(" ", text)
    return text.translate(ASCII_SEPARATORS).split()


def fold(word: str) -> str:
    """A form of a word that is the same for every spelling."""
    return word.lower() if word.isascii() else normalise(word).replace(" ", "")


def make_imprint(text: str, key: bytes) -> str:
    """The imprint of a text; empty if the text is too short to be searched for in other texts."""
    words = list(map(fold, split_words(text)))
    if sum(map(len, words)) < MIN_LETTERS:
        return ""
    length = min(STRETCH_WORDS, len(words))
    stretches = [words[start : start + length] for start in _find_starts(len(words))]
    sums = [sum(_compute_number(word, key) for word in stretch) for stretch in stretches]
    digests = [_compute_digest(stretch, key) for stretch in stretches]
    return f"{len(words)}:" + "".join(f"{mark:05x}{digest}" for mark, digest in zip(sums, digests, strict=True))


class _NumberCache(dict[str, int]):
    """A cache of keyed numbers of words; they reveal nothing without the key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def __missing__(self, word: str) -> int:
        if len(self) > MAX_CACHED_WORDS:
            self.clear()
        self[word] = _compute_number(fold(word), self._key)
        return self[word]


class ErasedTextFilter:
    """Finds and removes erased texts in other texts; without imprints it costs nothing."""

    def __init__(self, imprints: Mapping[bytes, Iterable[str]]) -> None:
        self._indexes = [_ImprintIndex(key, list(values)) for key, values in imprints.items() if values]

    def __bool__(self) -> bool:
        return bool(self._indexes)

    def replace_erased_texts(self, text: str) -> str:
        """The text with a mark in place of each erased text that it quotes at least by half."""
        if not self._indexes or len(text) < MIN_LETTERS:
            return text
        spans = self._find_spans(text)
        # Both as it is and without escapes, because the erased text may itself have had escapes.
        if decoded := decode(text):
            spans += [decoded.locate(*span) for span in self._find_spans(decoded.text)]
        return _replace_spans(text, spans) if spans else text

    def contains_erased_text(self, text: str) -> bool:
        """Whether a text contains a complete erased text of at least one full stretch."""
        if not self._indexes or len(text) < MIN_LETTERS:
            return False
        forms = map(split_words, iterate_forms(text))
        return any(index.is_whole_in(words) for words in forms for index in self._indexes)

    def _find_spans(self, text: str) -> list[tuple[int, int]]:
        """Start and end of each passage that quotes an erased text."""
        words = split_words(text)
        quotes = [quote for index in self._indexes for quote in index.find_spans(words)]
        spans = [match.span(1) for match in word_pattern().finditer(text) if match[1]] if quotes else []
        return [(spans[first][0], spans[end - 1][1]) for first, end in quotes]


class _ImprintIndex:
    """The imprints of one key."""

    def __init__(self, key: bytes, imprints: list[str]) -> None:
        self._key = key
        self._lengths: list[int] = []
        self._stretches: dict[int, dict[int, dict[str, list[Stretch]]]] = {}
        self._numbers = _NumberCache(key)
        for text, encoded_imprint in enumerate(imprints):
            self._add(text, encoded_imprint)

    def _add(self, text: int, encoded_imprint: str) -> None:
        count, _, marks = encoded_imprint.partition(":")
        # An imprint may come from another machine; a malformed one is ignored.
        words = int(count) if WELL_FORMED.fullmatch(encoded_imprint) else 0
        self._lengths.append(words)
        if len(marks) != len(_find_starts(words)) * STRETCH_DIGITS or not words:
            return
        by_sum = self._stretches.setdefault(min(STRETCH_WORDS, words), {})
        for place, start in enumerate(_find_starts(words)):
            mark = marks[place * STRETCH_DIGITS : (place + 1) * STRETCH_DIGITS]
            by_sum.setdefault(int(mark[:SUM_DIGITS], 16), {}).setdefault(mark[SUM_DIGITS:], []).append(
                Stretch(text, start)
            )

    def find_spans(self, words: list[str]) -> Iterator[tuple[int, int]]:
        """The first word of each quotation of at least half of an erased text, and the word after its last."""
        for text, hits in self._find_hits(words, shortest=1).items():
            length = self._lengths[text]
            # Half, rounded up.
            min_stretches = -(-len(_find_starts(length)) // 2)
            for quote in _group_by_quotation(hits, length):
                if len({hit.start for hit in quote}) >= min_stretches:
                    yield min(hit.word for hit in quote), max(hit.word for hit in quote) + min(STRETCH_WORDS, length)

    def is_whole_in(self, words: list[str]) -> bool:
        """Whether the words contain all of an erased text."""
        return any(
            len({hit.start for hit in quote}) == len(_find_starts(self._lengths[text]))
            for text, hits in self._find_hits(words, shortest=STRETCH_WORDS).items()
            for quote in _group_by_quotation(hits, self._lengths[text])
        )

    def _find_hits(self, words: list[str], *, shortest: int) -> dict[int, list[StretchHit]]:
        sums = list(accumulate(map(self._numbers.__getitem__, words), initial=0))
        hits: dict[int, list[StretchHit]] = defaultdict(list)
        for length, marks in self._stretches.items():
            if length < shortest:
                continue
            # Differences of running sums give the sum of every stretch in one pass.
            totals = list(map(sub, sums[length:], sums))
            if marks.keys().isdisjoint(totals):
                continue
            for place, total in enumerate(totals):
                if total in marks:
                    digest = _compute_digest(map(fold, words[place : place + length]), self._key)
                    for stretch in marks[total].get(digest, ()):
                        hits[stretch.text].append(StretchHit(place, place - stretch.start, stretch.start))
        return hits


def _find_starts(words: int) -> range | list[int]:
    """The first words of a text's stretches: side by side, and a last one that ends with the text."""
    if words <= STRETCH_WORDS:
        return [0]
    starts = range(0, words - STRETCH_WORDS + 1, STRETCH_WORDS)
    return starts if starts[-1] == words - STRETCH_WORDS else [*starts, words - STRETCH_WORDS]


def _group_by_quotation(hits: list[StretchHit], length: int) -> Iterator[list[StretchHit]]:
    """Group hits by quotation, with some slack: line numbers inside a quotation push its stretches apart."""
    slack = length // 4
    quote: list[StretchHit] = []
    for hit in sorted(hits, key=lambda hit: hit.text_start):
        if quote and hit.text_start - quote[0].text_start > slack:
            yield quote
            quote = []
        quote.append(hit)
    if quote:
        yield quote


def _replace_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start >= position:
            pieces += (text[position:start], MARK)
        position = max(position, end)
    return "".join(pieces) + text[position:]


def _compute_number(word: str, key: bytes) -> int:
    return int.from_bytes(_compute_keyed_hash(word, key, 2))


def _compute_digest(words: Iterable[str], key: bytes) -> str:
    return _compute_keyed_hash(" ".join(words), key, 8).hex()


def _compute_keyed_hash(text: str, key: bytes, size: int) -> bytes:
    # BLAKE2b accepts keys of up to 64 bytes.
    return blake2b(text.encode("utf-8", "replace"), key=key[:64], digest_size=size, person=b"erased text").digest()
