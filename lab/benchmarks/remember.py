"""Measure one durable write as the store grows, compared with a bare SQLite insert in the same run.

python -m lab.benchmarks.remember [--largest 100000] [--save]
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

SAMPLE = 200


def main() -> None:
    """Print the cost of a write at each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=100_000, help="largest number of memories")
    parser.add_argument("--save", action="store_true", help="save the figures to lab/evals/results")
    options = parser.parse_args()
    largest, figures = options.largest, {}
    texts = sentences(random.Random(1), largest + 10 * SAMPLE)
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        anchor = bare_insert(home / "anchor.db", texts[:SAMPLE])
        print(f"{'memories':>10}{'p50 ms':>9}{'p95 ms':>9}{'CPU ms':>9}{'x bare insert':>15}{'bytes each':>12}")
        print(f"{'(bare)':>10}{anchor[0]:>9.2f}{anchor[1]:>9.2f}{anchor[2]:>9.2f}{1:>15.1f}")
        writer = Writer(actor="bench", channel=Channel.PERSON)
        settings = Settings(home=home / "store", person="bench")
        with Hivemind.open(directory=home, settings=settings, writer=writer) as mind:
            size = 0
            for goal in (1_000, 10_000, 100_000, 1_000_000):
                if goal > largest:
                    break
                mind.remember_all(Claim(text=text) for text in texts[size:goal])
                size = goal
                costs = [cpu_and_wall(partial(mind.remember, text)) for text in texts[size : size + SAMPLE]]
                p50, p95 = quantiles([wall for _, wall in costs])
                cpu, _ = quantiles([cpu for cpu, _ in costs])
                each = mind.maintenance.stats().bytes / (size + SAMPLE)
                print(f"{size:>10,}{p50:>9.2f}{p95:>9.2f}{cpu:>9.2f}{p50 / anchor[0]:>15.1f}{each:>12,.0f}")
                figures[f"{size:,}"] = {
                    "p50 ms": p50, "p95 ms": p95, "CPU ms": cpu, "x bare insert": p50 / anchor[0], "bytes each": each
                }  # fmt: skip
    if options.save:
        results.save("remember", data="made-up sentences", configuration="one durable write at a time", figures=figures)


def bare_insert(path: Path, texts: list[str]) -> tuple[float, float, float]:
    """Return the times of single durable inserts: no write can be faster on this disk."""
    connection = apsw.Connection(str(path))
    list(connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (text TEXT)"))
    insert = "INSERT INTO t VALUES (?)"
    costs = [cpu_and_wall(partial(connection.execute, insert, (text,))) for text in texts]
    connection.close()
    return (*quantiles([wall for _, wall in costs]), quantiles([cpu for cpu, _ in costs])[0])


if __name__ == "__main__":
    main()
