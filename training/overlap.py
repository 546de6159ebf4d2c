"""Tell whether a text shares a run of eight words with the question sets that the model is scored on."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

RUN = 8
WORD = re.compile(r"[a-z0-9]+")


def hash_runs(text: str) -> Iterator[int]:
    """Yield a number for each run of eight words; runs of fewer than four different words say nothing."""
    words = WORD.findall(text.lower())
    for start in range(len(words) - RUN + 1):
        run = words[start : start + RUN]
        if len(set(run)) >= RUN - 2:
            yield hash(" ".join(run))


def hash_folder(folder: Path) -> frozenset[int]:
    """Return the runs of every text in the JSON files below a folder."""
    runs: set[int] = set()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            raw = path.read_bytes()
            text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8", "replace")
            for string in _list_strings(path, text):
                runs.update(hash_runs(string))
    return frozenset(runs)


def shares_run(text: str, forbidden: frozenset[int]) -> bool:
    """Tell whether any run of the text is among the forbidden ones."""
    return any(run in forbidden for run in hash_runs(text))


def _list_strings(path: Path, text: str) -> Iterator[str]:
    """Yield the strings of a JSON or JSON lines file, else the whole text."""
    try:
        if path.suffix == ".jsonl":
            for line in text.splitlines():
                yield from _walk(json.loads(line))
        else:
            yield from _walk(json.loads(text))
    except ValueError:
        yield text


def _walk(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, child in value.items():
                yield str(key)
                yield from _walk(child)
        case list():
            for child in value:
                yield from _walk(child)
