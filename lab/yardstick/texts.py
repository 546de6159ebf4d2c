"""Count words and tokens the same way for every system."""

import re
from collections.abc import Iterable

WORD = re.compile(r"[^\W_]+", re.UNICODE)
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a an and any are as at be been but by can could did do does for from had has have how i if in into is it its
        just me my no not now of on one only or our out please should so some than that the their them then there
        they this to up use was we were what when where which who why will with would you your
        """,
    )
)
CHARACTERS_PER_TOKEN = 4
"""The usual rule of thumb for English; what matters is that all systems are counted alike."""


def list_terms(text: str) -> set[str]:
    """Return the words of a text that carry meaning, without endings of plurals."""
    words = {word.lower() for word in WORD.findall(text.replace("_", " "))} - STOP_WORDS
    return {word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in words}


def measure_share(terms: Iterable[str], text: str) -> float:
    """Return the share of terms that occur in a text."""
    wanted = set(terms)
    return len(wanted & list_terms(text)) / len(wanted) if wanted else 0.0


def count_tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
