"""Long texts cut into overlapping passages, so that the part that answers can be found and shown."""

import re

LONGEST = 1_600
"""Characters; about 400 tokens, which the embedding model reads whole."""
OVERLAP = 200
BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?;])\s")


def passages(text: str) -> list[str]:
    """The text itself if it is short; else pieces that end at a paragraph, line or sentence."""
    pieces: list[str] = []
    start = 0
    while len(text) - start > LONGEST:
        stop = _break_before(text, start + LONGEST, earliest=start + LONGEST // 2)
        pieces.append(text[start:stop].strip())
        start = max(stop - OVERLAP, start + 1)
        start = _word_start(text, start)
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]


def _break_before(text: str, limit: int, earliest: int) -> int:
    best = limit
    for found in BREAK.finditer(text, earliest, limit):
        best = found.end()
    return best


def _word_start(text: str, position: int) -> int:
    space = text.find(" ", position, position + 40)
    return position if space < 0 else space + 1
