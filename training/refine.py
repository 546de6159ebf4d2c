"""Prepare a training that goes on from an exported student, which is one of its three teachers.

python -m training.refine rows WORK PAIRS... --cases CASES...
python -m training.refine teach WORK STUDENT.safetensors MERGES.txt

This is used instead of ``training.prepare`` and ``training.teach``. The first step needs no GPU: it leaves out what
overlaps with a question set, makes up more queries and writes rows.json.xz. The second one writes tokenizer.json,
cases-*.npz and data.pt; WORK contains the teachers, granite-embedding-30m-english-int8.hmsemb, arctic.npz and
arctic-tokenizer.json. What the student knows already is kept, because it teaches too; granite is better at finding code
for a pasted issue and arctic at conversation. In every other language than English the student alone reads the text,
and the teachers read what it says in English.
"""

import argparse
import json
import lzma
import random
import time
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor, nn

from training import encoder, export, overlap, teach
from training.corpus import read_pairs
from training.pairs import Pair
from training.prepare import QUERY_TOKENS, TEXT_TOKENS, read_question_sets, save_cases
from training.queries import Rows, expand
from training.train import load_student

FIELDS = ("texts", "text_sources", "queries", "query_sources", "owners", "kinds", "are_natural")
KEPT = {"commit": 0.6, "code": 0.7, "fix": 0.6, "manual": 0.75}
"""The share of the pairs of a kind that is used; all of the others."""
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
FORBIDDEN: frozenset[int] = frozenset()


def main() -> None:
    """Do one of both steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    rows = steps.add_parser("rows")
    rows.add_argument("work", type=Path)
    rows.add_argument("pairs", type=Path, nargs="+")
    rows.add_argument("--cases", type=Path, nargs="*", default=[])
    teaching = steps.add_parser("teach")
    teaching.add_argument("work", type=Path)
    teaching.add_argument("student", type=Path)
    teaching.add_argument("merges", type=Path)
    teaching.add_argument("--device", default="cuda")
    options = parser.parse_args()
    if options.step == "rows":
        write_rows(options.work, options.pairs, options.cases)
    else:
        write_data(options.work, options.student, options.merges, options.device)


def write_rows(work: Path, paths: list[Path], cases: list[Path]) -> None:
    """Write texts and queries, numbered, without those that share text with a question set."""
    rng = random.Random(18)
    pairs = [pair for pair in read_pairs(paths) if rng.random() < KEPT.get(pair.kind, 1)]
    forbid(overlap.read_forbidden_runs(cases))
    with Pool() as pool:
        overlaps = pool.map(overlaps_question_set, pairs, chunksize=2_000)
    pairs = [pair for pair, is_known in zip(pairs, overlaps, strict=True) if not is_known]
    print(
        f"{len(pairs):,} pairs, and {sum(overlaps):,} that shared a run of eight words with a question set", flush=True
    )
    rows = expand(pairs, rng)
    print(f"{len(rows.texts):,} texts, {len(rows.queries):,} queries {dict(Counter(rows.kinds))}", flush=True)
    content = json.dumps({name: getattr(rows, name) for name in FIELDS}, ensure_ascii=False)
    (work / "rows.json.xz").write_bytes(lzma.compress(content.encode("utf-8", "replace"), preset=3))


def forbid(runs: frozenset[int]) -> None:
    """Set the runs that the processes of a pool compare with; they are too many to be sent to each."""
    global FORBIDDEN  # noqa: PLW0603
    FORBIDDEN = runs


def overlaps_question_set(pair: Pair) -> bool:
    """Tell whether a pair shares a run of eight words with a question set."""
    return overlap.shares_run(f"{pair.query}\n{pair.text}\n{pair.english_query}\n{pair.english_text}", FORBIDDEN)


def write_data(work: Path, student: Path, merges: Path, device: str) -> None:
    """Write the tokens of the student and the vectors of the three teachers."""
    started = time.monotonic()

    def report(*words: object) -> None:
        print(f"[{time.monotonic() - started:5.0f}]", *words, flush=True)

    description = encoder.make_tokenizer(merges.read_text(encoding="utf-8").split("\n"))
    (work / "tokenizer.json").write_text(json.dumps(description))
    tokenizer = Tokenizer.from_str(json.dumps(description))
    for path, content in read_question_sets(sorted(work.glob("cases-*.json.xz"))).items():
        save_cases(work / f"{path.name.split('.')[0]}.npz", content, tokenizer)
    rows = Rows()
    for name, values in json.loads(lzma.decompress((work / "rows.json.xz").read_bytes())).items():
        setattr(rows, name, values)
    report(f"{len(rows.texts):,} texts, {len(rows.queries):,} queries")
    ids = [encoder.encode(tokenizer, part, limit) for part, limit in limit_parts(rows)]
    report(f"{sum(map(len, ids[0])) + sum(map(len, ids[1])):,} tokens")
    old = export.unpack(student)
    pack = encoder.Pack(work / "granite-embedding-30m-english-int8.hmsemb")
    teachers: list[tuple[str, nn.Module, Tokenizer, str]] = [
        ("student", load_student(student), read_tokenizer(bytes(old["merges"]).decode().split("\n")), ""),
        ("granite", encoder.load_granite(pack), Tokenizer.from_str(json.dumps(pack.tokenizer)), ""),
        (
            "arctic",
            encoder.load_arctic(work / "arctic.npz"),
            Tokenizer.from_file(str(work / "arctic-tokenizer.json")),
            encoder.ARCTIC_PREFIX,
        ),
    ]
    vectors = {}
    for name, model, own_tokenizer, prefix in teachers:
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
        "cluster": teach.cluster(vectors["student"][1], owners, kinds, device),
    }
    torch.save(data, work / "data.pt")
    report("written")


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


if __name__ == "__main__":
    main()
