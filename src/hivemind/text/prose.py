"""Split what a person typed into sentences, without code, pastes and what a client added."""

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


NOT_TYPED = re.compile(
    r"\A\s*(?:<(?!http)|\[Request interrupted|Caveat:|Base directory for this skill|This session is being continued"
    r"|\[\[ ##|# AGENTS\.md instructions|Stop hook feedback|Implement the following plan|[+>|]"
    r"|\S+ (?:low|medium|high) severity|.*\b(?:medium|high|low) severity\b)",
    re.IGNORECASE,
)
"""Openings of plans, skills, reviews and logs that a client or another agent wrote in the person's place."""
LONGEST_TYPED = 2000
"""Characters; a longer prompt is a pasted document."""
QUOTED_LINE = re.compile(r"^[ \t]*(?:[>|+│┃⎿⚠✓✔✗✘]|\$ |[-+]{3} |@@ |\d+[:|]\s).*$", re.MULTILINE)
"""A line that somebody quotes, or that a terminal printed."""


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


def split_typed(prompt: str) -> tuple[str, ...]:
    """Return the sentences that a person typed; none where a client or another agent wrote the prompt."""
    if len(prompt) > LONGEST_TYPED or NOT_TYPED.match(prompt):
        return ()
    return tuple(sentence.text for sentence in split_prompt(QUOTED_LINE.sub("\n\n", prompt)))


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
