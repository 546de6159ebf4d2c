"""Digests and similarity sketches of code that ignore layout."""

import re
import struct
from base64 import urlsafe_b64decode
from binascii import b2a_base64
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

from hivemind.code.grammars import Grammar

SKETCH_SIZE = 64
"""Hashes kept per body. Similarity is exact up to this many; beyond, the error is mostly below 0.06."""

_HASH_BYTES = 3
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_TRAILING_COMMA = re.compile(rb",(?=\s*\n\s*[)\]}])")
_SINGLE_QUOTED = re.compile(rb"'([^'\"\\]*)'")
_WORD = re.compile(rb"[\w\x80-\xff]+|[^\s\w]")


def digest(content: bytes) -> str:
    """A digest of the content, as twelve characters."""
    return _encode(blake2b(content, digest_size=9).digest())


def _encode(content: bytes | bytearray) -> str:
    # What base64.urlsafe_b64encode does, without its two further calls: this runs two million times for a large tree.
    return b2a_base64(content, newline=False).translate(_URL_SAFE).decode()


def tokenize(text: bytes, grammar: Grammar | None) -> list[bytes]:
    """Split a text into tokens, without what a formatter may change: layout, trailing commas, quote style."""
    if grammar is None:
        return _WORD.findall(text)
    tokens: list[bytes] = grammar.token.findall(_TRAILING_COMMA.sub(b"", text))
    if grammar.alike and b"'" in text:
        # Only strings without quotes or escapes inside: these differ in nothing but the delimiter.
        tokens = [_SINGLE_QUOTED.sub(rb'"\1"', token) if token[0] == 39 else token for token in tokens]
    if grammar.noise:
        tokens = [token for token in tokens if token not in grammar.noise]
    return tokens


def sketch(tokens: Sequence[bytes]) -> list[int]:
    """The smallest hashes of all token triples, sorted (a bottom-k MinHash sketch)."""
    hashes = set(map(crc32, map(b" ".join, zip(tokens, tokens[1:], tokens[2:], strict=False))))
    return [value >> 8 for value in sorted(hashes)[:SKETCH_SIZE]]


def merge(sketches: Iterable[Iterable[int]]) -> list[int]:
    """The sketch of the union of several bodies."""
    return sorted(set[int]().union(*sketches))[:SKETCH_SIZE]


def pack(values: Sequence[int]) -> str:
    """Encode a sketch as text, with three bytes per hash."""
    buffer = bytearray(struct.pack(f">{len(values)}I", *values))
    del buffer[:: _HASH_BYTES + 1]  # the top byte of each is zero, since `sketch` shifts it out
    return _encode(buffer)


@lru_cache(maxsize=8192)
def unpack(text: str) -> frozenset[int]:
    """Decode a sketch from its text."""
    buffer = urlsafe_b64decode(text)
    return frozenset(
        int.from_bytes(buffer[start : start + _HASH_BYTES]) for start in range(0, len(buffer), _HASH_BYTES)
    )


def measure_similarity(first_sketch: str, second_sketch: str) -> float:
    """Estimate the Jaccard similarity of two bodies from their packed sketches, from 0 to 1."""
    if first_sketch == second_sketch:
        return 1.0 if first_sketch else 0.0
    first_hashes, second_hashes = unpack(first_sketch), unpack(second_sketch)
    intersection, union = first_hashes & second_hashes, first_hashes | second_hashes
    if not intersection or max(len(first_hashes), len(second_hashes)) < SKETCH_SIZE:
        return len(intersection) / len(union)
    # The smallest hashes of the union are a random sample of it; those in both sketches give the share.
    sample = sorted(union)[:SKETCH_SIZE]
    return len(intersection.intersection(sample)) / len(sample)
