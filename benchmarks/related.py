"""How well `related` finds the other files of a real commit from one of them.

python -m benchmarks.related REPOSITORY [--commits 200]

Each commit of 2 to 10 files is asked about in the tree before it, with the history before it: from each of its files
in turn, the share of the others that are among the first ten. What the commit itself adds cannot be found and is left
out. Beside it what common history alone would find, and what lies in the same folder.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measure import quantiles
from hivemind.codebase import git
from hivemind.codebase.graph import related
from hivemind.codebase.index import Index

FEWEST, MOST, SHOWN = 2, 10, 10


class Asked(NamedTuple):
    """One commit, in the tree before it."""

    commit: str
    files: list[str]
    known: Index


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.related", description=__doc__.splitlines()[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=200)
    options = parser.parse_args()
    found, folder, costs = [], [], []
    for asked in walk(options.repository.resolve(), options.commits):
        shares = []
        for seed in asked.files:
            start = time.process_time()
            answer = related(asked.known, [seed], SHOWN)
            costs.append((time.process_time() - start) * 1000)
            shares.append(share([one.path for one in answer], asked.files, seed))
        found.append(statistics.mean(shares))
        folder.append(statistics.mean(share(beside(asked.known, seed), asked.files, seed) for seed in asked.files))
    p50, p95 = quantiles(costs)
    print(f"{options.repository.name}: {len(found)} commits of {FEWEST} to {MOST} files")
    print(f"  recall@{SHOWN} {statistics.mean(found):.3f}; same folder alone {statistics.mean(folder):.3f}")
    print(f"  p50 {p50:.1f} ms, p95 {p95:.1f} ms of CPU for one answer")


def walk(root: Path, commits: int) -> Iterator[Asked]:
    """The last commits that fit, oldest first, each with an index of the tree before it."""
    chosen = [one for one in git.commits(root, limit=20 * commits) if FEWEST <= len(one.files) <= MOST][:commits]
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "tree"
        at = ["git", "-c", "advice.detachedHead=false", "-C"]
        subprocess.run([*at, root, "worktree", "add", "-q", "--detach", tree, f"{chosen[-1].id}^"], check=True)
        try:
            with Index.open(tree, Path(place)) as index:
                for commit in reversed(chosen):
                    subprocess.run([*at, tree, "checkout", "-qf", f"{commit.id}^"], check=True)
                    index.refresh()
                    known = set(index.paths())
                    files = [path for path in commit.files if path in known]
                    if len(files) >= FEWEST:
                        yield Asked(commit.id, files, index)
        finally:
            subprocess.run([*at, root, "worktree", "remove", "--force", tree], check=True)


def share(found: Sequence[str], files: Sequence[str], seed: str) -> float:
    """How much of a commit's other files was found."""
    others = set(files) - {seed}
    return len(others & set(found)) / len(others)


def beside(index: Index, seed: str) -> list[str]:
    folder = seed.rpartition("/")[0]
    return [path for path in index.paths() if path.rpartition("/")[0] == folder and path != seed][:SHOWN]


if __name__ == "__main__":
    main()
