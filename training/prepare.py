"""Turn pairs into tokens: leave out what overlaps with a question set, make up more queries, tokenise for the teachers.

python -m training.prepare WORK PAIRS... --cases CASES... --merges 30000

WORK contains the teachers: granite-embedding-30m-english-int8.hmsemb, arctic-tokenizer.json. Written to it: tokens.npz,
cases-*.npz and tokenizer.json. This needs no GPU, so none waits for it; ``training.teach`` comes next.
"""

import argparse
import json
import lzma
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from training import encoder, overlap
from training.corpus import read_pairs
from training.pairs import Pair
from training.queries import Rows, expand

QUERY_TOKENS, TEXT_TOKENS = 288, 400
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
    "asked chat": 0.7,
    "asked code": 0.3,
    "asked issue": 0.2,
    "asked doc": 0.5,
}
"""The share of the second teacher in the order that is learned: it is better at conversation, worse at code."""


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
    question_sets = read_question_sets(options.cases)
    student = Tokenizer.from_str(json.dumps(trimmed))
    for path, content in question_sets.items():
        save_cases(options.work / f"{path.name.split('.')[0]}.npz", content, student)
    pairs = read_pairs(options.pairs)
    report(f"{len(pairs):,} pairs, {sum(len(p.query) + len(p.text) for p in pairs) / 1e6:.0f} million characters")
    pairs, removed = remove_overlap(pairs, list(question_sets.values()))
    report(f"{removed:,} pairs shared a run of eight words with a question set and were removed")
    rows = expand(pairs, random.Random(18))
    report(f"{len(rows.texts):,} texts, {len(rows.queries):,} queries", dict(Counter(rows.kinds)))
    tokens = describe(rows)
    for name, texts, limit in (("queries", rows.queries, QUERY_TOKENS), ("texts", rows.texts, TEXT_TOKENS)):
        tokens |= tokenise(f"granite_{name}", Tokenizer.from_str(json.dumps(granite)), texts, limit)
        report(name, f"{len(tokens[f'granite_{name}']) / 1e6:.1f} million tokens of the first teacher")
    second = Tokenizer.from_file(str(options.work / "arctic-tokenizer.json"))
    for name, texts, limit in zip(
        ("queries", "texts"), list_second_texts(rows), (QUERY_TOKENS, TEXT_TOKENS), strict=True
    ):
        tokens |= tokenise(f"arctic_{name}", second, texts, limit)
        report(name, f"{len(tokens[f'arctic_{name}']) / 1e6:.1f} million tokens of the second teacher")
    np.savez(options.work / options.out, **tokens)
    report("written")


def read_question_sets(paths: Sequence[Path]) -> dict[Path, Any]:
    """Return what ``training.cases`` wrote to each file."""
    return {path: json.loads(lzma.decompress(path.read_bytes())) for path in paths}


def describe(rows: Rows) -> dict[str, NDArray[Any]]:
    """Return which text each query belongs to, its kind, and what the teachers read instead of a translation."""
    kinds = list(ARCTIC_SHARE)
    return {
        "owners": np.array(rows.owners, np.int32),
        "kind": np.array([kinds.index(kind) for kind in rows.kinds], np.uint8),
        "kinds": np.array(kinds),
        "share": np.array(list(ARCTIC_SHARE.values()), np.float32),
        "natural": np.array(rows.are_natural),
        "query_sources": np.array(rows.query_sources, np.int32),
        "text_sources": np.array(rows.text_sources, np.int32),
    }


def list_second_texts(rows: Rows) -> tuple[list[str], list[str]]:
    """Return queries and texts for the second teacher; what it has no share in is empty, which saves its time."""
    queries: list[str] = []
    texts = [""] * len(rows.texts)
    for query, kind, owner in zip(rows.queries, rows.kinds, rows.owners, strict=True):
        has_share = ARCTIC_SHARE[kind] > 0
        queries.append(encoder.ARCTIC_PREFIX + query if has_share else "")
        if has_share:
            # Of a translation the teachers see only the source.
            for number in (owner, rows.text_sources[owner]):
                texts[number] = rows.texts[number]
    return queries, texts


def tokenise(name: str, tokenizer: Tokenizer, texts: Sequence[str], limit: int) -> dict[str, NDArray[Any]]:
    """Return the tokens of all texts in a row, and how many each has."""
    ids = encoder.encode(tokenizer, texts, limit)
    return {name: np.concatenate(ids), f"{name}_lengths": np.array([len(row) for row in ids], np.uint16)}


def remove_overlap(pairs: list[Pair], question_sets: Sequence[Mapping[str, Any]]) -> tuple[list[Pair], int]:
    """Return the pairs that share no run of eight words with a question set, and how many do."""
    forbidden = overlap.collect_runs(question_sets)
    clean = [pair for pair in pairs if not overlap.shares_run(f"{pair.query}\n{pair.text}", forbidden)]
    return clean, len(pairs) - len(clean)


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
