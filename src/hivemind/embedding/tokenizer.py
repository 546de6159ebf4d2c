"""Tokenise text for the model: byte-level pair encoding, as GPT-2 and RoBERTa use it."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

WORD = re.compile(r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", re.ASCII)
"""Where words begin and end; a space belongs to the word after it."""

LONGEST_WORD_CHARACTERS = 256
"""Longer runs (encoded blobs, mostly) are cut here, because merging a run costs the square of its length."""

CACHED_WORDS = 1 << 15


MARKERS = ("<s>", "<pad>", "</s>", "<unk>")
"""The first tokens; no text contains them."""


class Tokenizer:
    """Merges of bytes into tokens."""

    def __init__(self, merges: Sequence[str]) -> None:
        """Take merges as "left right", in the order in which they are applied.

        Markers, the 256 bytes and what each merge makes are numbered in this order; no two merges make the same token.
        """
        # Thirty thousand: a second table, from tokens to numbers, would double the time that loading takes.
        self._merge_ranks = dict(zip(merges, range(len(merges)), strict=True))
        # Not a decorator on the method, which would keep every instance alive.
        self._word_ids = lru_cache(CACHED_WORDS)(self._merge)

    def encode(self, text: str, limit: int) -> list[int]:
        """Return the ids of the first tokens, at most ``limit``; text that looks like a special token is plain text."""
        ids: list[int] = []
        for word in split_words(text):
            ids.extend(self._word_ids(word))
            if len(ids) >= limit:
                break
        return ids[:limit]

    def rank_word(self, word: str) -> int | None:
        """Return the id of a word that is a token of its own; common words were merged first and have low ids."""
        ids = self.encode(f" {word}", limit=2)
        return ids[0] if len(ids) == 1 else None

    def _merge(self, word: str) -> tuple[int, ...]:
        """Join the pair of the highest priority, everywhere at once, until no known pair is left."""
        pieces = list(_spell_bytes(word))
        merged_ids: dict[str, int] = {}
        while len(pieces) > 1:
            ranks = [self._merge_ranks.get(f"{first} {second}", _NEVER) for first, second in pairwise(pieces)]
            best = min(ranks)
            if best == _NEVER:
                break
            position = ranks.index(best)
            merged_ids[pieces[position] + pieces[position + 1]] = _FIRST_MERGE + best
            pieces = _join(pieces, ranks, best)
        return tuple(merged_ids[piece] if len(piece) > 1 else _BYTE_IDS[piece] for piece in pieces)


def split_words(text: str) -> Iterator[str]:
    """Split the text into words, in order and without losing a character."""
    shape = text if text.isascii() else text.translate(_STAND_INS)
    for match in WORD.finditer(shape):
        for start in range(match.start(), match.end(), LONGEST_WORD_CHARACTERS):
            yield text[start : min(start + LONGEST_WORD_CHARACTERS, match.end())]


def _join(pieces: list[str], ranks: list[int], rank: int) -> list[str]:
    result: list[str] = []
    position = 0
    while position < len(pieces):
        if position < len(ranks) and ranks[position] == rank:
            result.append(pieces[position] + pieces[position + 1])
            position += 2
        else:
            result.append(pieces[position])
            position += 1
    return result


def _spell_bytes(word: str) -> str:
    """Return one visible character for each byte of the word, as the vocabulary spells them."""
    # Half a surrogate pair cannot be encoded; it is read as a question mark.
    return word.encode("utf-8", "replace").decode("latin-1").translate(_VISIBLE)


class _StandIns(dict[int, str]):
    """Maps each character beyond ASCII to one in ASCII of the same class, because `re` has no Unicode classes."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = stand_in = character if code < 128 else _find_stand_in(character)
        return stand_in


def _find_stand_in(character: str) -> str:
    match unicodedata.category(character)[0]:
        case "L":
            return "a"
        case "N":
            return "0"
        case "Z":
            return "\t"
        case _:
            # NEL is a control character by category, and white space for the model's tokeniser.
            return "\t" if character == "\x85" else "!"


def _map_bytes() -> dict[int, str]:
    """Map each byte to a visible character, by the table that GPT-2's vocabulary was made with."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    invisible = [byte for byte in range(256) if byte not in visible]
    return {byte: chr(byte) for byte in visible} | {byte: chr(256 + n) for n, byte in enumerate(invisible)}


_NEVER = 1 << 30
_STAND_INS = _StandIns()
_VISIBLE = _map_bytes()
_BYTE_IDS = {character: len(MARKERS) + place for place, character in enumerate(sorted(_VISIBLE.values()))}
_FIRST_MERGE = len(MARKERS) + len(_BYTE_IDS)
