"""Measure an erasure with proof as the store grows, compared with a plain DELETE of a row in the same run.

python -m lab.benchmarks.erase [--largest 100000] [--save]
"""

import argparse
import random
import tempfile
from functools import partial
from pathlib import Path

import apsw

from hivemind import Hivemind
from hivemind.model.claim import Claim
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings
from lab.benchmarks import results
from lab.benchmarks.corpus import sentences
from lab.benchmarks.measure import cpu_and_wall, quantiles

SAMPLE = 40


def main() -> None:
    """Print the cost of an erasure at each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=100_000, help="largest number of memories")
    parser.add_argument("--save", action="store_true", help="save the figures to lab/evals/results")
    options = parser.parse_args()
    largest, figures = options.largest, {}
    texts = sentences(random.Random(1), largest)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        anchor = plain_delete(home / "anchor.db", texts[:1000])
        print(f"a plain DELETE, durable: p50 {anchor[0]:.2f} ms, p95 {anchor[1]:.2f} ms")
        print(f"{'memories':>10}{'p50 ms':>9}{'p95 ms':>9}{'CPU ms':>9}{'MB':>8}  budget p95 100 ms at 100,000")
        writer = Writer(actor="bench", channel=Channel.PERSON)
        settings = Settings(home=home / "store", person="bench")
        with Hivemind.open(directory=home, settings=settings, writer=writer) as mind:
            size = 0
            for goal in (goal for goal in (1_000, 10_000, 100_000) if goal <= largest):
                mind.remember_all(Claim(text=text) for text in texts[size:goal])
                size = goal
                memory_ids = [memory.id for memory in mind.list(limit=SAMPLE)]
                costs = [cpu_and_wall(partial(mind.erase, memory_id)) for memory_id in memory_ids]
                p50, p95 = quantiles([wall for _, wall in costs])
                cpu, _ = quantiles([cpu for cpu, _ in costs])
                print(
                    f"{size:>10,}{p50:>9.1f}{p95:>9.1f}{cpu:>9.1f}{mind.maintenance.stats().bytes / 1e6:>8.0f}",
                    flush=True,
                )
                figures[f"{size:,}"] = {"p50 ms": p50, "p95 ms": p95, "CPU ms": cpu, "plain DELETE p50 ms": anchor[0]}
    if options.save:
        results.save(
            "erase", data="made-up sentences", configuration="one erasure with proof at a time", figures=figures
        )


def plain_delete(path: Path, texts: list[str]) -> tuple[float, float]:
    """Return the times of single durable DELETEs."""
    connection = apsw.Connection(str(path))
    list(connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (text TEXT)"))
    connection.executemany("INSERT INTO t VALUES (?)", [(text,) for text in texts])
    delete = "DELETE FROM t WHERE rowid = ?"
    costs = [cpu_and_wall(partial(connection.execute, delete, (row,)))[1] for row in range(1, SAMPLE)]
    connection.close()
    return quantiles(costs)


if __name__ == "__main__":
    main()
