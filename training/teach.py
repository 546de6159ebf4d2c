"""Let both teachers embed what ``training.prepare`` wrote, and group the queries into clusters of rivals.

python -m training.teach WORK TOKENS...

WORK contains the teachers and tokens.npz; data.pt is written to it. This is the first step that wants a GPU.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from training import encoder

CLUSTER = 4_000
"""Texts in a cluster; batches are drawn from one cluster, so that rivals are close."""
RIVALS = 2_000
WORST_RANK = 20
"""A question and its text are a natural pair if one teacher ranks the text so well among so many of its kind."""


def main() -> None:
    """Write tokens of the student, vectors of the teachers and clusters."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("tokens", nargs="*", default=["tokens.npz"], help="files of prepare; several are joined")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    started = time.monotonic()
    tokens = join([dict(np.load(options.work / name)) for name in options.tokens])
    pack = encoder.Pack(options.work / "granite-embedding-30m-english-int8.hmsemb")
    trimmed = json.loads((options.work / "tokenizer.json").read_text())
    del trimmed["old_ids"]
    table = map_tokens(pack.tokenizer, Tokenizer.from_str(json.dumps(trimmed)))
    vectors = {
        "granite": embed_all(encoder.load_granite(pack), "granite", tokens, options.device),
        "arctic": embed_all(encoder.load_arctic(options.work / "arctic.npz"), "arctic", tokens, options.device),
    }
    print(f"embedded after {time.monotonic() - started:.0f} s", flush=True)
    owners, kinds = (torch.from_numpy(tokens[name].astype(np.int64)) for name in ("owners", "kind"))
    kind_names = tokens["kinds"].tolist()
    share = torch.from_numpy(tokens["share"])[kinds]
    natural = find_natural(torch.from_numpy(tokens["natural"]), kind_names, kinds, owners, list(vectors.values()))
    torch.save(
        {
            "queries": replace_tokens(tokens["granite_queries"], tokens["granite_queries_lengths"], table),
            "texts": replace_tokens(tokens["granite_texts"], tokens["granite_texts_lengths"], table),
            "owners": owners,
            "kinds": kind_names,
            "kind": kinds,
            "shares": torch.stack([1 - share, share], dim=1),
            "natural": natural,
            "vectors": vectors,
            "cluster": cluster(vectors["granite"][1], owners, kinds, options.device),
        },
        options.work / "data.pt",
    )
    print(f"written after {time.monotonic() - started:.0f} s", flush=True)


def join(parts: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return several files of ``prepare`` as one; numbers of texts and queries are counted on."""
    first = parts[0]
    for part in parts[1:]:
        texts, queries = len(first["text_sources"]), len(first["query_sources"])
        part["owners"] = part["owners"] + texts
        part["text_sources"], part["query_sources"] = part["text_sources"] + texts, part["query_sources"] + queries
        first = {
            name: value if name in {"kinds", "share"} else np.concatenate([value, part[name]])
            for name, value in first.items()
        }
    return first


def embed_all(model: nn.Module, name: str, tokens: dict[str, NDArray[Any]], device: str) -> tuple[Tensor, Tensor]:
    """Return a teacher's vectors of queries and texts; a translation has those of the English original."""
    vectors = []
    for part, sources in (("queries", "query_sources"), ("texts", "text_sources")):
        lengths = tokens[f"{name}_{part}_lengths"].astype(np.int64)
        rows = np.split(tokens[f"{name}_{part}"], lengths.cumsum()[:-1])
        vectors.append(encoder.embed(model, rows, device)[torch.from_numpy(tokens[sources]).to(device).long()].cpu())
    return vectors[0], vectors[1]


def find_natural(
    natural: Tensor, names: list[str], kinds: Tensor, owners: Tensor, teachers: list[tuple[Tensor, Tensor]]
) -> Tensor:
    """Return which pairs are natural, without the written questions that no teacher finds the answer to."""
    natural = natural.clone()
    for number in (number for number, name in enumerate(names) if name.startswith("asked")):
        members = torch.nonzero(kinds == number)[:, 0]
        if len(members):
            natural[members] &= is_answer(teachers, members, owners[members])
            print(f"{names[number]}: {int(natural[members].sum())} of {len(members)} are natural pairs", flush=True)
    return natural


def is_answer(teachers: list[tuple[Tensor, Tensor]], queries: Tensor, texts: Tensor) -> Tensor:
    """Tell for each query whether a teacher puts its text among the first of many rivals.

    A language model sometimes asks what many texts answer, or none; the teachers' order is still learned for those.
    """
    generator = torch.Generator().manual_seed(18)
    rivals = texts[torch.randperm(len(texts), generator=generator)[:RIVALS]]
    is_near = torch.zeros(len(queries), dtype=torch.bool)
    for query_vectors, text_vectors in teachers:
        query, own = query_vectors[queries].float(), text_vectors[texts].float()
        nearer = (query @ text_vectors[rivals].float().T > (query * own).sum(1, keepdim=True) + 1e-4).sum(1)
        is_near |= nearer < WORST_RANK
    return is_near


def map_tokens(full: dict[str, Any], student: Tokenizer) -> list[list[int]]:
    """Return the student's tokens for each token of the teacher whose merges it has the first of.

    What the later merges join is the same wherever the token stands, so no text must be tokenised a second time.
    """
    vocabulary = student.get_vocab()
    table: list[list[int]] = [[] for _ in range(max(full["model"]["vocab"].values()) + 1)]
    for token, number in full["model"]["vocab"].items():
        whole = vocabulary.get(token)
        table[number] = [part.id for part in student.model.tokenize(token)] if whole is None else [whole]
    return table


def replace_tokens(
    ids: NDArray[np.uint16], lengths: NDArray[np.uint16], table: list[list[int]]
) -> tuple[Tensor, Tensor]:
    """Return the student's tokens of all texts in a row, and where each text starts."""
    counts = np.array([len(parts) for parts in table])
    flat = np.concatenate([np.array(parts, np.int32) for parts in table])
    repeats = counts[ids]
    # The nth part of a token stands n places after its first part in the flat table.
    firsts = np.repeat((counts.cumsum() - counts)[ids], repeats)
    ends = repeats.cumsum()
    within = np.arange(ends[-1]) - np.repeat(ends - repeats, repeats)
    stops = lengths.astype(np.int64).cumsum()
    starts = np.concatenate([[0], ends[stops - 1]])
    return torch.from_numpy(flat[firsts + within]), torch.from_numpy(starts)


def cluster(vectors: Tensor, owners: Tensor, kinds: Tensor, device: str) -> Tensor:
    """Return a cluster for each query, by its text: a few rounds of k-means within each kind."""
    generator = torch.Generator().manual_seed(18)
    result = torch.zeros(len(owners), dtype=torch.long)
    offset = 0
    for kind in range(int(kinds.max()) + 1):
        members = torch.nonzero(kinds == kind)[:, 0]
        if not len(members):
            continue
        points = vectors[owners[members]].to(device).float()
        count = max(1, len(members) // CLUSTER)
        centres = points[torch.randperm(len(points), generator=generator)[:count].to(device)]
        for _ in range(6):
            nearest = torch.cat([(part @ centres.T).argmax(1) for part in points.split(100_000)])
            sums = torch.zeros_like(centres).index_add_(0, nearest, points)
            centres = nn.functional.normalize(sums, dim=1)
        result[members] = nearest.cpu() + offset
        offset += count
    return result


if __name__ == "__main__":
    main()
