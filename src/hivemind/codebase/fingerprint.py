"""Digests and sketches that forget layout and keep meaning."""

import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

from hivemind.codebase.grammar import Grammar

SAMPLE = 64
"""Triples kept of a body. Up to as many, similarity is exact; beyond, it is mostly off by less than 0.06."""

_WIDTH = 3
_LAST_COMMA = re.compile(rb",(?=\s*\n\s*[)\]}])")
_PLAIN_SINGLE = re.compile(rb"'([^'\"\\]*)'")
_WORD = re.compile(rb"[\w\x80-\xff]+|[^\s\w]")


def digest(content: bytes) -> str:
    """Twelve characters that stand for the content."""
    return urlsafe_b64encode(blake2b(content, digest_size=9).digest()).decode()


def tokens(text: bytes, grammar: Grammar | None) -> list[bytes]:
    """The words of a text without its layout; a formatter's choices leave no trace."""
    if grammar is None:
        return _WORD.findall(text)
    found: list[bytes] = grammar.token.findall(_LAST_COMMA.sub(b"", text))
    if grammar.alike and b"'" in text:
        found = [_PLAIN_SINGLE.sub(rb'"\1"', token) if token[0] == 39 else token for token in found]
    if grammar.noise:
        found = [token for token in found if token not in grammar.noise]
    return found


def sketch(words: Sequence[bytes]) -> list[int]:
    """The smallest hashes among all token triples, in order: a fair sample of what the body consists of."""
    hashes = set(map(crc32, map(b" ".join, zip(words, words[1:], words[2:], strict=False))))
    return [value >> 8 for value in sorted(hashes)[:SAMPLE]]


def merge(sketches: Iterable[Iterable[int]]) -> list[int]:
    """The sketch of everything together."""
    return sorted(set[int]().union(*sketches))[:SAMPLE]


def pack(values: Sequence[int]) -> str:
    """A sketch as text; three bytes of a hash tell bodies apart well enough."""
    packed = bytearray(struct.pack(f">{len(values)}I", *values))
    del packed[:: _WIDTH + 1]
    return urlsafe_b64encode(packed).decode()


@lru_cache(maxsize=8192)
def unpack(text: str) -> frozenset[int]:
    """A sketch from its text."""
    return frozenset(first(text, SAMPLE))


def first(text: str, count: int) -> list[int]:
    """The smallest values of a sketch."""
    packed = urlsafe_b64decode(text[: count * 4])
    return [int.from_bytes(packed[at : at + _WIDTH]) for at in range(0, len(packed), _WIDTH)]


def similarity(one: str, other: str) -> float:
    """How much two sketched bodies share, from 0 to 1."""
    if one == other:
        return 1.0 if one else 0.0
    left, right = unpack(one), unpack(other)
    both, union = left & right, left | right
    if not both or max(len(left), len(right)) < SAMPLE:
        return len(both) / len(union)
    sample = sorted(union)[:SAMPLE]
    return len(both.intersection(sample)) / len(sample)
