"""Text to the numbers a model reads: byte-level pair encoding, as GPT-2 and RoBERTa use it."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

WORD = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+",
    re.ASCII,
)
"""Where words begin and end; a space belongs to the word after it."""

LONGEST_WORD = 256
"""Longer runs (encoded blobs, mostly) are cut here, because merging a run costs the square of its length."""

REMEMBERED_WORDS = 1 << 15


class WordPieces:
    """A vocabulary and the merges that lead to it."""

    def __init__(self, vocabulary: Mapping[str, int], merges: Sequence[str]) -> None:
        """Merges are written "left right", the most urgent first."""
        self._vocabulary = vocabulary
        self._urgency = dict(zip(merges, range(len(merges)), strict=True))
        self._word_ids = lru_cache(REMEMBERED_WORDS)(self._merge)

    def ids(self, text: str, limit: int) -> list[int]:
        """The first pieces of the text, at most as many as the limit; what looks like a marker is plain text."""
        found: list[int] = []
        for word in words(text):
            found.extend(self._word_ids(word))
            if len(found) >= limit:
                break
        return found[:limit]

    def _merge(self, word: str) -> tuple[int, ...]:
        """Join the most urgent pair, everywhere at once, until no pair is known."""
        pieces = list(_spelled(word))
        while len(pieces) > 1:
            urgencies = [self._urgency.get(f"{left} {right}", _NEVER) for left, right in pairwise(pieces)]
            first = min(urgencies)
            if first == _NEVER:
                break
            pieces = _joined(pieces, urgencies, first)
        return tuple(self._vocabulary[piece] for piece in pieces)


def words(text: str) -> Iterator[str]:
    """The text cut into words, in order and without loss."""
    shape = text if text.isascii() else text.translate(_STAND_INS)
    for match in WORD.finditer(shape):
        for start in range(match.start(), match.end(), LONGEST_WORD):
            yield text[start : min(start + LONGEST_WORD, match.end())]


def _joined(pieces: list[str], urgencies: list[int], wanted: int) -> list[str]:
    joined: list[str] = []
    at = 0
    while at < len(pieces):
        if at < len(urgencies) and urgencies[at] == wanted:
            joined.append(pieces[at] + pieces[at + 1])
            at += 2
        else:
            joined.append(pieces[at])
            at += 1
    return joined


def _spelled(word: str) -> str:
    """The word with one visible character for each of its bytes."""
    return word.encode("utf-8", "replace").decode("latin-1").translate(_VISIBLE)


class _StandIns(dict[int, str]):
    """For each character beyond ASCII one within it of the same class, because `re` knows no classes."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = found = character if code < 128 else _stand_in(character)
        return found


def _stand_in(character: str) -> str:
    match unicodedata.category(character)[0]:
        case "L":
            return "a"
        case "N":
            return "0"
        case "Z":
            return "\t"
        case _:
            return "\t" if character == "\x85" else "!"


def _visible_bytes() -> dict[int, str]:
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + n) for n, byte in enumerate(hidden)}


_NEVER = 1 << 30
_STAND_INS = _StandIns()
_VISIBLE = _visible_bytes()
