"""Measure what the code index costs and how well it detects stale memories.

python -m lab.benchmarks.code index                 Django's sdist from PyPI, compared with universal-ctags if installed
python -m lab.benchmarks.code sentences CLONES      which sentences are asked to be verified, see code_sentences.py
python -m lab.benchmarks.code moves REPOSITORY      functions that moved, see lab/benchmarks/code_moves.py
python -m lab.benchmarks.code names REPOSITORY...   see lab/benchmarks/code_names.py
python -m lab.benchmarks.code callers REPOSITORY    callers of functions with a unique name
python -m lab.benchmarks.code edges REPOSITORY      a sample of callers of other functions, to label by hand
python -m lab.benchmarks.code tasks REPOSITORY      files found from the messages of commits
python -m lab.benchmarks.code tree|switch|many …    see lab/benchmarks/code_trees.py
"""

import argparse
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from hivemind.code.code_changes import judge
from hivemind.code.index import CodeIndex
from hivemind.code.index_database import select
from hivemind.model.code import Anchor
from lab.benchmarks import code_graph, code_moves, code_names, code_sentences, code_trees

DJANGO = "Django==5.2.*"
_Result = TypeVar("_Result")


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name == "sentences":
        return code_sentences.main(sys.argv[2:])
    if name == "names":
        return code_names.main(sys.argv[2:])
    if name in code_trees.COMMANDS:
        return code_trees.main(sys.argv[1:])
    parser = argparse.ArgumentParser(prog="lab.benchmarks.code", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("index")
    command.set_defaults(run=lambda options: measure_index())
    for name, run in (
        ("callers", code_graph.measure_callers),
        ("edges", code_graph.print_edges),
        ("tasks", code_graph.measure_tasks),
        ("moves", code_moves.measure_moves),
    ):
        command = commands.add_parser(name)
        command.add_argument("repository", type=Path)
        command.add_argument("--commits", "--count", type=int, default=500)
        command.set_defaults(run=lambda options, run=run: run(options.repository, options.commits))
    options = parser.parse_args()
    options.run(options)
    return None


def measure_index() -> None:
    """Measure a full index, single saved files and ten anchors on Django's source distribution."""
    with tempfile.TemporaryDirectory() as folder:
        root = download(Path(folder))
        ctags = ctags_seconds(root)
        with CodeIndex.open(root, Path(folder) / "cache") as index:
            seconds, files = measure_cpu(index.refresh)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            index.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            size = index.path.stat().st_size
            ((symbols,),) = select(index.db, "SELECT count(*) FROM symbols WHERE kind != 'file'")
            print(f"full index       {files} files, {symbols} symbols in {seconds:.1f} s of CPU")
            print(f"                 {files / seconds:.0f} files/s, {symbols / seconds:.0f} symbols/s")
            beside = f"{ctags:.1f} s of CPU; we take {seconds / ctags:.1f} x" if ctags else "not installed"
            print(f"universal-ctags  {beside}, with edges, fingerprints and a database")
            print(f"resident         {memory:.0f} MB; disk {size / 1e6:.1f} MB, {size / symbols:.0f} B/symbol")
            again, _ = measure_cpu(index.refresh)
            print(f"nothing changed  {again * 1000:.0f} ms")
            report("one saved file", list(saved_files(index)))
            report("ten anchors", list(ten_anchors(index)))


def download(folder: Path) -> Path:
    """Download Django's sources with pip."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--no-binary",
        ":all:",
        "-d",
        str(folder),
    ]
    subprocess.run([*command, DJANGO], check=True)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "django", filter="data")
    (root,) = (folder / "django").iterdir()
    return root


def ctags_seconds(root: Path) -> float | None:
    """Return the CPU time that universal-ctags takes for the same tree; none if it is not installed."""
    if shutil.which("ctags") is None:
        return None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["ctags", "-R", "--fields=+neS", "-f", "-", "."]
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def saved_files(index: CodeIndex) -> Iterator[float]:
    """Yield the CPU time from a saved file to committed rows, for random files."""
    paths = random.Random(8).sample([path for path in index.list_paths() if path.endswith(".py")], 200)
    for path in paths:
        file = index.root / path
        file.write_text(file.read_text() + f"\n\ndef added_{len(path)}(value):\n    return value + {len(path)}\n")
        yield measure_cpu(partial(index.update, [path]))[0]


def ten_anchors(index: CodeIndex) -> Iterator[float]:
    """Yield the CPU time to judge ten anchors when nothing has changed."""
    draw = random.Random(8)
    paths = [path for path in index.list_paths() if path.endswith(".py")]
    for _ in range(50):
        symbols = [draw.choice(index.read_symbols(path)) for path in draw.sample(paths, 10)]
        anchors = [Anchor.of(symbol) for symbol in symbols]
        yield measure_cpu(partial(judge, index, anchors))[0]


def measure_cpu(work: Callable[[], _Result]) -> tuple[float, _Result]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def report(what: str, seconds: Sequence[float]) -> None:
    values = sorted(seconds)
    p50, p95 = statistics.median(values), values[int(len(values) * 0.95)]
    print(f"{what:<16} p50 {p50 * 1000:.1f} ms, p95 {p95 * 1000:.1f} ms of CPU ({len(values)} times)")


if __name__ == "__main__":
    main()
