"""Prepare a training that goes on from two exported students, which are its teachers too.

python -m training.refine WORK FIRST.safetensors SECOND.safetensors PAIRS... --cases CASES...

What both students agree on is kept, so that none of their gains is lost; pairs of a question and its passage teach
something new, and so does arctic for conversation, where it is still better. This is used instead of
``training.prepare`` and ``training.teach``. WORK contains arctic.npz and arctic-tokenizer.json; data.pt, cases-*.npz
and tokenizer.json are written to it.
"""

import argparse
import json
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from training import encoder, export, teach
from training.corpus import read_pairs
from training.prepare import (
    QUERY_TOKENS,
    TEXT_TOKENS,
    describe,
    read_question_sets,
    remove_overlap,
    save_cases,
)
from training.queries import Rows, expand
from training.train import load_student

SECOND_SHARE = {"talk": 0.8, "transcript": 0.3, "fix": 0.8, "related": 0.8, "other": 0.3, "asked chat": 0.4}
"""The share of the second student in the order that is learned: it was better at everyday talk and at commits."""
EQUAL_SHARE = 0.5
CONVERSATION = frozenset({"talk", "asked chat"})
ARCTIC_WEIGHT = 2.5
"""Of arctic beside the second student; its cosines differ less from each other."""


def main() -> None:
    """Write tokens and vectors of both students, and clusters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("students", type=Path, nargs=2)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("--cases", type=Path, nargs="*", default=[])
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    started = time.monotonic()
    merges = bytes(export.unpack(options.students[0])["merges"]).decode().split("\n")
    description = encoder.make_tokenizer(merges)
    (options.work / "tokenizer.json").write_text(json.dumps(description))
    tokenizer = Tokenizer.from_str(json.dumps(description))
    question_sets = read_question_sets(options.cases)
    for path, content in question_sets.items():
        save_cases(options.work / f"{path.name.split('.')[0]}.npz", content, tokenizer)
    pairs, removed = remove_overlap(read_pairs(options.pairs), list(question_sets.values()))
    print(f"{len(pairs)} pairs, and {removed} that shared text with a question set", flush=True)
    rows = expand(pairs, random.Random(18))
    print(f"{len(rows.texts)} texts, {len(rows.queries)} queries after {time.monotonic() - started:.0f} s", flush=True)
    ids = tokenise(rows, tokenizer)
    print(f"tokens after {time.monotonic() - started:.0f} s", flush=True)
    first, second = (
        [encoder.embed(model, part, options.device).cpu() for part in ids]
        for model in map(load_student, options.students)
    )
    arctic = embed_conversation(rows, options.work, options.device)
    # The product of joined vectors is the sum of both products.
    second = [torch.cat([own, other * ARCTIC_WEIGHT**0.5], dim=1) for own, other in zip(second, arctic, strict=True)]
    vectors = [(first[0], first[1]), (second[0], second[1])]
    torch.save(collect(rows, ids, vectors, options.device), options.work / "data.pt")
    print(f"written after {time.monotonic() - started:.0f} s", flush=True)


def tokenise(rows: Rows, tokenizer: Tokenizer) -> tuple[list[NDArray[np.uint16]], list[NDArray[np.uint16]]]:
    """Return the tokens of each query and of each text."""
    queries = encoder.encode(tokenizer, rows.queries, QUERY_TOKENS)
    return queries, encoder.encode(tokenizer, rows.texts, TEXT_TOKENS)


def embed_conversation(rows: Rows, work: Path, device: str) -> list[Tensor]:
    """Return arctic's vectors of queries and texts; whatever is no conversation has the vector of an empty text."""
    queries = [""] * len(rows.queries)
    texts = [""] * len(rows.texts)
    for number, (kind, owner) in enumerate(zip(rows.kinds, rows.owners, strict=True)):
        if kind in CONVERSATION:
            queries[number] = encoder.ARCTIC_PREFIX + rows.queries[number]
            texts[owner] = rows.texts[owner]
    tokenizer = Tokenizer.from_file(str(work / "arctic-tokenizer.json"))
    model = encoder.load_arctic(work / "arctic.npz")
    return [
        encoder.embed(model, encoder.encode(tokenizer, part, limit), device).cpu()
        for part, limit in ((queries, QUERY_TOKENS), (texts, TEXT_TOKENS))
    ]


def collect(
    rows: Rows,
    ids: tuple[list[NDArray[np.uint16]], ...],
    teachers: list[tuple[Tensor, Tensor]],
    device: str,
) -> dict[str, Any]:
    """Return what ``training.train`` reads."""
    facts = describe(rows)
    owners, kinds = (torch.from_numpy(facts[name].astype(np.int64)) for name in ("owners", "kind"))
    names = facts["kinds"].tolist()
    shares = torch.tensor([SECOND_SHARE.get(name, EQUAL_SHARE) for name in names])
    return {
        "queries": join_tokens(ids[0]),
        "texts": join_tokens(ids[1]),
        "owners": owners,
        "kinds": names,
        "kind": kinds,
        "share": shares[kinds],
        "natural": teach.find_natural(torch.from_numpy(facts["natural"]), names, kinds, owners, teachers),
        "vectors": dict(zip(("granite", "arctic"), teachers, strict=True)),
        "cluster": teach.cluster(teachers[0][1], owners, kinds, device),
    }


def join_tokens(rows: list[NDArray[np.uint16]]) -> tuple[Tensor, Tensor]:
    """Return all tokens in a row, and where each text starts."""
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return torch.from_numpy(np.concatenate(rows).astype(np.int32)), torch.from_numpy(starts)


if __name__ == "__main__":
    main()
