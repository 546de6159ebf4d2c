"""Measure how well `related` finds the other files of a real commit from one of them.

python -m benchmarks.related REPOSITORY [--commits 200]

For each commit of 2 to 10 files, in the tree and with the history before it: from each of its files in turn, the share
of the others among the first ten results. Files that the commit adds cannot be found and are left out. The baseline is
the files of the same folder.
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
from hivemind.codebase.graph import find_related
from hivemind.codebase.index import CodeIndex

FEWEST, MOST, SHOWN = 2, 10, 10


class PastCommit(NamedTuple):
    """A commit, with an index of the tree before it."""

    commit: str
    subject: str
    """The first line of its message."""
    files: list[str]
    tree_index: CodeIndex


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.related", description=__doc__.splitlines()[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=200)
    options = parser.parse_args()
    shares_found, shares_in_folder, costs = [], [], []
    for commit in walk(options.repository.resolve(), options.commits):
        shares = []
        for seed in commit.files:
            start = time.process_time()
            answer = find_related(commit.tree_index, [seed], SHOWN)
            costs.append((time.process_time() - start) * 1000)
            shares.append(share([file.path for file in answer], commit.files, seed))
        shares_found.append(statistics.mean(shares))
        shares_in_folder.append(
            statistics.mean(share(list_folder(commit.tree_index, seed), commit.files, seed) for seed in commit.files)
        )
    p50, p95 = quantiles(costs)
    print(f"{options.repository.name}: {len(shares_found)} commits of {FEWEST} to {MOST} files")
    found_mean, folder_mean = statistics.mean(shares_found), statistics.mean(shares_in_folder)
    print(f"  recall@{SHOWN} {found_mean:.3f}; same folder alone {folder_mean:.3f}")
    print(f"  p50 {p50:.1f} ms, p95 {p95:.1f} ms of CPU for one answer")


def walk(root: Path, commits: int, fewest: int = FEWEST) -> Iterator[PastCommit]:
    """Yield the last commits of the right size, oldest first, each with an index of the tree before it."""
    commits_in_range = [
        commit for commit in git.read_commits(root, limit=20 * commits) if fewest <= len(commit.files) <= MOST
    ][:commits]
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place) / "tree"
        at = ["git", "-c", "advice.detachedHead=false", "-C"]
        subprocess.run(
            [*at, root, "worktree", "add", "-q", "--detach", tree, f"{commits_in_range[-1].id}^"], check=True
        )
        try:
            with CodeIndex.open(tree, Path(place)) as index:
                for commit in reversed(commits_in_range):
                    subprocess.run([*at, tree, "checkout", "-qf", f"{commit.id}^"], check=True)
                    index.refresh()
                    tree_paths = set(index.paths())
                    files = [path for path in commit.files if path in tree_paths]
                    if len(files) >= fewest:
                        yield PastCommit(commit.id, commit.message.partition("\n")[0], files, index)
        finally:
            subprocess.run([*at, root, "worktree", "remove", "--force", tree], check=True)


def share(result: Sequence[str], files: Sequence[str], seed: str) -> float:
    """Return the share of a commit's other files that was found."""
    expected_files = set(files) - {seed}
    return len(expected_files & set(result)) / len(expected_files)


def list_folder(index: CodeIndex, seed: str) -> list[str]:
    folder = seed.rpartition("/")[0]
    return [path for path in index.paths() if path.rpartition("/")[0] == folder and path != seed][:SHOWN]


if __name__ == "__main__":
    main()
