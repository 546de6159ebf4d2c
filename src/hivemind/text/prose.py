"""Split what a person typed into sentences, without code and without what a client added."""

import re
from collections.abc import Iterator
from typing import NamedTuple

FENCE = re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL)
TAGGED = re.compile(r"<([a-z][\w-]*)\b[^>]*>.*?</\1>", re.DOTALL)
"""Blocks that clients add around a prompt, such as the text selected in an editor."""
END = re.compile(r"(?<=[.!?])[\"')\]]*(?:\s+|\Z)|[ \t]*\n\s*")
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no|fig|al|[A-Z])|\A\s*\d+)\.\Z", re.IGNORECASE)
BULLET = re.compile(r"\A\s*(?:[-*•+]|\d+[.)]|\[[ x]\])\s+")
WRAPPED = 60
"""A line at least this long that ends without punctuation, before a line in lower case, was wrapped."""


class Sentence(NamedTuple):
    """A sentence, and where it begins and ends in the prompt."""

    begin: int
    end: int
    text: str


def split_prompt(prompt: str) -> Iterator[Sentence]:
    """Yield the sentences of a prompt, without code blocks and blocks in tags."""
    prose = _blank(TAGGED, _blank(FENCE, prompt))
    begin = 0
    for match in END.finditer(prose):
        if _continues(prose, begin, match):
            continue
        yield from _trim(prose, begin, match.start())
        begin = match.end()
    yield from _trim(prose, begin, len(prose))


def _blank(pattern: re.Pattern[str], text: str) -> str:
    return pattern.sub(lambda match: "\n" * len(match.group()), text)


def _continues(prose: str, begin: int, match: re.Match[str]) -> bool:
    if "\n" not in match.group():
        following = prose[match.end() : match.end() + 1]
        return bool(ABBREVIATION.search(prose[begin : match.start()])) and not following.isupper()
    line = prose[begin : match.start()].rpartition("\n")[2]
    return (
        match.group().count("\n") == 1
        and len(line) >= WRAPPED
        and line[-1:] not in ".!?:;"
        and prose[match.end() : match.end() + 1].islower()
    )


def _trim(prose: str, begin: int, end: int) -> Iterator[Sentence]:
    text = prose[begin:end]
    bullet = BULLET.match(text)
    begin += bullet.end() if bullet else len(text) - len(text.lstrip())
    text = prose[begin:end].rstrip()
    if any(character.isalpha() for character in text):
        yield Sentence(begin, begin + len(text), " ".join(text.split()))
