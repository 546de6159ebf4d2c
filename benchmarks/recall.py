"""Measure a warm recall as the store grows, with scope filters on, while another process writes.

    python -m benchmarks.recall [--largest 1000000] [--save]

Texts are generated and their vectors are random (embedding a million takes hours and changes nothing about search); the
question's vector is made by the real model, and its cost is part of the time. Each question is seven words of a stored
memory, so that recall has something to rank, render and write a receipt for.

Only the first memory of each repository is remembered; the others are copies of its row with other texts, written to
the tables that recall reads. They are missing in the log, which recall does not read. A million take
minutes and 1.5 GB instead of hours.
"""

import argparse
import os
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
from hivemind.model.memory import Channel, Writer
from hivemind.recall import embedder
from hivemind.recall.embeddings import SemanticIndex
from hivemind.recall.similarity import store_vectors
from hivemind.recall.weights import Floats
from hivemind.settings import Settings
from hivemind.store.projections import vectors

QUESTIONS = 60
SIZES = (1_000, 10_000, 100_000, 1_000_000)
BUDGETS = {10_000: 9, 100_000: 14, 1_000_000: 40}
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

    def rank_word(self, word: str) -> int | None:
        """Return how common a word is."""
        return self._real.rank_word(word)


def open_memory(home: Path, name: str) -> Hivemind:
    """Open the store from a directory of that name; each directory is its own repository."""
    directory = home / name
    directory.mkdir(exist_ok=True)
    writer = Writer(actor=name, channel=Channel.PERSON)
    return Hivemind.open(directory=directory, settings=Settings(home=home / "store", person=name), writer=writer)


def main() -> None:
    """Fill the store step by step, and measure at each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000, help="largest number of memories")
    parser.add_argument("--save", action="store_true", help="save the figures to evals/results")
    options = parser.parse_args()
    chance, model, rows = random.Random(3), RandomVectors(), {}
    print(f"{'memories':>10}{'p50 ms':>9}{'p95 ms':>9}{'CPU ms':>9}{'less embedding':>16}{'budget':>8}{'MB':>8}")
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with open_memory(home, "here") as here, open_memory(home, "there") as there:
            for mind in (here, there):
                mind._context.embedder.meaning = SemanticIndex(model)
                mind.remember(sentences(chance, 1)[0])
            here.maintenance.catch_up()
            size = 0
            for goal in (goal for goal in SIZES if goal <= options.largest):
                # Nine of ten are in the repository that asks, the others elsewhere.
                fill(here, model, chance, (goal - size) * 9 // 10)
                fill(there, model, chance, (goal - size) // 10)
                size = goal
                rows[f"{size:,}"] = ask(here, home, model, size)
                if options.save:
                    data = "made-up sentences of twenty words"
                    results.save(
                        "recall", data=data, configuration="as installed, another process writing", figures=rows
                    )


def fill(mind: Hivemind, model: RandomVectors, chance: random.Random, count: int) -> None:
    """Copy the first memory of a repository until there are that many more, each with another text and vector."""
    db, template_id = mind._context.store.db, mind.list(limit=1)[0].id
    for start in range(0, count, PAGE):
        texts = sentences(chance, min(PAGE, count - start))
        with db.transaction():
            last_key = db.value("SELECT max(key) FROM memories")
            keys = [last_key + number for number in range(1, len(texts) + 1)]
            columns = [row[1] for row in db.execute("PRAGMA table_info(memories)")]
            values = ", ".join({"key": "?", "id": "?", "text": "?"}.get(column, column) for column in columns)
            db.many(
                f"INSERT INTO memories SELECT {values} FROM memories WHERE id = ?",  # noqa: S608 - our own columns
                [(key, os.urandom(16).hex(), text, template_id) for key, text in zip(keys, texts, strict=True)],
            )
            # A passage has the same key as its memory.
            copy_passage = "INSERT INTO passages SELECT ?, ?, 0, p.since, '' FROM passages p ORDER BY p.key LIMIT 1"
            db.many(copy_passage, [(key, key) for key in keys])
            for key, text in zip(keys, texts, strict=True):
                db.index.put(key, text=text, parts="", context="fact", around="")
                vectors.mark_missing(db, key)
        store_vectors(db, model.name, keys, model.embed(texts))


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
