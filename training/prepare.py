"""Turn pairs into tokens: leave out what overlaps with a question set, make up more queries, tokenise for the teachers.

python -m training.prepare WORK PAIRS... --cases CASES... --merges 30000

WORK contains the teachers: granite-embedding-30m-english-int8.hmsemb, arctic-tokenizer.json. Written to it: tokens.npz,
cases-*.npz and tokenizer.json. This needs no GPU, so none waits for it; ``training.teach`` comes next.
"""

import argparse
import json
import lzma
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from training import encoder, overlap
from training.asking import ask_about
from training.pairs import Pair

QUERY_TOKENS, TEXT_TOKENS = 288, 320
"""Tokens of the first teacher; an issue that somebody pastes is long, and so are passages of code."""
ARCTIC_SHARE = {
    "talk": 0.8,
    "transcript": 0.5,
    "manual": 0.5,
    "rule": 0.5,
    "failure": 0.4,
    "commit": 0.35,
    "python": 0.3,
    "code": 0.3,
    "other": 0.4,
    "fix": 0.0,
    "related": 0.0,
}
"""The share of the second teacher in the order that is learned: it is better at conversation, worse at code."""

STOP_WORDS = frozenset(
    "the a an of to in for is and or with on at this that it as be are was if by from not".split()  # noqa: SIM905
)


def main() -> None:
    """Write everything that a student needs, but the teachers' vectors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("--cases", type=Path, nargs="*", default=[])
    parser.add_argument("--merges", type=int, default=30_000)
    parser.add_argument("--out", default="tokens.npz")
    options = parser.parse_args()
    started = time.monotonic()

    def report(*words: object) -> None:
        print(f"[{time.monotonic() - started:5.0f}]", *words, flush=True)

    granite = encoder.Pack(options.work / "granite-embedding-30m-english-int8.hmsemb").tokenizer
    trimmed, old_ids = encoder.trim_tokenizer(granite, options.merges)
    (options.work / "tokenizer.json").write_text(json.dumps({**trimmed, "old_ids": old_ids}))
    question_sets = {path: json.loads(lzma.decompress(path.read_bytes())) for path in options.cases}
    student = Tokenizer.from_str(json.dumps(trimmed))
    for path, content in question_sets.items():
        save_cases(options.work / f"{path.name.split('.')[0]}.npz", content, student)
    pairs = _read_pairs(options.pairs)
    report(f"{len(pairs):,} pairs, {sum(len(p.query) + len(p.text) for p in pairs) / 1e6:.0f} million characters")
    pairs, removed = remove_overlap(pairs, list(question_sets.values()))
    report(f"{removed:,} pairs shared a run of eight words with a question set and were removed")
    rows = expand(pairs, random.Random(18))
    report(f"{len(rows.texts):,} texts, {len(rows.queries):,} queries", dict(Counter(rows.kinds)))
    kinds = list(ARCTIC_SHARE)
    tokens: dict[str, NDArray[Any]] = {
        "owners": np.array(rows.owners, np.int32),
        "kind": np.array([kinds.index(kind) for kind in rows.kinds], np.uint8),
        "kinds": np.array(kinds),
        "share": np.array([ARCTIC_SHARE[kind] for kind in kinds], np.float32),
        "natural": np.array(rows.are_natural),
        "query_sources": np.array(rows.query_sources, np.int32),
        "text_sources": np.array(rows.text_sources, np.int32),
    }
    # Where the second teacher has no say it need not read.
    heard = [ARCTIC_SHARE[kind] > 0 for kind in rows.kinds]
    heard_texts = np.zeros(len(rows.texts), bool)
    np.logical_or.at(heard_texts, rows.owners, heard)
    first, second = (
        Tokenizer.from_str(json.dumps(granite)),
        Tokenizer.from_file(str(options.work / "arctic-tokenizer.json")),
    )
    prefixed = [encoder.ARCTIC_PREFIX + q if is_heard else "" for q, is_heard in zip(rows.queries, heard, strict=True)]
    second_texts = [text if is_heard else "" for text, is_heard in zip(rows.texts, heard_texts, strict=True)]
    for name, tokenizer, texts, limit in (
        ("granite_queries", first, rows.queries, QUERY_TOKENS),
        ("granite_texts", first, rows.texts, TEXT_TOKENS),
        ("arctic_queries", second, prefixed, QUERY_TOKENS),
        ("arctic_texts", second, second_texts, TEXT_TOKENS),
    ):
        ids = encoder.encode(tokenizer, texts, limit)
        tokens[f"{name}_lengths"] = np.array([len(row) for row in ids], np.uint16)
        tokens[name] = np.concatenate(ids)
        report(name, f"{len(tokens[name]) / 1e6:.1f} million tokens")
    np.savez(options.work / options.out, **tokens)
    report("written")


def _read_pairs(paths: Sequence[Path]) -> list[Pair]:
    pairs = []
    for path in paths:
        opener = lzma.open if path.suffix == ".xz" else open
        with opener(path, "rt", encoding="utf-8", errors="replace") as file:
            for line in file:
                pair = Pair(**json.loads(line.encode("utf-8", "replace")))
                pairs.append(pair)
    return pairs


def remove_overlap(pairs: list[Pair], question_sets: Sequence[Mapping[str, Any]]) -> tuple[list[Pair], int]:
    """Return the pairs that share no run of eight words with a question set, and how many do."""
    runs: set[int] = set()
    for content in question_sets:
        for text in content["passages"]:
            runs.update(overlap.hash_runs(text))
        for cases in content["sets"].values():
            for case in cases:
                for question in case["questions"]:
                    runs.update(overlap.hash_runs(question))
    forbidden = frozenset(runs)
    clean = [pair for pair in pairs if not overlap.shares_run(f"{pair.query}\n{pair.text}", forbidden)]
    return clean, len(pairs) - len(clean)


class Rows:
    """Distinct texts, and queries with the number of their text.

    A translation's source is the number of the English text or query whose vectors it is to have.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._query_numbers: dict[str, int] = {}
        self.text_sources: list[int] = []
        self.queries: list[str] = []
        self.query_sources: list[int] = []
        self.owners: list[int] = []
        self.kinds: list[str] = []
        self.are_natural: list[bool] = []

    @property
    def texts(self) -> list[str]:
        """The distinct texts."""
        return list(self._numbers)

    def add_text(self, text: str, english: str = "") -> int:
        """Return the number of a text."""
        source = self.add_text(english) if english else -1
        number = self._numbers.setdefault(text, len(self._numbers))
        if number == len(self.text_sources):
            self.text_sources.append(source if source >= 0 else number)
        return number

    def add_query(self, kind: str, query: str, text: int, *, is_natural: bool, english: str = "") -> None:
        """Add a query for a text; the English original of a translated query becomes a query of that text too."""
        source = -1
        if english:
            source = self._query_numbers.get(english, -1)
            if source < 0:
                self.add_query(kind, english, self.text_sources[text], is_natural=is_natural)
                source = self._query_numbers[english]
        number = len(self.queries)
        self._query_numbers.setdefault(query, number)
        self.queries.append(query)
        self.query_sources.append(source if source >= 0 else number)
        self.owners.append(text)
        self.kinds.append(kind)
        self.are_natural.append(is_natural)


def expand(pairs: Sequence[Pair], rng: random.Random) -> Rows:
    """Return the texts and queries of the pairs, and made-up queries."""
    rows = Rows()
    for pair in pairs:
        kind = "other" if pair.kind.startswith("other") else pair.kind
        number = rows.add_text(pair.text, pair.english_text)
        if len(pair.query) > 8:
            rows.add_query(kind, pair.query, number, is_natural=pair.is_natural, english=pair.english_query)
        for query, is_natural in make_queries(kind, pair, rng):
            rows.add_query(kind, query, number, is_natural=is_natural)
    return rows


TALK = (
    "When did {name} {a}?",
    "What did {name} say about {a} {b}?",
    "What {a} does {name} like?",
    "Where did {name} go for {a} {b}?",
    "How many {a} did {name} {b}?",
    "Why did {name} {a} {b}?",
    "What is {name}'s {a} {b}?",
    "Did I mention {a} {b}?",
    "what did we talk about regarding {a} and {b}",
)
WORK = ("how do we {a} {b}?", "where is {a} {b} handled?", "{a} {b} {c}", "why does {a} fail with {b}?", "{a} {b}")


def make_queries(kind: str, pair: Pair, rng: random.Random) -> Iterator[tuple[str, bool]]:
    """Yield a made-up question from words of the text, and a web search from a function's comment."""
    words = re.findall(r"[A-Za-z][a-z']{2,}", re.sub(r"([a-z])([A-Z])", r"\1 \2", pair.text.replace("_", " ")))
    words = [word for word in words if word.lower() not in STOP_WORDS]
    if kind == "talk":
        if question := ask_about(pair.text, rng):
            yield question, False
        elif len(words) >= 6 and rng.random() < 0.35:
            name = re.match(r"[A-Z][a-z]+(?=:)", pair.text)
            start = rng.randrange(len(words) - 2)
            a, b = words[start : start + 2] if rng.random() < 0.5 else rng.sample(words, 2)
            yield rng.choice(TALK).format(name=name[0] if name else "I", a=a.lower(), b=b.lower()), False
    elif kind != "other" and len(words) >= 6 and rng.random() < (0.6 if kind == "rule" else 0.2):
        start = rng.randrange(len(words) - 3)
        a, b, c = (word.lower() for word in words[start : start + 3])
        yield rng.choice(WORK).format(a=a, b=b, c=c), False
    if kind in {"python", "code"} and pair.is_natural:
        first = re.split(r"(?<=[.;:])\s", pair.query)[0].lower().strip(" .:;")
        short = " ".join([word for word in first.split() if word not in STOP_WORDS or rng.random() < 0.4][:9])
        short = re.sub(r"^(returns|gets|sets|checks|creates|converts|finds|reads|writes)\b", lambda m: m[0][:-1], short)
        form = rng.choice(("python {}", "{} python", "how to {} in python", "{}")) if kind == "python" else "{}"
        if len(short) > 8:
            yield form.format(short), True


def save_cases(path: Path, content: Mapping[str, Any], tokenizer: Tokenizer) -> None:
    """Write the question sets with the student's tokens."""
    questions = list(
        dict.fromkeys(q for cases in content["sets"].values() for case in cases for q in case["questions"])
    )
    arrays: dict[str, NDArray[Any]] = {
        "content": np.array(json.dumps({"sets": content["sets"], "questions": questions}))
    }
    for name, texts in (("questions", questions), ("passages", content["passages"])):
        ids = encoder.encode(tokenizer, texts, encoder.POSITIONS)
        arrays[name], arrays[f"{name}_lengths"] = np.concatenate(ids), np.array([len(row) for row in ids], np.uint16)
    np.savez(path, **arrays)


if __name__ == "__main__":
    main()
