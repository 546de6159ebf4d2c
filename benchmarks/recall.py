"""Measure a warm recall as the store grows, with scope filters on, while another process writes.

    python -m benchmarks.recall [--largest 100000]

Texts are generated and their vectors are random (embedding a million takes hours and changes nothing about search); the
question's vector is made by the real model, and its cost is part of the time. Each question is seven words of a stored
memory, so that recall has something to rank, render and write a receipt for.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import results
from benchmarks.corpus import sentences
from benchmarks.measure import cpu_and_wall, quantiles
from hivemind import Hivemind
from hivemind.model.claim import Claim
from hivemind.model.memory import Channel, Writer
from hivemind.recall import embedder
from hivemind.recall.embeddings import SemanticIndex
from hivemind.recall.weights import Floats
from hivemind.settings import Settings

QUESTIONS = 60
SIZES = (1_000, 10_000, 100_000, 1_000_000)
BUDGETS = {10_000: 5, 100_000: 20, 1_000_000: 100}
PAGE = 5_000
WRITE_ON = """
import sys, time
from pathlib import Path
from benchmarks.recall import open_memory
with open_memory(Path(sys.argv[1]), "writer") as mind:
    for number in range(100_000):
        mind.remember(f"written meanwhile, number {number}")
        time.sleep(1)
"""
"""Once a second: a recall embeds what was just written, so a faster writer would be part of the measurement."""


class RandomVectors:
    """Random vectors for texts, as close to each other as those of unrelated texts; real ones for questions."""

    def __init__(self) -> None:
        self._real = embedder.load_default()
        self.name, self.dimension = self._real.name, self._real.dimension
        self._chance = np.random.default_rng(5)
        self._middle = self._real.embed(sentences(random.Random(4), 32)).mean(axis=0)

    def embed(self, texts: Sequence[str]) -> Floats:
        """Return one row of unit length for each text; a single text is a question."""
        if len(texts) == 1:
            return self._real.embed(texts)
        apart = self._chance.standard_normal((len(texts), self.dimension)).astype(np.float32)
        rows = self._middle / np.linalg.norm(self._middle) + apart / self.dimension**0.5
        unit: Floats = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


def open_memory(home: Path, name: str) -> Hivemind:
    """Open the store from a directory of that name; each directory is its own repository."""
    directory = home / name
    directory.mkdir(exist_ok=True)
    writer = Writer(actor=name, channel=Channel.PERSON)
    return Hivemind.open(directory=directory, settings=Settings(home=home / "store", person=name), writer=writer)


def main() -> None:
    """Fill the store step by step, and measure at each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=100_000, help="largest number of memories")
    parser.add_argument("--save", action="store_true", help="save the figures to evals/results")
    options = parser.parse_args()
    chance, model, rows = random.Random(3), RandomVectors(), {}
    print(f"{'memories':>10}{'p50 ms':>9}{'p95 ms':>9}{'CPU ms':>9}{'less embedding':>16}{'budget':>8}{'MB':>8}")
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with open_memory(home, "here") as here, open_memory(home, "there") as there:
            for mind in (here, there):
                mind._context.embedder.meaning = SemanticIndex(model)
            size = 0
            for goal in (goal for goal in SIZES if goal <= options.largest):
                fill(here, there, chance, goal - size)
                size = goal
                rows[f"{size:,}"] = ask(here, home, model, size)
                if options.save:
                    data = "made-up sentences of twenty words"
                    results.save(
                        "recall", data=data, configuration="as installed, another process writing", figures=rows
                    )


def fill(here: Hivemind, there: Hivemind, chance: random.Random, count: int) -> None:
    """Store nine of ten memories in the repository that asks, the others elsewhere."""
    for start in range(0, count, PAGE):
        texts = sentences(chance, min(PAGE, count - start))
        split = len(texts) * 9 // 10
        here.remember_all(Claim(text=text) for text in texts[:split])
        there.remember_all(Claim(text=text) for text in texts[split:])
        here.maintenance.catch_up()


def ask(mind: Hivemind, home: Path, model: RandomVectors, size: int) -> dict[str, float]:
    """Measure recalls at one size, and print and return the figures."""
    memories = [memory.text.split() for memory in mind.list(limit=QUESTIONS)]
    questions = [" ".join(random.Random(place).sample(words, 7)) for place, words in enumerate(memories)]
    anchor = statistics.median(cpu_and_wall(partial(model.embed, [question]))[0] for question in questions)
    writer = subprocess.Popen([sys.executable, "-c", WRITE_ON, str(home)])
    time.sleep(1)
    answer_count = sum(bool(mind.recall(question).answers) for question in questions)
    costs = [cpu_and_wall(partial(mind.recall, question)) for question in questions]
    writer.kill()
    writer.wait()
    p50, p95 = quantiles([wall for _, wall in costs])
    cpu, _ = quantiles([cpu for cpu, _ in costs])
    megabytes = mind.maintenance.stats().bytes / 1e6
    budget = BUDGETS.get(size, "")
    print(
        f"{size:>10,}{p50:>9.1f}{p95:>9.1f}{cpu:>9.1f}{cpu - anchor:>16.1f}{budget:>8}{megabytes:>8.0f}"
        f"   {answer_count} of {len(questions)} answered",
        flush=True,
    )
    return {"p50 ms": p50, "p95 ms": p95, "CPU ms": cpu, "CPU ms less the vector": cpu - anchor, "MB": megabytes}


if __name__ == "__main__":
    main()
