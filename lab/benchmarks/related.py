"""Measure how well `related` finds the other files of a real commit from one of them.

python -m lab.benchmarks.related REPOSITORY [--commits 200]

For each commit of 2 to 10 files, in the tree and with the history before it: from each of its files in turn, the share
of the others among the first ten results. Files that the commit adds cannot be found and are left out. Baselines are
the files of the same folder, the files that most commits before changed together with it, and BM25 over the content of
all files with its most telling words.
"""

import argparse
import math
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hivemind.code import git
from hivemind.code.index import CodeIndex
from hivemind.code.related_files import find_related
from lab.benchmarks.content import count_words, rank_by_content, read_documents
from lab.benchmarks.measure import quantiles

FEWEST, MOST, SHOWN = 2, 10, 10
HISTORY, MOST_TOGETHER = 8_000, 50
"""Commits that the baseline reads, and files of one from which it says nothing."""
QUERY_WORDS = 25
"""Words of a file that BM25 searches for; more make it worse."""


class PastCommit(NamedTuple):
    """A commit, with an index of the tree before it."""

    commit: str
    subject: str
    """The first line of its message."""
    files: list[str]
    tree_index: CodeIndex


def main() -> None:
    parser = argparse.ArgumentParser(prog="lab.benchmarks.related", description=__doc__.splitlines()[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--commits", type=int, default=200)
    options = parser.parse_args()
    root = options.repository.resolve()
    history = History(root)
    costs: list[float] = []

    def find(commit: PastCommit, seed: str) -> list[str]:
        start = time.process_time()
        answer = find_related(commit.tree_index, [seed], SHOWN)
        costs.append((time.process_time() - start) * 1000)
        return [file.path for file in answer]

    methods: dict[str, Callable[[PastCommit, str], list[str]]] = {
        f"recall@{SHOWN}": find,
        "same folder": lambda commit, seed: list_folder(commit.tree_index, seed),
        "changed together": lambda commit, seed: history.rank(commit.commit, seed),
        "BM25": lambda commit, seed: rank_by_words(commit.tree_index, seed),
    }
    shares: dict[str, list[float]] = {name: [] for name in methods}
    for commit in walk(root, options.commits):
        for name, method in methods.items():
            results = [share(method(commit, seed), commit.files, seed) for seed in commit.files]
            shares[name].append(statistics.mean(results))
    p50, p95 = quantiles(costs)
    print(f"{options.repository.name}: {len(shares['BM25'])} commits of {FEWEST} to {MOST} files")
    print("  " + ", ".join(f"{name} {statistics.mean(values):.3f}" for name, values in shares.items()))
    print(f"  p50 {p50:.1f} ms, p95 {p95:.1f} ms of CPU for one answer")


class History:
    """Which files were changed together, at any commit of the past."""

    def __init__(self, root: Path) -> None:
        self.commits = [*git.read_commits(root, limit=HISTORY)]
        self.positions = {commit.id: position for position, commit in enumerate(self.commits)}

    def rank(self, commit: str, seed: str) -> list[str]:
        """The files that most commits before this one changed together with another file."""
        earlier = self.commits[self.positions[commit] + 1 :]
        together = (other.files for other in earlier if seed in other.files and len(other.files) <= MOST_TOGETHER)
        counts = Counter(path for files in together for path in files if path != seed)
        return [path for path, _ in counts.most_common(SHOWN)]


def rank_by_words(index: CodeIndex, seed: str) -> list[str]:
    """The best files by BM25 for the words of a file that are rare elsewhere."""
    documents = dict(read_documents(index))
    words = documents.get(seed) or count_words(index.root / seed, 0)
    spread = Counter(word for counts in documents.values() for word in counts.keys() & words.keys())
    weights = {word: count * math.log(len(documents) / (spread[word] or 1)) for word, count in words.items()}
    query = sorted(weights, key=lambda word: -weights[word])[:QUERY_WORDS]
    return [path for path in rank_by_content(documents, query) if path != seed][:SHOWN]


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
                    tree_paths = set(index.list_paths())
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
    return [path for path in index.list_paths() if path.rpartition("/")[0] == folder and path != seed][:SHOWN]


if __name__ == "__main__":
    main()
