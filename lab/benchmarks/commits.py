"""Replay the changes of a repository's newest commits, and print which reasons of older commits would be told.

python -m lab.benchmarks.commits REPOSITORY         counts: commits, reasons, edits, and how many of them are told one
python -m lab.benchmarks.commits REPOSITORY 30      also a random sample to judge by hand, the same every time

An edit is a hunk of a commit; it is asked about as if an agent were about to make it.
lab/notes/actions.md has the judgements.
"""

import random
import re
import sys
import tempfile
from pathlib import Path

from hivemind.code import git
from hivemind.code.commit_index import CommitIndex
from hivemind.recall import blame
from hivemind.recall.commits import fit_reasons, make_hit, render_reason, select_about_lines
from lab.benchmarks.detectors import SEED

REPLAYED = 400
MOST_FILES = 12
TOKENS = 340


def main() -> None:
    """Print the counts, and a sample if one is asked for."""
    repository, *sample = sys.argv[1:]
    root = Path(repository)
    history = list(git.read_commits(root, limit=REPLAYED))
    told: list[str] = []
    edits = 0
    with tempfile.TemporaryDirectory() as scratch, CommitIndex.open(root, Path(scratch)) as index:
        report = index.update(str)
        print(f"{report.commits:,} commits, {report.reasons:,} give a reason")
        for commit in history:
            is_sweeping = len(commit.files) > MOST_FILES
            for commit_id, path, diff in () if is_sweeping else git.read_patches(root, [commit.id]):
                # As in a hook, git is asked only about files of which a commit says why.
                for hunk in re.split(r"^(?=@@ )", diff, flags=re.MULTILINE)[1:] if index.find_by_path(path) else ():
                    edits += 1
                    told += _replay(root, index, commit_id, path, hunk)
    print(f"{edits:,} edits of {len(history)} commits, {len(told):,} told a reason")
    for text in random.Random(SEED).sample(told, min(int(sample[0]), len(told))) if sample else ():
        print(f"\n{text}")


def _replay(root: Path, index: CommitIndex, commit_id: str, path: str, diff: str) -> list[str]:
    """Return what would be told before a commit changes a file; empty or one text."""
    origins = blame.find_origins(root, path, [diff], commit=f"{commit_id}^")
    hits = fit_reasons(map(make_hit, select_about_lines(index, path, origins)), TOKENS)
    changed = "\n".join(line[:110] for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---"))
    said = "\n".join(map(render_reason, hits))
    return [f"=== {path} in {commit_id[:7]}\n{changed[:700]}\n--> {said}"] if hits else []


if __name__ == "__main__":
    main()
