"""Measure the embedding model: start, one question, many passages, memory; each beside a baseline of the same run.

python -m lab.benchmarks.embedder
"""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial

# Before NumPy: several BLAS threads spin while they wait, and all of that is CPU time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from hivemind.embedding.embedder import LAYERS, Embedder, load_default
from lab.benchmarks.corpus import sentences
from lab.benchmarks.measure import BARE, cpu_and_wall, cpu_of, quantiles

ROUNDS = 100
PASSAGES = 40
SHORT = "how do we run migrations"
LONG = (
    "when the login test fails with a timeout on the build server, which fixture has to be reset and "
    "where did we write that down last week?"
)
NUMPY = "import numpy"
MODULES = "import numpy, hivemind.embedding.embedder"
EMBED = "from hivemind.embedding.embedder import load_default; load_default().embed(['how do we run migrations'])"

PRINT_MEMORY = """
import resource
from pathlib import Path

status = Path("/proc/self/statm")
if status.exists():
    print(int(status.read_text().split()[1]) * resource.getpagesize())
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
"""Prints bytes. On Linux not the peak, which begins with the size of the process that started this one."""


def main() -> None:
    """Print every figure with its baseline and budget."""
    print(f"{'what':<44}{'CPU ms':>9}{'x anchor':>10}  anchor, budget")
    start()
    embedder = load_default()
    anchor = median_cpu(partial(multiply_as_much, 8))
    line("bare products of 8 tokens", anchor, anchor, "")
    for name, text in (("question of 8 tokens", SHORT), ("question of 31 tokens", LONG)):
        line(name, median_cpu(partial(embedder.embed, [text])), anchor, "bare products, part of recall's 5 ms")
    passages(embedder)
    with_model, without = resident_megabytes(EMBED), resident_megabytes(MODULES)
    print(f"{'resident MB':<44}{with_model:>9.0f}{with_model / without:>10.1f}  without the model, 80 MB")


def start() -> None:
    """Measure imports and the first vector, each in new processes."""
    bare = cpu_of(BARE)
    line("bare python", bare, bare, "")
    programs = {"import numpy": NUMPY, "import the embedder": MODULES, "first vector": EMBED}
    cpu = {name: cpu_of([sys.executable, "-c", program]) for name, program in programs.items()}
    for name in programs:
        line(name, cpu[name], bare, "bare python, 500 ms for all of a cold recall")
    # A recall imports the other modules of the package anyway.
    model_alone = cpu["import numpy"] - bare + cpu["first vector"] - cpu["import the embedder"]
    line("first vector, NumPy and the model alone", model_alone, bare, "bare python, 120 ms")
    several = cpu_of([sys.executable, "-c", EMBED], environ={"OPENBLAS_NUM_THREADS": str(os.cpu_count())})
    line("first vector, a BLAS thread for each core", several, bare, "bare python")


def passages(embedder: Embedder) -> None:
    """Measure passages of about 200 tokens, as an import has them."""
    texts = sentences(random.Random(1), PASSAGES, words_each=64)
    together, _ = cpu_and_wall(partial(embedder.embed, texts))
    anchor = median_cpu(partial(multiply_as_much, 200), rounds=5)
    line(
        "passage of 200 tokens",
        together / PASSAGES,
        anchor,
        f"bare products; {1000 * PASSAGES / together:.0f} a second",
    )


def multiply_as_much(rows: int) -> None:
    """Compute only the matrix products of the layers, without cutting matrices into blocks."""
    for _ in range(LAYERS):
        for matrix in MATRICES:
            np.ones((rows, len(matrix)), np.float32) @ matrix


MATRICES = [np.ones(shape, np.float32) for shape in ((384, 1152), (384, 384), (384, 1536), (1536, 384))]


def median_cpu(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median CPU milliseconds of a call, after a first round that is not counted."""
    work()
    return quantiles([cpu_and_wall(work)[0] for _ in range(rounds)])[0]


def resident_megabytes(program: str) -> float:
    """Return the resident memory of a new process; this one has the matrices of the baseline, too."""
    command = [sys.executable, "-c", f"{program}\n{PRINT_MEMORY}"]
    return int(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout) / 1e6


def line(name: str, cpu: float, anchor: float, remark: str) -> None:
    """Print one figure."""
    print(f"{name:<44}{cpu:>9.2f}{cpu / anchor:>10.1f}  {remark}", flush=True)


if __name__ == "__main__":
    main()
