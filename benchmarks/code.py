"""What the code layer costs and how well it judges.

python -m benchmarks.code index                 Django's sdist from PyPI, beside universal-ctags if installed
python -m benchmarks.code history REPOSITORY    staleness over real commits of a repository with history
python -m benchmarks.code sample REPOSITORY     renames, moves and losses to be labelled by hand, as lines
python -m benchmarks.code score LABELS...       precision and recall from labelled lines
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

from hivemind.codebase import git
from hivemind.codebase.database import select
from hivemind.codebase.grammar import language_of
from hivemind.codebase.index import Index
from hivemind.codebase.matching import match
from hivemind.codebase.staleness import judge, staleness
from hivemind.codebase.symbols import outline
from hivemind.model.code import BROKEN, FILE, Anchor, Change, Staleness, Symbol

DJANGO = "Django==5.2.*"
_Result = TypeVar("_Result")
PROSE = frozenset({"key", "table", "section", FILE})


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.code", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("index")
    command.set_defaults(run=lambda options: measure_index())
    for name, run in (("history", measure_history), ("sample", print_sample)):
        command = commands.add_parser(name)
        command.add_argument("repository", type=Path)
        command.add_argument("--commits", type=int, default=500)
        command.set_defaults(run=lambda options, run=run: run(options.repository, options.commits))
    command = commands.add_parser("score")
    command.add_argument("labels", type=Path, nargs="+")
    command.set_defaults(run=lambda options: print_score(options.labels))
    options = parser.parse_args()
    options.run(options)


def measure_index() -> None:
    """A full index, single saved files and ten anchors on Django's source distribution."""
    with tempfile.TemporaryDirectory() as folder:
        root = download(Path(folder))
        ctags = ctags_seconds(root)
        with Index.open(root, Path(folder) / "cache") as index:
            seconds, files = timed(index.refresh)
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            index.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            size = index.path.stat().st_size
            ((symbols,),) = select(index.db, "SELECT count(*) FROM symbols WHERE kind != 'file'")
            print(f"full index       {files} files, {symbols} symbols in {seconds:.1f} s of CPU")
            print(f"                 {files / seconds:.0f} files/s, {symbols / seconds:.0f} symbols/s")
            beside = f"{ctags:.1f} s of CPU; we take {seconds / ctags:.1f} x" if ctags else "not installed"
            print(f"universal-ctags  {beside}, with edges, fingerprints and a database")
            print(f"resident         {memory:.0f} MB; disk {size / 1e6:.1f} MB, {size / symbols:.0f} B/symbol")
            again, _ = timed(index.refresh)
            print(f"nothing changed  {again * 1000:.0f} ms")
            report("one saved file", list(saved_files(index)))
            report("ten anchors", list(ten_anchors(index)))


def download(folder: Path) -> Path:
    """Django's sources, by pip."""
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
    """The CPU time universal-ctags takes for the same tree."""
    if shutil.which("ctags") is None:
        return None
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["ctags", "-R", "--fields=+neS", "-f", "-", "."]
    subprocess.run(command, cwd=root, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def saved_files(index: Index) -> Iterator[float]:
    """CPU time from a saved file to committed rows, for files drawn at random."""
    chosen = random.Random(8).sample([path for path in index.paths() if path.endswith(".py")], 200)
    for path in chosen:
        place = index.root / path
        place.write_text(place.read_text() + f"\n\ndef added_{len(path)}(value):\n    return value + {len(path)}\n")
        yield timed(partial(index.update, [path]))[0]


def ten_anchors(index: Index) -> Iterator[float]:
    """CPU time to judge ten anchors, nothing having changed."""
    draw = random.Random(8)
    paths = [path for path in index.paths() if path.endswith(".py")]
    for _ in range(50):
        symbols = [draw.choice(index.symbols_of(path)) for path in draw.sample(paths, 10)]
        anchors = [Anchor.of(symbol) for symbol in symbols]
        yield timed(partial(judge, index, anchors))[0]


def measure_history(repository: Path, commits: int) -> None:
    """How many memories each rule would put in doubt, were there one on every symbol."""
    root = repository.resolve()
    tally: Counter[str] = Counter()
    costs: list[float] = []
    for commit in recent(root, commits):
        for judged in touched(root, commit, costs):
            tally["file rule"] += 1
            tally[judged.change] += 1
            tally["must verify"] += judged.must_verify
    print(f"{repository.name}: {len(costs)} commits that touch code")
    print(f"  file rule flags  {tally['file rule']}; of these must be verified {tally['must verify']}")
    print(f"  file rule / ours {tally['file rule'] / max(1, tally['must verify']):.0f} x")
    print("  " + ", ".join(f"{change} {tally[change]}" for change in Change))
    report("  commit diff", costs)
    print_distance(root, 100)


def touched(root: Path, commit: str, costs: list[float]) -> Iterator[Staleness]:
    """Every symbol of the files a commit touched; the old side is not charged, an index holds it."""
    paths, moves = git.changed(root, f"{commit}^", commit)
    known = [path for path in dict.fromkeys(paths) if language_of(path)]
    if not known or len(known) > 300:
        return
    sources = git.contents(root, [f"{side}:{path}" for path in known for side in (f"{commit}^", commit)])
    old = [*outlined(sources, f"{commit}^", known)]
    broken = {symbol.path for symbol in old if symbol.kind == FILE and symbol.signature == BROKEN}
    prints = [symbol.fingerprint for symbol in old if symbol.path not in broken]

    def work() -> list[tuple[Symbol, Symbol | None]]:
        new = [
            symbol
            for path in known
            if (source := sources.get(f"{commit}:{path}")) is not None
            for symbol in outline(path, source, prints).symbols
        ]
        return [*match(old, new, moves)]

    seconds, pairs = timed(work)
    costs.append(seconds)
    for before, after in pairs:
        if before.kind not in PROSE:
            yield staleness(Anchor.of(before, f"{commit}^"), after, commit)


def outlined(sources: dict[str, bytes], commit: str, paths: Sequence[str]) -> Iterator[Symbol]:
    for path in paths:
        if (source := sources.get(f"{commit}:{path}")) is not None:
            yield from outline(path, source).symbols


def print_distance(root: Path, distance: int) -> None:
    """What share of memories each rule doubts so many commits later."""
    then = f"HEAD~{distance}"
    listed = git.run(root, "ls-tree", "-r", "-z", "--name-only", then).decode("utf-8", "replace").split("\0")
    paths = [path for path in listed if language_of(path)]
    everything = [*outlined(git.contents(root, [f"{then}:{path}" for path in paths]), then, paths)]
    symbols = [symbol for symbol in everything if symbol.kind not in PROSE]
    touched_paths, moves = git.changed(root, then)
    changed = set(touched_paths)
    known = [path for path in dict.fromkeys(touched_paths) if language_of(path)]
    sources = git.contents(root, [f"{side}:{path}" for path in known for side in (then, "HEAD")])
    old, new = ([*outlined(sources, side, known)] for side in (then, "HEAD"))
    judged = (staleness(Anchor.of(before, then), after, "HEAD") for before, after in match(old, new, moves))
    changes = [one for one in judged if one.change is not Change.FRESH and one.anchor.kind not in PROSE]
    by_file = sum(symbol.path in changed for symbol in symbols)
    by_symbol = sum(one.must_verify for one in changes)
    moved = {
        (one.anchor.label, one.anchor.ordinal) for one in changes if not one.now or one.now.line != one.anchor.line
    }
    here = {symbol.key: symbol.line for path in changed for symbol in outlined_now(root, path)}
    by_line = sum(here.get(symbol.key, symbol.line) != symbol.line for symbol in symbols if symbol.path in changed)
    total = len(symbols)
    print(f"  {distance} commits on, of {total}: file rule {by_file / total:.1%}, ours {by_symbol / total:.1%}")
    print(f"  path:line citations broken {max(by_line, len(moved)) / total:.1%}")


def outlined_now(root: Path, path: str) -> Iterator[Symbol]:
    for source in git.contents(root, [f"HEAD:{path}"]).values():
        yield from outline(path, source).symbols


def print_sample(repository: Path, commits: int) -> None:
    """At most two followed and two lost symbols of a commit, in random order, with room for a label."""
    root, draw = repository.resolve(), random.Random(50)
    drawn: dict[str, list[Staleness]] = {"followed": [], "lost": []}
    for commit in recent(root, commits):
        found: dict[str, list[Staleness]] = defaultdict(list)
        for one in touched(root, commit, []):
            if one.change is Change.GONE:
                found["lost"].append(one)
            elif one.change in (Change.RENAMED, Change.MOVED):
                found["followed"].append(one)
        for what, ones in found.items():
            drawn[what] += draw.sample(ones, min(2, len(ones)))
    for what, ones in drawn.items():
        for one in draw.sample(ones, min(25, len(ones))):
            target = one.now.label if one.now else "-"
            fields = (repository.name, one.anchor.commit.rstrip("^")[:12], what, one.anchor.label, target)
            print("\t".join((*fields, f"of {len(ones)}", "?")))


def print_score(labels: Sequence[Path]) -> None:
    """Labels are right, wrong or unsure for what was followed; gone, missed or unsure for what was lost."""
    right = followed = missed = found = 0.0
    for path in labels:
        rows = [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]
        for repository in dict.fromkeys(row[0] for row in rows):
            kept = [row for row in rows if row[0] == repository and row[2] == "followed"]
            lost = [row for row in rows if row[0] == repository and row[2] == "lost"]
            right += sum(row[6] == "right" for row in kept)
            followed += len(kept)
            # A sample stands for all that it was drawn from.
            found += int(kept[0][5].split()[1]) * sum(row[6] == "right" for row in kept) / len(kept)
            if lost:
                missed += int(lost[0][5].split()[1]) * sum(row[6] == "missed" for row in lost) / len(lost)
    print(f"precision (strict) {right / followed:.1%} of {followed:.0f}; recall {found / (found + missed):.1%}")


def recent(root: Path, commits: int) -> list[str]:
    return git.run(root, "log", "--no-merges", "--format=%H", f"-n{commits}", "HEAD^").decode().split()


def timed(work: Callable[[], _Result]) -> tuple[float, _Result]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def report(what: str, seconds: Sequence[float]) -> None:
    ranked = sorted(seconds)
    p50, p95 = statistics.median(ranked), ranked[int(len(ranked) * 0.95)]
    print(f"{what:<16} p50 {p50 * 1000:.1f} ms, p95 {p95 * 1000:.1f} ms of CPU ({len(ranked)} times)")


if __name__ == "__main__":
    main()
