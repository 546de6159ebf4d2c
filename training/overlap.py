"""Find training text that also occurs in the question sets that the model is scored on."""

import re
from collections.abc import Iterator

RUN = 8
WORD = re.compile(r"[a-z0-9]+")


def list_runs(text: str) -> Iterator[tuple[str, ...]]:
    """Yield each run of eight words."""
    words = WORD.findall(text.lower())
    # Made and compared without a line of Python for each run: there are a hundred million of them.
    return zip(*(words[start:] for start in range(RUN)), strict=False)


def hash_runs(text: str) -> Iterator[int]:
    """Yield a number for each run that says something: eight words of which at least six differ."""
    return (hash(run) for run in list_runs(text) if len(set(run)) >= RUN - 2)


def shares_run(text: str, forbidden: frozenset[int]) -> bool:
    """Tell whether any run of the text is among the forbidden ones."""
    return not forbidden.isdisjoint(map(hash, list_runs(text)))
