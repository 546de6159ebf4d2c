"""Split words of other scripts and languages into parts, because the search index stems English only."""

import re
import unicodedata
from functools import cache

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
"""Scripts without spaces between words, and Hangul, whose words carry their particles."""
INDIC = "\u0900-\u0963\u0966-\u0dff"
"""Their vowel signs belong to words, but regular expressions do not count them as letters."""
WORD = re.compile(f"[\\w{INDIC}]+")
LATIN_LETTERS = re.compile("[a-z]+")
BEYOND_LATIN = re.compile(f"[^\\W\\d_\u0000-\u02af\u1e00-\u1eff]|[{INDIC}]")
JAPANESE_MARKS = frozenset("\u3099\u309a")

GRAM_LETTERS = 4
"""The best length in comparisons over European languages (McNamee and Mayfield 2004)."""
GRAM_MARK = "ǀ"
"""Begins every gram, so that a gram is not taken for a word of four letters."""
ENGLISH_WORDS = frozenset(
    """
    all and are at be but by can do does for from has have how if is it must never not of on only or our should than
    that the their then they this to use we what when where which who will with you your
    """.split()  # noqa: SIM905 - a list of quoted words would be harder to read
)


def fold(text: str) -> str:
    """Return a text in lower case and without accents."""
    return remove_accents(text.lower())


def remove_accents(text: str) -> str:
    """Return a text with bare letters, as the search index compares them."""
    if text.isascii():
        return text
    letters = unicodedata.normalize("NFKD", text)
    # Each character is looked at once, because a long text has few different ones.
    accents = {ord(letter): None for letter in set(letters) - JAPANESE_MARKS if unicodedata.combining(letter)}
    return unicodedata.normalize("NFC", letters.translate(accents))


def is_beyond_latin(text: str) -> bool:
    """Whether most letters of a text belong to another script than the Latin one."""
    if text.isascii():
        return False
    return 2 * len(BEYOND_LATIN.findall(text)) > sum(map(str.isalpha, text))


def is_unspaced(word: str) -> bool:
    """Whether a word begins with a character of a script without spaces."""
    # The comparison spares most words of other scripts, and the marks of grams and concepts, the pattern.
    return word >= UNSPACED[0] and bool(_unspaced_run().match(word))


def remove_unspaced(text: str) -> str:
    """Return a text without its parts in scripts without spaces."""
    return text if text.isascii() else _unspaced_run().sub(" ", text)


def split_pairs(text: str) -> list[str]:
    """Return the overlapping pairs of characters in scripts without spaces, each once."""
    if text.isascii():
        return []
    runs = _unspaced_run().findall(fold(text))
    return list(dict.fromkeys(run[start : start + 2] for run in runs for start in range(max(1, len(run) - 1))))


def split_grams(text: str) -> list[str]:
    """Return the overlapping grams of words that are not English, each once.

    Endings, prefixes and compounds change a word, but seldom all of its grams: ``Freitags`` and ``Freitag`` share four.
    """
    folded_text = fold(text)
    words = (LATIN_LETTERS if folded_text.isascii() else _letters()).findall(folded_text)
    if not ENGLISH_WORDS.isdisjoint(words):
        words = [word for word in words if BEYOND_LATIN.match(word)]
    return list(
        dict.fromkeys(
            GRAM_MARK + word[start : start + GRAM_LETTERS]
            for word in words
            for start in range(len(word) - GRAM_LETTERS + 1)
        )
    )


# Classes of that many characters take 2 ms each to compile, and most texts need none of them.
@cache
def _unspaced_run() -> re.Pattern[str]:
    return re.compile(f"[{UNSPACED}]+")


@cache
def _letters() -> re.Pattern[str]:
    return re.compile(f"(?:[^\\W\\d_{UNSPACED}]|[{INDIC}])+")
