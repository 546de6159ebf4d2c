"""Find training text that also occurs in the question sets that the model is scored on."""

import json
import lzma
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

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


def read_forbidden_runs(paths: Iterable[Path]) -> frozenset[int]:
    """Return the runs of the question sets that ``lab.training.cases`` wrote."""
    return collect_runs(json.loads(lzma.decompress(path.read_bytes())) for path in paths)


def collect_runs(question_sets: Iterable[Mapping[str, Any]]) -> frozenset[int]:
    """Return the runs of all passages and questions."""
    runs: set[int] = set()
    for content in question_sets:
        for text in content["passages"]:
            runs.update(hash_runs(text))
        for cases in content["sets"].values():
            for case in cases:
                for question in case["questions"]:
                    runs.update(hash_runs(question))
    return frozenset(runs)
