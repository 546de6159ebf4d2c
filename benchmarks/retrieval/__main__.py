"""Print how well each system finds what was asked for.

python -m benchmarks.retrieval DATA [--sets locomo,beam] [--systems "hivemind,words only"]
"""

import argparse
import statistics
import time
from pathlib import Path

from benchmarks.retrieval import scores
from benchmarks.retrieval.sets import SETS
from benchmarks.retrieval.systems import SYSTEMS

MEASURES = {
    "recall@5": lambda order, wanted: scores.recall(order, wanted, 5),
    "recall@10": lambda order, wanted: scores.recall(order, wanted, 10),
    "recall_any@5": lambda order, wanted: scores.recall_any(order, wanted, 5),
    "recall_all@5": lambda order, wanted: scores.recall_all(order, wanted, 5),
    "recall_all@10": lambda order, wanted: scores.recall_all(order, wanted, 10),
    "NDCG@10": lambda order, wanted: scores.ndcg(order, wanted, 10),
    "MRR": scores.mrr,
}


def main() -> None:
    """Run every system on every set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with longmemeval/, locomo/, beam/, swebench/, cosqa/")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    asked = parser.parse_args()
    print("| set | system | questions |" + "".join(f" {name} |" for name in MEASURES) + " p50 ms | p95 ms |")
    print("|---|---|---|" + "---|" * (len(MEASURES) + 2))
    for name in asked.sets.split(","):
        for system in asked.systems.split(","):
            print(row(name, system, asked.data), flush=True)


def row(name: str, system: str, data: Path) -> str:
    """One line of the table."""
    results: list[list[float]] = []
    seconds: list[float] = []
    for case in SETS[name](data):
        search = SYSTEMS[system](case.texts)
        for question in case.questions:
            start = time.perf_counter()
            order = search(question.text)
            seconds.append(time.perf_counter() - start)
            results.append([measure(order, question.wanted) for measure in MEASURES.values()])
    means = [statistics.mean(column) for column in zip(*results, strict=True)]
    milliseconds = sorted(1000 * one for one in seconds)
    p50, p95 = milliseconds[len(milliseconds) // 2], milliseconds[int(len(milliseconds) * 0.95)]
    figures = "".join(f" {mean:.3f} |" for mean in means)
    return f"| {name} | {system} | {len(results)} |{figures} {p50:.1f} | {p95:.1f} |"


if __name__ == "__main__":
    main()
