"""Add tokens for other scripts to a student's vocabulary, whose merges were learned from English.

python -m lab.training.vocabulary STUDENT.safetensors OUT.npz MERGES.txt PAIRS... --count 4500

Later merges never change how a text is cut by earlier ones, so English keeps its tokens. A new token begins with the
mean of the vectors of the tokens that it takes the place of.
"""

import argparse
import heapq
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, pre_tokenizers

from lab.training import encoder, export
from lab.training.corpus import read_pairs
from lab.training.pairs import Pair

LANGUAGE_WEIGHTS = {
    "zh": 1.5, "ja": 1.2, "ko": 1.0, "ru": 1.0, "hi": 0.6, "ar": 0.6, "de": 0.2, "fr": 0.15, "es": 0.15, "pt": 0.15,
}  # fmt: skip
"""How much of the new vocabulary each language asks for; words of the last four are mostly known from English."""
LEAST_WEIGHT = 0.01
PIECES = 60_000
"""Distinct words of a language that are looked at, the most frequent ones."""
LONGEST_PIECE = 60


def main() -> None:
    """Learn the merges, then write them and the student with its larger table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("student", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("merges", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=4_500)
    options = parser.parse_args()
    weights = export.unpack(options.student)
    merges = bytes(weights["merges"]).decode().split("\n")
    tokenizer = Tokenizer.from_str(json.dumps(encoder.make_tokenizer(merges)))
    words = count_words(read_pairs(options.pairs))
    print(f"{len(words)} words", flush=True)
    pieces = [([token.value for token in tokenizer.model.tokenize(word)], weight) for word, weight in words.items()]
    added = learn_merges(pieces, set(tokenizer.get_vocab()), options.count)
    options.merges.write_text("\n".join([*merges, *added]), encoding="utf-8")
    np.savez(options.out, **enlarge(weights, tokenizer, added))
    print(f"{len(added)} merges, the last one {''.join(added[-1:])!r}")


def count_words(pairs: Iterable[Pair]) -> dict[str, float]:
    """Return the words that are not plain English with their weight, in the alphabet of bytes."""
    cut = pre_tokenizers.ByteLevel(add_prefix_space=False)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for pair in pairs:
        if pair.kind.startswith("other "):
            language = pair.kind[6:8]
            for text in {pair.text if pair.english_text else "", pair.query if pair.english_query else ""}:
                counts[language].update(word for word, _ in cut.pre_tokenize_str(text) if len(word) <= LONGEST_PIECE)
    words: dict[str, float] = defaultdict(float)
    for language, counter in counts.items():
        chosen = [(word, count) for word, count in counter.most_common(PIECES) if not word.lstrip("Ġ").isascii()]
        total = sum(len(word) * count for word, count in chosen)
        for word, count in chosen:
            words[word] += LANGUAGE_WEIGHTS.get(language, LEAST_WEIGHT) * count / total
    return dict(words)


def learn_merges(pieces: Sequence[tuple[list[str], float]], known: set[str], count: int) -> list[str]:
    """Return the merges that shorten the words most, one after the other."""
    words = [(list(tokens), weight) for tokens, weight in pieces]
    totals: dict[tuple[str, str], float] = defaultdict(float)
    holders: dict[tuple[str, str], set[int]] = defaultdict(set)
    for number, (tokens, weight) in enumerate(words):
        for pair in itertools.pairwise(tokens):
            totals[pair] += weight
            holders[pair].add(number)
    heap = [(-total, pair) for pair, total in totals.items()]
    heapq.heapify(heap)
    merges: list[str] = []
    while len(merges) < count and heap:
        total, best = heapq.heappop(heap)
        joined = "".join(best)
        # The package computes a token's number from its merge, so no two merges may make the same token.
        if joined in known:
            continue
        # Totals change while an entry waits; one that is out of date goes back with what it has now.
        if abs(total + totals[best]) > 1e-12:
            heapq.heappush(heap, (-totals[best], best))
            continue
        merges.append(" ".join(best))
        known.add(joined)
        changed = set()
        for number in holders.pop(best):
            tokens, weight = words[number]
            for pair in itertools.pairwise(tokens):
                totals[pair] -= weight
            place = 0
            while place < len(tokens) - 1:
                if (tokens[place], tokens[place + 1]) == best:
                    tokens[place : place + 2] = [joined]
                place += 1
            for pair in itertools.pairwise(tokens):
                totals[pair] += weight
                holders[pair].add(number)
                if joined in pair:
                    changed.add(pair)
        for pair in changed:
            heapq.heappush(heap, (-totals[pair], pair))
    return merges


def enlarge(weights: Mapping[str, NDArray[Any]], tokenizer: Tokenizer, added: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return a student's weights with a vector for each added token."""
    table = weights["words.weight"].astype(np.float32)
    rows = [
        table[[token.id for token in tokenizer.model.tokenize(merge.replace(" ", ""))]].mean(axis=0) for merge in added
    ]
    kept = {name: value for name, value in weights.items() if name != "merges" and not name.endswith(".scale")}
    larger = {**kept, "words.weight": np.vstack([table, *rows])}
    return {name: value.astype(np.float16) for name, value in larger.items()}


if __name__ == "__main__":
    main()
