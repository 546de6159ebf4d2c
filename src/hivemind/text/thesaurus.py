"""The terms by which texts are searched, above all concepts, whatever word, product or language names them.

A line of ``thesaurus.tsv`` is a concept and its expressions; ``*`` stands for any ending. The embedding model is small
and English: it does not know that pnpm is a package manager, nor that 密码 is a password.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hivemind.errors import Unavailable
from hivemind.text.search_terms import (
    INDIC,
    UNSPACED,
    WORD,
    extract_terms,
    fold,
    split_grams,
    split_identifiers,
    split_pairs,
)

FILE = Path(__file__).with_name("thesaurus.tsv")
JOINED = f"\u0590-\u07ff{INDIC}{UNSPACED}"
"""Scripts in which an expression can begin in the middle of a word: no spaces, or articles joined to the word."""
JOINED_BORDERS = [
    border for start in range(0, len(JOINED), 3) for border in (ord(JOINED[start]), ord(JOINED[start + 2]) + 1)
]
"""Where these scripts begin and end; a pattern of so many characters would take 3 ms to compile."""
HEAD_LETTERS = 3
LONG_WORD, LONG_PART = 10, 6
"""Letters: an expression of six counts inside a word of ten, as in ``Produktivdatenbank``."""
SPACED_WORD = re.compile(r"\S+")
CONCEPT_MARK = "ǁ"
"""Begins every concept, so that a concept is not taken for a word."""


# A tuple, because 2,240 of them are made at the start and a frozen dataclass takes three times as long.
class _Expression(NamedTuple):
    text: str
    has_any_ending: bool
    concept: str


def find_concepts(text: str) -> list[str]:
    """Return the names of the concepts that a text mentions, in the order in which they are mentioned."""
    by_head = _load()
    words = f"{' '.join(WORD.findall(fold(text).replace('_', ' ')))} "
    concepts: dict[str, None] = {}
    for start, is_inside in _list_starts(words):
        for expression in by_head.get(words[start : start + HEAD_LETTERS].rstrip(), ()):
            end = start + len(expression.text)
            is_part = expression.has_any_ending and (not is_inside or len(expression.text) >= LONG_PART)
            is_whole = not is_inside and words[end : end + 1] == " "
            if (is_part or is_whole) and words.startswith(expression.text, start):
                concepts[expression.concept] = None
    return list(concepts)


def expand_text(text: str) -> str:
    """Return what is indexed beside a text: parts of identifiers and of words that are not English, and concepts."""
    return " ".join(
        filter(None, (split_identifiers(text), *split_pairs(text), *split_grams(text), *_list_concepts(text)))
    )


def expand_question(question: str) -> list[str]:
    """Return the terms that a question is searched by."""
    return [*extract_terms(question), *split_grams(question), *_list_concepts(question)]


def _list_concepts(text: str) -> list[str]:
    return [CONCEPT_MARK + concept.replace(" ", "") for concept in find_concepts(text)]


def name_concepts(text: str) -> str:
    """Return a text with the names of its concepts behind it, in English, unless the text has them itself."""
    lower_text = text.lower()
    names = [concept for concept in find_concepts(text) if concept not in lower_text]
    return f"{text} ({', '.join(names)})" if names else text


def _list_starts(words: str) -> Iterator[tuple[int, bool]]:
    """Yield where an expression can begin, and whether that is inside a long word."""
    for match in SPACED_WORD.finditer(words):
        start, end = match.span()
        yield start, False
        if match[0].isascii():
            inside = range(start + 1, end - LONG_PART + 1) if end - start >= LONG_WORD else ()
            yield from ((place, True) for place in inside)
        else:
            for place in range(start + 1, end - 1):
                yield place, not _is_joined(words[place])


def _is_joined(character: str) -> bool:
    # The borders are sorted, so an odd number of them lies below a character inside.
    return bisect_right(JOINED_BORDERS, ord(character)) % 2 == 1


@cache
def _load() -> dict[str, list[_Expression]]:
    """Return the expressions by their first letters; most words begin like none of them."""
    by_head: dict[str, list[_Expression]] = {}
    try:
        # Folded as a whole, which takes a third of the time that folding each expression takes.
        for line in fold(FILE.read_text("utf-8")).splitlines():
            name, expressions = line.split("\t")
            for written in expressions.split(", "):
                text = written.removesuffix("*")
                has_any_ending = text != written or _is_joined(text[0])
                expression = _Expression(text, has_any_ending, name)
                by_head.setdefault(text[:HEAD_LETTERS].rstrip(), []).append(expression)
    except (OSError, ValueError, IndexError) as error:
        raise Unavailable(f"{FILE} is missing or damaged; install hivemind-memory again") from error
    return by_head
