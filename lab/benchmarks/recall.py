"""Measure a warm recall as the store grows, with scope filters on, while another process writes.

    python -m lab.benchmarks.recall [--largest 1000000] [--save]

Texts are generated and their vectors are random (embedding a million takes hours and changes nothing about search); the
question's vector is made by the real model, and its cost is part of the time. So few answers are called sure, which
changes nothing about their cost. Memories are English notes with names of code and services, and each question has
three words of a stored one, so that recall has something to rank, render and write a receipt for. The last row is for
sentences of made-up words and questions of seven of them, which was all that was measured until November 2026: they are
searched by 31 terms instead of 7 and read by the model in 22 pieces instead of 13.

Only the first memory of each repository is remembered; the others are copies of its row with other texts, written to
the tables that recall reads. They are missing in the log, which recall does not read. A million take
minutes and 1.5 GB instead of hours.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from hivemind import Hivemind
from hivemind.embedding import embedder
from hivemind.embedding.semantic_index import SemanticIndex, store_vectors
from hivemind.embedding.weights import Floats
from hivemind.model.ids import derive_id
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings
from hivemind.store.database import WordsOfPassage
from hivemind.store.projections import vectors
from hivemind.text.thesaurus import expand_text
from lab.benchmarks import results
from lab.benchmarks.corpus import sentences
from lab.benchmarks.measure import cpu_and_wall, quantiles
from lab.benchmarks.notes import NoteWriter

QUESTIONS = 60
SIZES = (1_000, 10_000, 100_000, 1_000_000)
MADE_UP_SIZE = 10_000
BUDGETS = {10_000: 9, 100_000: 14, 1_000_000: 40}
PAGE = 5_000
WRITE_ON = """
import sys, time
from pathlib import Path
from lab.benchmarks.recall import open_memory
with open_memory(Path(sys.argv[1]), "writer") as mind:
    for number in range(100_000):
        mind.remember(f"written meanwhile, number {number}")
        time.sleep(1)
"""
"""Once a second: a recall embeds what was just written, so a faster writer would be part of the measurement."""


class MadeUpWords:
    """Sentences of words that no language has, and questions of seven of their words."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def write(self, count: int) -> list[str]:
        """Return sentences of twenty words."""
        return sentences(self._chance, count)

    def ask(self, sentence: str) -> str:
        """Return seven words of a sentence."""
        return " ".join(self._chance.sample(sentence.split(), 7))


Texts = NoteWriter | MadeUpWords


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
    """Measure a store of notes as it grows, then one of made-up words."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=int, default=1_000_000, help="largest number of memories")
    parser.add_argument("--save", action="store_true", help="save the figures to lab/evals/results")
    options = parser.parse_args()
    model, rows = RandomVectors(), {}
    sizes = [size for size in SIZES if size <= options.largest]
    print(f"{'memories':>20}{'p50 ms':>9}{'p95 ms':>9}{'CPU ms':>9}{'less embedding':>16}{'budget':>8}{'MB':>8}")
    for size, figures in measure_sizes(NoteWriter(3), model, sizes):
        rows[f"{size:,}"] = figures
        _print_row(f"{size:,}", figures, BUDGETS.get(size))
    for size, figures in measure_sizes(MadeUpWords(3), model, [MADE_UP_SIZE]):
        rows[f"{size:,}, made-up words"] = figures
        _print_row(f"{size:,}, made-up", figures)
    if options.save:
        data = "English notes of twenty words with names from software, written by a program"
        results.save("recall", data=data, configuration="as installed, another process writing", figures=rows)


def measure_sizes(texts: Texts, model: RandomVectors, sizes: Sequence[int]) -> Iterator[tuple[int, dict[str, float]]]:
    """Fill a store step by step, and yield the figures at each size."""
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        with open_memory(home, "here") as here, open_memory(home, "there") as there:
            for mind in (here, there):
                mind._context.embedder.meaning = SemanticIndex(model)
                mind.remember(texts.write(1)[0])
            here.maintenance.catch_up()
            filled = 0
            for size in sizes:
                # Nine of ten are in the repository that asks, the others elsewhere.
                fill(here, model, texts, (size - filled) * 9 // 10)
                fill(there, model, texts, (size - filled) // 10)
                filled = size
                yield size, ask(here, home, model, texts)


def fill(mind: Hivemind, model: RandomVectors, texts: Texts, count: int) -> None:
    """Copy the first memory of a repository until there are that many more, each with another text and vector."""
    db, template_id = mind._context.store.db, mind.list(limit=1)[0].id
    for start in range(0, count, PAGE):
        page = texts.write(min(PAGE, count - start))
        with db.transaction():
            last_key = db.value("SELECT max(key) FROM memories")
            keys = [last_key + number for number in range(1, len(page) + 1)]
            columns = [row[1] for row in db.execute("PRAGMA table_info(memories)")]
            values = ", ".join({"key": "?", "id": "?", "text": "?"}.get(column, column) for column in columns)
            db.many(
                f"INSERT INTO memories SELECT {values} FROM memories WHERE id = ?",  # noqa: S608 - our own columns
                [(key, derive_id(text, str(key)), text, template_id) for key, text in zip(keys, page, strict=True)],
            )
            # A passage has the same key as its memory.
            copy_passage = "INSERT INTO passages SELECT ?, ?, 0, p.since, '' FROM passages p ORDER BY p.key LIMIT 1"
            db.many(copy_passage, [(key, key) for key in keys])
            # Made-up words are indexed without their grams, as they were when they were the only text.
            parts = map(expand_text, page) if isinstance(texts, NoteWriter) else [""] * len(page)
            db.index.put(
                [WordsOfPassage(key, text, part, "fact", "") for key, text, part in zip(keys, page, parts, strict=True)]
            )
            vectors.mark_missing(db, keys)
        store_vectors(db, model.name, keys, model.embed(page))


def ask(mind: Hivemind, home: Path, model: RandomVectors, texts: Texts) -> dict[str, float]:
    """Measure recalls at one size, and return the figures."""
    questions = [texts.ask(memory.text) for memory in mind.list(limit=QUESTIONS)]
    anchor = statistics.median(cpu_and_wall(partial(model.embed, [question]))[0] for question in questions)
    writer = subprocess.Popen([sys.executable, "-c", WRITE_ON, str(home)])
    time.sleep(1)
    answer_count = sum(bool(mind.recall(question).hits) for question in questions)
    costs = [cpu_and_wall(partial(mind.recall, question)) for question in questions]
    writer.kill()
    writer.wait()
    p50, p95 = quantiles([wall for _, wall in costs])
    cpu, _ = quantiles([cpu for cpu, _ in costs])
    return {
        "p50 ms": p50, "p95 ms": p95, "CPU ms": cpu, "CPU ms less the vector": cpu - anchor,
        "MB": mind.maintenance.stats().bytes / 1e6, "answered": answer_count / len(questions),
    }  # fmt: skip


def _print_row(what: str, figures: dict[str, float], budget: int | None = None) -> None:
    p50, p95, cpu, without_vector, megabytes, share = figures.values()
    print(
        f"{what:>20}{p50:>9.1f}{p95:>9.1f}{cpu:>9.1f}{without_vector:>16.1f}{budget or '':>8}{megabytes:>8.0f}"
        f"   {share:.0%} answered",
        flush=True,
    )


if __name__ == "__main__":
    main()
