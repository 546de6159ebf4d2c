"""The words of a file for the search by content: identifiers in parts, each as often as it occurs, up to a limit."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import lru_cache

MAX_REPEATS = 8
"""A word that occurs more often than this says no more about a file; each repeat costs a byte of the index."""

MAX_BYTES = 400_000
"""Only the beginning of a larger file is searched: it is mostly data."""

_IDENTIFIER = re.compile(rb"[A-Za-z\x80-\xff][\w\x80-\xff]{2,60}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_a-zA-Z]+")


@lru_cache(maxsize=32_768)
def split_identifier(identifier: str) -> tuple[str, ...]:
    """The parts of an identifier in lower case; of several, the whole without separators too."""
    parts = [part.lower() for part in _PART.findall(identifier)]
    long_parts = tuple(part for part in parts if len(part) > 1)
    return (*long_parts, "".join(parts)) if len(parts) > 1 else long_parts


def extract_words(source: bytes) -> str:
    """The words of a file, separated by spaces."""
    counts: defaultdict[str, int] = defaultdict(int)
    for identifier, count in Counter(_IDENTIFIER.findall(source[:MAX_BYTES])).items():
        for part in split_identifier(identifier.decode("utf-8", "replace")):
            counts[part] += count
    # Repeated as one text, because a step per word would take longer than counting them.
    return "".join([f"{word} " * min(count, MAX_REPEATS) for word, count in counts.items()]).rstrip()


def split_names(names: Iterable[str]) -> str:
    """The words of some names, separated by spaces."""
    return " ".join(part for name in names for part in split_identifier(name))


def split_path(path: str) -> str:
    """The words of a path, separated by spaces."""
    return split_names(re.findall(r"\w+", path))
