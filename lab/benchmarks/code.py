"""Measure what the code index costs and how well it detects stale memories.

python -m lab.benchmarks.code index                 Django's sdist from PyPI, compared with universal-ctags if installed
python -m lab.benchmarks.code history REPOSITORY    staleness over the real commits of a repository
python -m lab.benchmarks.code sample REPOSITORY     a sample of renames, moves and losses to label by hand, one per line
python -m lab.benchmarks.code score LABELS...       precision and recall from labelled lines
python -m lab.benchmarks.code mutations|refactorings|pairs|verdicts …    see lab/benchmarks/code_changes.py
python -m lab.benchmarks.code names REPOSITORY...   see lab/benchmarks/code_names.py
python -m lab.benchmarks.code callers REPOSITORY    callers of functions with a unique name
python -m lab.benchmarks.code edges REPOSITORY      a sample of callers of other functions, to label by hand
python -m lab.benchmarks.code tasks REPOSITORY      files found from the messages of commits
python -m lab.benchmarks.code containers|moves|impact REPOSITORY         see lab/benchmarks/code_mined.py
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
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from hivemind.code import git
from hivemind.code.code_changes import assess_change, judge
from hivemind.code.grammars import find_language
from hivemind.code.index import CodeIndex
from hivemind.code.index_database import select
from hivemind.code.moved_symbols import match
from hivemind.code.parsing import ParsedFile, outline, parse_file
from hivemind.model.code import BROKEN, FILE, Anchor, Staleness, Symbol, SymbolChange
from lab.benchmarks import code_changes, code_graph, code_mined, code_names, code_trees

DJANGO = "Django==5.2.*"
_Result = TypeVar("_Result")
NOT_CODE = frozenset({"key", "table", "section", FILE})
"""Kinds of symbols in configuration and documents, which are not counted."""


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in code_changes.COMMANDS:
        return code_changes.main()
    if name == "names":
        return code_names.main(sys.argv[2:])
    if name in code_trees.COMMANDS:
        return code_trees.main(sys.argv[1:])
    parser = argparse.ArgumentParser(prog="lab.benchmarks.code", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("index")
    command.set_defaults(run=lambda options: measure_index())
    for name, run in (
        ("history", measure_history),
        ("sample", print_sample),
        ("callers", code_graph.measure_callers),
        ("edges", code_graph.print_edges),
        ("tasks", code_graph.measure_tasks),
        ("containers", code_mined.measure_containers),
        ("moves", code_mined.measure_moves),
        ("impact", code_mined.print_impact),
    ):
        command = commands.add_parser(name)
        command.add_argument("repository", type=Path)
        command.add_argument("--commits", "--count", type=int, default=500)
        command.set_defaults(run=lambda options, run=run: run(options.repository, options.commits))
    command = commands.add_parser("score")
    command.add_argument("labels", type=Path, nargs="+")
    command.set_defaults(run=lambda options: print_score(options.labels))
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


def measure_history(repository: Path, commits: int) -> None:
    """Count the memories that each rule would mark as stale, if every symbol had one."""
    root = repository.resolve()
    tally: Counter[str] = Counter()
    costs: list[float] = []
    for commit in list_commits(root, commits):
        for result in judge_commit(root, commit, costs):
            tally["file rule"] += 1
            tally[result.change] += 1
            tally["must verify"] += result.must_verify
    print(f"{repository.name}: {len(costs)} commits that touch code")
    print(f"  file rule flags  {tally['file rule']}; of these must be verified {tally['must verify']}")
    print(f"  file rule / ours {tally['file rule'] / max(1, tally['must verify']):.0f} x")
    print("  " + ", ".join(f"{change} {tally[change]}" for change in SymbolChange))
    report("  commit diff", costs)
    print_distance(root, 100)


def judge_commit(root: Path, commit: str, costs: list[float]) -> Iterator[Staleness]:
    """Judge every symbol of the files a commit touched; parsing the old side is not timed, an index has it already."""
    paths, moves = git.list_changes(root, f"{commit}^", commit)
    code_paths = [path for path in dict.fromkeys(paths) if find_language(path)]
    if not code_paths or len(code_paths) > 300:
        return
    sources = git.read_blobs(root, [f"{side}:{path}" for path in code_paths for side in (f"{commit}^", commit)])
    old = [*list_symbols(sources, f"{commit}^", code_paths)]
    broken = {symbol.path for symbol in old if symbol.kind == FILE and symbol.signature == BROKEN}
    prints = [symbol.fingerprint for symbol in old if symbol.path not in broken]

    def work() -> list[tuple[Symbol, Symbol | None]]:
        new = [
            symbol
            for path in code_paths
            if (source := sources.get(f"{commit}:{path}")) is not None
            for symbol in outline(path, source, prints).symbols
        ]
        return [*match(old, new, moves)]

    seconds, pairs = measure_cpu(work)
    costs.append(seconds)
    judge_pair = make_judge(sources, f"{commit}^", commit)
    for before, after in pairs:
        if before.kind not in NOT_CODE:
            yield judge_pair(before, after)


def make_judge(
    sources: dict[str, bytes], old_commit: str, new_commit: str
) -> Callable[[Symbol, Symbol | None], Staleness]:
    """Return a function that judges a symbol of the old commit by the one of the new commit, and by their code."""
    files: dict[str, ParsedFile | None] = {}

    def parse(name: str) -> ParsedFile | None:
        if name not in files:
            files[name] = parse_file(name.partition(":")[2], sources[name])
        return files[name]

    def judge_pair(before: Symbol, after: Symbol | None) -> Staleness:
        if after is None or before.fingerprint.raw == after.fingerprint.raw:
            return assess_change(Anchor.of(before, old_commit), after, new_commit)
        old_file, new_file = parse(f"{old_commit}:{before.path}"), parse(f"{new_commit}:{after.path}")
        return code_changes.judge_symbols(before, after, old_file, new_file, code_changes.never_renamed)

    return judge_pair


def list_symbols(sources: dict[str, bytes], commit: str, paths: Sequence[str]) -> Iterator[Symbol]:
    for path in paths:
        if (source := sources.get(f"{commit}:{path}")) is not None:
            yield from outline(path, source).symbols


def print_distance(root: Path, distance: int) -> None:
    """Print the share of memories that each rule marks as stale ``distance`` commits later."""
    then = f"HEAD~{distance}"
    tree_paths = git.run(root, "ls-tree", "-r", "-z", "--name-only", then).decode("utf-8", "replace").split("\0")
    paths = [path for path in tree_paths if find_language(path)]
    everything = [*list_symbols(git.read_blobs(root, [f"{then}:{path}" for path in paths]), then, paths)]
    symbols = [symbol for symbol in everything if symbol.kind not in NOT_CODE]
    touched_paths, moves = git.list_changes(root, then)
    changed = set(touched_paths)
    code_paths = [path for path in dict.fromkeys(touched_paths) if find_language(path)]
    sources = git.read_blobs(root, [f"{side}:{path}" for path in code_paths for side in (then, "HEAD")])
    old, new = ([*list_symbols(sources, side, code_paths)] for side in (then, "HEAD"))
    judge_pair = make_judge(sources, then, "HEAD")
    results = (judge_pair(before, after) for before, after in match(old, new, moves))
    changes = [
        result for result in results if result.change is not SymbolChange.FRESH and result.anchor.kind not in NOT_CODE
    ]
    by_file = sum(symbol.path in changed for symbol in symbols)
    by_symbol = sum(result.must_verify for result in changes)
    moved_symbols = {
        (result.anchor.label, result.anchor.ordinal)
        for result in changes
        if not result.now or result.now.line != result.anchor.line
    }
    here = {symbol.key: symbol.line for path in changed for symbol in list_symbols_now(root, path)}
    by_line = sum(here.get(symbol.key, symbol.line) != symbol.line for symbol in symbols if symbol.path in changed)
    total = len(symbols)
    print(f"  {distance} commits on, of {total}: file rule {by_file / total:.1%}, ours {by_symbol / total:.1%}")
    print(f"  path:line citations broken {max(by_line, len(moved_symbols)) / total:.1%}")


def list_symbols_now(root: Path, path: str) -> Iterator[Symbol]:
    for source in git.read_blobs(root, [f"HEAD:{path}"]).values():
        yield from outline(path, source).symbols


def print_sample(repository: Path, commits: int) -> None:
    """Print at most two followed and two lost symbols per commit, in random order, with a column for the label."""
    root, draw = repository.resolve(), random.Random(50)
    sample: dict[str, list[Staleness]] = {"followed": [], "lost": []}
    for commit in list_commits(root, commits):
        candidates: dict[str, list[Staleness]] = defaultdict(list)
        for result in judge_commit(root, commit, []):
            if result.change is SymbolChange.GONE:
                candidates["lost"].append(result)
            elif result.change in (SymbolChange.RENAMED, SymbolChange.MOVED):
                candidates["followed"].append(result)
        for what, group in candidates.items():
            sample[what] += draw.sample(group, min(2, len(group)))
    for what, group in sample.items():
        for result in draw.sample(group, min(25, len(group))):
            target = result.now.label if result.now else "-"
            fields = (repository.name, result.anchor.commit.rstrip("^")[:12], what, result.anchor.label, target)
            print("\t".join((*fields, f"of {len(group)}", "?")))


def print_score(labels: Sequence[Path]) -> None:
    """Print precision and recall.

    Labels are right, wrong or unsure for followed symbols, and gone, missed or unsure for lost ones.
    """
    right = total = estimated_missed = estimated_found = 0.0
    for path in labels:
        rows = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
        for repository in dict.fromkeys(row[0] for row in rows):
            followed_rows = [row for row in rows if row[0] == repository and row[2] == "followed"]
            lost_rows = [row for row in rows if row[0] == repository and row[2] == "lost"]
            right += sum(row[6] == "right" for row in followed_rows)
            total += len(followed_rows)
            # Each sample is scaled to the number of symbols it was taken from.
            estimated_found += _scale(followed_rows, "right")
            estimated_missed += _scale(lost_rows, "missed") if lost_rows else 0
    recall = estimated_found / (estimated_found + estimated_missed)
    print(f"precision (strict) {right / total:.1%} of {total:.0f}; recall {recall:.1%}")


def _scale(rows: Sequence[Sequence[str]], label: str) -> float:
    population = int(rows[0][5].split()[1])
    return population * sum(row[6] == label for row in rows) / len(rows)


def list_commits(root: Path, commits: int) -> list[str]:
    return git.run(root, "log", "--no-merges", "--format=%H", f"-n{commits}", "HEAD^").decode().split()


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
