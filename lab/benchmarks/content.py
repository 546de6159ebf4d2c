"""BM25 over the content of files, a baseline for what the code index finds."""

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from hivemind.code.index import CodeIndex
from hivemind.text.search_terms import PART

MAX_BYTES = 1_000_000
_WORD = re.compile(rb"[A-Za-z][A-Za-z0-9_]{2,}")


@lru_cache(maxsize=200_000)
def count_words(path: Path, stamp: int) -> Counter[str]:
    """Count the words of a file; the stamp tells its versions apart."""
    counts: Counter[str] = Counter()
    for identifier, count in Counter(_WORD.findall(path.read_bytes())).items():
        for part in PART.findall(identifier.decode()):
            counts[part.lower()] += count
    return counts


def read_documents(index: CodeIndex) -> Iterator[tuple[str, Counter[str]]]:
    """Yield the files of a tree with their words."""
    for path in index.list_paths():
        file = index.root / path
        if file.is_file() and file.stat().st_size < MAX_BYTES:
            yield path, count_words(file, file.stat().st_mtime_ns)


def rank_by_content(documents: Mapping[str, Counter[str]], terms: Collection[str]) -> list[str]:
    """All files that contain a term, best first, by BM25 with the usual parameters (k1 1.2, b 0.75)."""
    lengths = {path: counts.total() for path, counts in documents.items()}
    average = statistics.mean(lengths.values()) or 1.0
    scores: defaultdict[str, float] = defaultdict(float)
    for term in terms:
        holders = [path for path, counts in documents.items() if term in counts]
        weight = math.log(1 + (len(documents) - len(holders) + 0.5) / (len(holders) + 0.5))
        for path in holders:
            frequency = documents[path][term]
            scores[path] += weight * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * lengths[path] / average))
    return sorted(scores, key=lambda path: -scores[path])
