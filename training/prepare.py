"""Tokenise the pairs, let the teachers embed them, and group them into batches of rivals.

python -m training.prepare WORK PAIRS... --cases CASES... --merges 30000

WORK contains the teachers: granite-embedding-30m-english-int8.hmsemb, arctic.npz, arctic-tokenizer.json. Written to it:
data.pt, cases-*.pt and tokenizer.json.
"""

import argparse
import json
import lzma
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from training import encoder, evaluate, overlap
from training.pairs import Pair

QUERY_TOKENS, TEXT_TOKENS = 96, 224
ARCTIC_SHARE = {
    "talk": 0.8,
    "transcript": 0.5,
    "manual": 0.5,
    "failure": 0.4,
    "commit": 0.35,
    "python": 0.3,
    "code": 0.3,
    "fix": 0.2,
    "related": 0.2,
    "other": 0.2,
}
"""The share of the second teacher in the order that is learned: it is better at conversation, worse at code."""
CLUSTER = 4_000
"""Texts in a cluster; batches are drawn from one cluster, so that rivals are close."""

STOP_WORDS = frozenset(
    "the a an of to in for is and or with on at this that it as be are was if by from not".split()  # noqa: SIM905
)


def main() -> None:
    """Write everything that a student needs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("--cases", type=Path, nargs="*", default=[])
    parser.add_argument("--merges", type=int, default=30_000)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    started = time.monotonic()

    def report(*words: object) -> None:
        print(f"[{time.monotonic() - started:5.0f}]", *words, flush=True)

    questions = [json.loads(lzma.decompress(path.read_bytes())) for path in options.cases]
    pairs = _read_pairs(options.pairs)
    report(f"{len(pairs):,} pairs, {sum(len(p.query) + len(p.text) for p in pairs) / 1e6:.0f} million characters")
    pairs, removed = remove_overlap(pairs, questions)
    report(f"{removed:,} pairs shared a run of eight words with a question set and were removed")
    texts, queries = expand(pairs, random.Random(18))
    report(f"{len(texts):,} texts, {len(queries):,} queries", dict(Counter(kind for _, kind, _, _ in queries)))
    pack = encoder.Pack(options.work / "granite-embedding-30m-english-int8.hmsemb")
    trimmed, old_ids = encoder.trim_tokenizer(pack.tokenizer, options.merges)
    (options.work / "tokenizer.json").write_text(json.dumps({**trimmed, "old_ids": old_ids}))
    student = Tokenizer.from_str(json.dumps(trimmed))
    vectors: dict[str, tuple[Tensor, Tensor]] = {}
    query_texts = [query for _, _, query, _ in queries]
    for name, model, tokenizer, padding, prefix in (
        ("granite", encoder.load_granite(pack), Tokenizer.from_str(json.dumps(pack.tokenizer)), 1, ""),
        (
            "arctic",
            encoder.load_arctic(options.work / "arctic.npz"),
            Tokenizer.from_file(str(options.work / "arctic-tokenizer.json")),
            0,
            encoder.ARCTIC_PREFIX,
        ),
    ):
        model.to(options.device)
        query_ids = encoder.encode(tokenizer, [prefix + query for query in query_texts], QUERY_TOKENS + 16)
        text_ids = encoder.encode(tokenizer, texts, TEXT_TOKENS + 32)
        report(name, "tokenised")
        vectors[name] = (
            encoder.embed(model, query_ids, padding, options.device).cpu(),
            encoder.embed(model, text_ids, padding, options.device).cpu(),
        )
        report(name, "embedded")
        for path, content in zip(options.cases, questions, strict=True):
            teacher_cases = options.work / f"{name}-{path.name.split('.')[0]}.pt"
            save_cases(teacher_cases, content, tokenizer, prefix)
            table = evaluate.score(model, teacher_cases, padding, options.device, (encoder.WIDTH,))
            report(evaluate.format_row(f"SCORE {name} {path.stem}", table))
    for path, content in zip(options.cases, questions, strict=True):
        save_cases(options.work / f"{path.name.split('.')[0]}.pt", content, student, "")
    owners = torch.tensor([owner for owner, _, _, _ in queries])
    kinds = sorted({kind for _, kind, _, _ in queries})
    kind_numbers = torch.tensor([kinds.index(kind) for _, kind, _, _ in queries])
    query_ids, text_ids = (
        encoder.encode(student, query_texts, QUERY_TOKENS),
        encoder.encode(student, texts, TEXT_TOKENS),
    )
    report("tokens of a text, mean", round(float(np.mean([len(ids) for ids in text_ids])), 1))
    torch.save(
        {
            "queries": _stack(query_ids, QUERY_TOKENS),
            "texts": _stack(text_ids, TEXT_TOKENS),
            "owners": owners,
            "kinds": kinds,
            "kind": kind_numbers,
            "share": torch.tensor([ARCTIC_SHARE.get(kind, 0.2) for _, kind, _, _ in queries]),
            "natural": torch.tensor([natural for _, _, _, natural in queries]),
            "vectors": vectors,
            "cluster": cluster(vectors["granite"][1], owners, kind_numbers, options.device),
        },
        options.work / "data.pt",
    )
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


_FORBIDDEN: frozenset[int] = frozenset()


def _is_clean(text: str) -> bool:
    return not overlap.shares_run(text, _FORBIDDEN)


def remove_overlap(pairs: list[Pair], question_sets: Sequence[dict[str, Any]]) -> tuple[list[Pair], int]:
    """Return the pairs that share no run of eight words with a question set, and how many do."""
    global _FORBIDDEN  # noqa: PLW0603 - inherited by the worker processes, which a copy for each text would slow down
    runs: set[int] = set()
    for content in question_sets:
        for text in content["passages"]:
            runs.update(overlap.hash_runs(text))
        for cases in content["sets"].values():
            for case in cases:
                for question in case["questions"]:
                    runs.update(overlap.hash_runs(question))
    _FORBIDDEN = frozenset(runs)
    with ProcessPoolExecutor() as pool:
        are_clean = pool.map(_is_clean, [f"{pair.query}\n{pair.text}" for pair in pairs], chunksize=2_000)
        clean = [pair for pair, is_clean in zip(pairs, are_clean, strict=True) if is_clean]
    return clean, len(pairs) - len(clean)


def expand(pairs: Sequence[Pair], rng: random.Random) -> tuple[list[str], list[tuple[int, str, str, bool]]]:
    """Return distinct texts, and queries as (number of the text, kind, query, whether the pair is natural)."""
    numbers: dict[str, int] = {}
    queries: list[tuple[int, str, str, bool]] = []
    for pair in pairs:
        kind = "other" if pair.kind.startswith("other") else pair.kind
        number = numbers.setdefault(pair.text, len(numbers))
        if len(pair.query) > 8:
            queries.append((number, kind, pair.query, pair.is_natural))
        for query, natural in make_queries(kind, pair, rng):
            queries.append((number, kind, query, natural))
    return list(numbers), queries


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
    if kind == "talk" and len(words) >= 6 and rng.random() < 0.35:
        name = re.match(r"[A-Z][a-z]+(?=:)", pair.text)
        start = rng.randrange(len(words) - 2)
        a, b = words[start : start + 2] if rng.random() < 0.5 else rng.sample(words, 2)
        yield rng.choice(TALK).format(name=name[0] if name else "I", a=a.lower(), b=b.lower()), False
    elif kind not in {"talk", "other"} and len(words) >= 6 and rng.random() < 0.2:
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


def cluster(vectors: Tensor, owners: Tensor, kinds: Tensor, device: str) -> Tensor:
    """Return a cluster for each query, by its text: a few rounds of k-means within each kind."""
    generator = torch.Generator().manual_seed(18)
    result = torch.zeros(len(owners), dtype=torch.long)
    offset = 0
    for kind in range(int(kinds.max()) + 1):
        members = torch.nonzero(kinds == kind)[:, 0]
        points = vectors[owners[members]].to(device).float()
        count = max(1, len(members) // CLUSTER)
        centres = points[torch.randperm(len(points), generator=generator)[:count].to(device)]
        for _ in range(6):
            nearest = torch.cat([(part @ centres.T).argmax(1) for part in points.split(100_000)])
            sums = torch.zeros_like(centres).index_add_(0, nearest, points)
            centres = torch.nn.functional.normalize(sums, dim=1)
        result[members] = nearest.cpu() + offset
        offset += count
    return result


def save_cases(path: Path, content: dict[str, Any], tokenizer: Tokenizer, prefix: str) -> None:
    """Write the question sets with the tokens of one model."""
    questions = list(
        dict.fromkeys(q for cases in content["sets"].values() for case in cases for q in case["questions"])
    )
    torch.save(
        {
            "sets": content["sets"],
            "questions": questions,
            "question_ids": encoder.encode(tokenizer, [prefix + question for question in questions], 512),
            "passage_ids": encoder.encode(tokenizer, content["passages"], 512),
        },
        path,
    )


def _stack(rows: Sequence[np.ndarray[Any, Any]], limit: int) -> Tensor:
    """Return all rows as one matrix, padded with 1."""
    matrix = np.full((len(rows), limit), 1, np.int32)
    for number, row in enumerate(rows):
        matrix[number, : len(row)] = row
    return torch.from_numpy(matrix)


if __name__ == "__main__":
    main()
