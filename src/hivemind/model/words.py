"""A text as the index sees it: cut into passages where it is long, and its words, identifiers whole and in parts."""

import re

IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:[./\\:-]+)[\w$]+)*")
PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
WORD = re.compile(r"\w+", re.UNICODE)
QUOTED = re.compile(r'"([^"]+)"')

LONGEST = 1_600
"""Characters; about 400 tokens, which the embedding model reads whole."""
OVERLAP = 200
BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?;])\s")
LONGEST_SEARCH = 120
"""Characters; what is longer is a text somebody pasted, not a search somebody typed."""

STOP_WORDS = frozenset(
    """
    a about all also am an and any are as at be been but by can could did do does for from get had has have he her
    here him his how i if in into is it its just like may me might more most must my no not of on or our out over
    please shall she should so some such than that the their them then there these they this those to too under up
    us use used using very was we were what when where which while who whom whose why will with would you your
    """.split()  # noqa: SIM905 - a list of quoted words would be harder to read
)


def code_words(text: str) -> str:
    """Identifiers in the text, squeezed whole and cut into parts.

    ``getUserById`` gives ``getuserbyid get user by id``. Squeezing makes ``get_user_by_id``,
    ``getUserById`` and ``get-user-by-id`` the same word.
    """
    found: dict[str, None] = {}
    for identifier in IDENTIFIER.findall(text):
        for name in re.split(r"[./\\:]+", identifier):
            parts = [part.lower() for part in PART.findall(name)]
            if len(parts) > 1:
                found["".join(parts)] = None
                found.update(dict.fromkeys(parts))
    return " ".join(found)


def terms(question: str) -> list[str]:
    """The words of a question worth looking for, each once; all of them if none is."""
    words = [word.lower() for word in WORD.findall(question)] + code_words(question).split()
    unique = list(dict.fromkeys(words))
    return [word for word in unique if word not in STOP_WORDS] or unique


def coverage(question: str, text: str) -> float:
    """Which share of the telling words of a question stands in a text, endings aside."""
    return share_of(terms(question), text)


def share_of(asked: list[str], text: str) -> float:
    """Which share of the words stands in a text, endings aside."""
    held = text.lower()
    return sum(word[: max(4, len(word) - 2)] in held for word in asked) / len(asked) if asked else 0.0


def phrases(question: str) -> list[str]:
    """What a short question puts in double quotes: it must stand together. Long texts quote for other reasons."""
    if len(question) > LONGEST_SEARCH:
        return []
    return [phrase.strip() for phrase in QUOTED.findall(question) if WORD.search(phrase)]


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
