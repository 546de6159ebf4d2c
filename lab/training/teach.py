"""Let three teachers embed what ``lab.training.prepare`` wrote, and group the queries into clusters of rivals.

python -m lab.training.teach WORK STUDENT.safetensors MERGES.txt

WORK contains two of the teachers, granite-embedding-30m-english-int8.hmsemb and arctic.npz with arctic-tokenizer.json;
tokenizer.json, cases-*.npz and data.pt are written to it. What the student knows already is kept, because it teaches
too; granite is better at finding code for a pasted issue and arctic at conversation. In every other language than
English the new student alone reads the text, and the teachers read what it says in English. This is the first step that
wants a GPU.
"""

import argparse
import json
import lzma
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from lab.training import encoder, export
from lab.training.prepare import read_rows
from lab.training.queries import Rows
from lab.training.train import load_student

QUERY_TOKENS, TEXT_TOKENS = 288, 400
"""An issue that somebody pastes is long, and so are passages of code."""
SHARES = {
    "talk": (0.2, 0.1, 0.7),
    "transcript": (0.5, 0.2, 0.3),
    "rule": (0.4, 0.2, 0.4),
    "manual": (0.4, 0.25, 0.35),
    "other": (0.4, 0.2, 0.4),
    "failure": (0.4, 0.3, 0.3),
    "python": (0.35, 0.45, 0.2),
    "code": (0.35, 0.45, 0.2),
    "commit": (0.4, 0.4, 0.2),
    "fix": (0.4, 0.6, 0.0),
    "related": (0.4, 0.6, 0.0),
}
"""How much the student, granite and arctic count in the order that is learned, for each kind of pair."""
CLUSTER = 4_000
"""Texts in a cluster; batches are drawn from one cluster, so that rivals are close."""


def main() -> None:
    """Write the tokens of the student and the vectors of the three teachers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("student", type=Path)
    parser.add_argument("merges", type=Path)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    work, device = options.work, options.device
    started = time.monotonic()

    def report(*words: object) -> None:
        print(f"[{time.monotonic() - started:5.0f}]", *words, flush=True)

    description = encoder.make_tokenizer(options.merges.read_text(encoding="utf-8").split("\n"))
    (work / "tokenizer.json").write_text(json.dumps(description))
    tokenizer = Tokenizer.from_str(json.dumps(description))
    for path in sorted(work.glob("cases-*.json.xz")):
        content = json.loads(lzma.decompress(path.read_bytes()))
        save_cases(work / f"{path.name.split('.')[0]}.npz", content, tokenizer)
    rows = read_rows(work)
    report(f"{len(rows.texts):,} texts, {len(rows.queries):,} queries")
    ids = [encoder.encode(tokenizer, part, limit) for part, limit in limit_parts(rows)]
    report(f"{sum(map(len, ids[0])) + sum(map(len, ids[1])):,} tokens")
    vectors = {}
    for name, model, own_tokenizer, prefix in load_teachers(work, options.student):
        vectors[name] = embed_rows(rows, model, own_tokenizer, prefix, device)
        report(name, "embedded")
    owners = torch.tensor(rows.owners)
    names = list(SHARES)
    kinds = torch.tensor([names.index(kind) for kind in rows.kinds])
    data = {
        "queries": join_tokens(ids[0]),
        "texts": join_tokens(ids[1]),
        "owners": owners,
        "kinds": names,
        "kind": kinds,
        "shares": torch.tensor(list(SHARES.values()))[kinds],
        "natural": torch.tensor(rows.are_natural),
        "vectors": vectors,
        "cluster": cluster(vectors["student"][1], owners, kinds, device),
    }
    torch.save(data, work / "data.pt")
    report("written")


def load_teachers(work: Path, student: Path) -> Iterator[tuple[str, nn.Module, Tokenizer, str]]:
    """Yield each teacher's name, its model, its tokenizer, and what stands before a query."""
    yield "student", load_student(student), read_tokenizer(export.read_merges(student)), ""
    pack = encoder.Pack(work / "granite-embedding-30m-english-int8.hmsemb")
    yield "granite", encoder.load_granite(pack), Tokenizer.from_str(json.dumps(pack.tokenizer)), ""
    arctic_tokenizer = Tokenizer.from_file(str(work / "arctic-tokenizer.json"))
    yield "arctic", encoder.load_arctic(work / "arctic.npz"), arctic_tokenizer, encoder.ARCTIC_PREFIX


def limit_parts(rows: Rows) -> list[tuple[list[str], int]]:
    """Return queries and texts, each with the tokens that are read of it."""
    return [(rows.queries, QUERY_TOKENS), (rows.texts, TEXT_TOKENS)]


def read_tokenizer(merges: list[str]) -> Tokenizer:
    """Return the tokenizer that these merges make."""
    return Tokenizer.from_str(json.dumps(encoder.make_tokenizer(merges)))


def embed_rows(rows: Rows, model: nn.Module, tokenizer: Tokenizer, prefix: str, device: str) -> tuple[Tensor, Tensor]:
    """Return a teacher's vectors of queries and texts; a translation has those of the English original."""
    results = []
    for (part, limit), sources, start in zip(
        limit_parts(rows), (rows.query_sources, rows.text_sources), (prefix, ""), strict=True
    ):
        used = set(sources)
        # A translation's own text is never read, so it costs no time.
        texts = [start + text if number in used else "" for number, text in enumerate(part)]
        vectors = encoder.embed(model, encoder.encode(tokenizer, texts, limit), device)
        results.append(vectors[torch.tensor(sources, device=vectors.device)].cpu())
    return results[0], results[1]


def join_tokens(rows: list[NDArray[np.uint16]]) -> tuple[Tensor, Tensor]:
    """Return all tokens in a row, and where each text starts."""
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return torch.from_numpy(np.concatenate(rows).astype(np.int32)), torch.from_numpy(starts)


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
