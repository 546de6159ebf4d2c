"""Leave out what overlaps with a question set, and make up more queries.

python -m lab.training.prepare WORK PAIRS... --cases CASES...

Writes rows.json.xz to WORK. This needs no GPU, so none waits for it; ``lab.training.teach`` comes next.
"""

import argparse
import json
import lzma
import random
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

from lab.training import overlap
from lab.training.corpus import read_pairs
from lab.training.pairs import Pair
from lab.training.queries import Rows, expand

FIELDS = ("texts", "text_sources", "queries", "query_sources", "owners", "kinds", "are_natural")
KEPT = {"commit": 0.6, "code": 0.7, "fix": 0.6, "manual": 0.75}
"""The share of the pairs of a kind that is used; all of the others."""
FORBIDDEN: frozenset[int] = frozenset()


def main() -> None:
    """Write texts and queries, numbered, without those that share text with a question set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("pairs", type=Path, nargs="+")
    parser.add_argument("--cases", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    rng = random.Random(18)
    pairs = [pair for pair in read_pairs(options.pairs) if rng.random() < KEPT.get(pair.kind, 1)]
    forbid(overlap.read_forbidden_runs(options.cases))
    with Pool() as pool:
        overlaps = pool.map(overlaps_question_set, pairs, chunksize=2_000)
    pairs = [pair for pair, is_known in zip(pairs, overlaps, strict=True) if not is_known]
    print(
        f"{len(pairs):,} pairs, and {sum(overlaps):,} that shared a run of eight words with a question set", flush=True
    )
    rows = expand(pairs, rng)
    print(f"{len(rows.texts):,} texts, {len(rows.queries):,} queries {dict(Counter(rows.kinds))}", flush=True)
    write_rows(rows, options.work)


def write_rows(rows: Rows, work: Path) -> None:
    """Write rows.json.xz."""
    content = json.dumps({name: getattr(rows, name) for name in FIELDS}, ensure_ascii=False)
    (work / "rows.json.xz").write_bytes(lzma.compress(content.encode("utf-8", "replace"), preset=3))


def read_rows(work: Path) -> Rows:
    """Read rows.json.xz."""
    rows = Rows()
    for name, values in json.loads(lzma.decompress((work / "rows.json.xz").read_bytes())).items():
        setattr(rows, name, values)
    return rows


def forbid(runs: frozenset[int]) -> None:
    """Set the runs that the processes of a pool compare with; they are too many to be sent to each."""
    global FORBIDDEN  # noqa: PLW0603
    FORBIDDEN = runs


def overlaps_question_set(pair: Pair) -> bool:
    """Tell whether a pair shares a run of eight words with a question set."""
    return overlap.shares_run(f"{pair.query}\n{pair.text}\n{pair.english_query}\n{pair.english_text}", FORBIDDEN)


if __name__ == "__main__":
    main()
