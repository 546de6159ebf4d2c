"""Compare two short statements by their words: whether they are about one thing, and whether they say the same."""

import re

from hivemind.text.tokenise import extract_terms

NEGATION = re.compile(r"\b(?:not|no|never|without|stop|avoid|cannot|\w+n['’]?t)\b", re.IGNORECASE)
NUMBER = re.compile(r"\d+(?:\.\d+)*")
COMPOUND_NAME = re.compile(r"\w+(?:[./_-]+\w+)+")
"""Files, paths and other names of several parts; their parts may all be words of the other statement too."""
FEWEST_WORDS = 3
"""Statements with fewer words share them by chance."""
SAME_TOPIC, SAME_STATEMENT = 0.6, 0.75
"""Shares of words: of the shorter statement, and of both together."""


def is_same_topic(left: str, right: str) -> bool:
    """Whether two statements are about one thing, whatever they say about it."""
    words, others = _stems(left), _stems(right)
    return min(len(words), len(others)) >= FEWEST_WORDS and len(words & others) >= SAME_TOPIC * min(
        len(words), len(others)
    )


def is_same_statement(left: str, right: str) -> bool:
    """Whether two statements say the same in nearly the same words."""
    words, others = _stems(left), _stems(right)
    return (
        min(len(words), len(others)) >= FEWEST_WORDS
        and len(words & others) >= SAME_STATEMENT * len(words | others)
        # One word can turn a statement around.
        and len(NEGATION.findall(left)) == len(NEGATION.findall(right))
        and set(NUMBER.findall(left)) == set(NUMBER.findall(right))
        and not _name_different_things(left, right)
    )


def _name_different_things(left: str, right: str) -> bool:
    """Whether each statement names something that the other does not, such as another file."""
    names, others = ({name.lower() for name in COMPOUND_NAME.findall(text)} for text in (left, right))
    return bool(names - others and others - names)


def _stems(text: str) -> set[str]:
    # A crude stem: endings differ from one wording to the next.
    singulars = (term.removesuffix("s") for term in extract_terms(text))
    return {term[: max(4, len(term) - 2)] for term in singulars}
