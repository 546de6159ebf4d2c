"""Measure whether sentences about code that became wrong are asked to be verified, and followed when the code moves.

python -m lab.benchmarks.code sentences CLONES [FILE...] [--each] [--save]

Without files, the test part of `lab/yardstick/cases/change`; rules are written on `development.jsonl`, other
repositories. Language models wrote the sentences after reading the code before a commit, and said whether they hold
after reading the code behind it.
Each line of a file has a sentence about a symbol at a commit, whether it still holds at a later one, which kind of
change lies between them, and where the symbol went. CLONES has a bare clone of each repository, in OWNER+NAME or below
it. Each case goes the way of the product: the tree is checked out, the sentence is linked, the later commit is checked
out, and the link is judged. Totals are printed after each repository, for all so far.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from hivemind.code import code_changes, git, links
from hivemind.code.index import CodeIndex
from hivemind.code.parsing import outline
from hivemind.model.code import Anchor, Staleness
from lab.benchmarks import results

SETS = Path(__file__).parents[1] / "yardstick" / "cases" / "change"
FOLLOWED = ("moved", "renamed")


class Case(NamedTuple):
    """A sentence about a symbol, and what became of both."""

    repo: str
    before: str
    after: str
    path: str
    symbol: str
    sentence: str
    holds: bool
    change: str
    to: str | None


class Outcome(NamedTuple):
    """What the product says about a case."""

    case: Case
    staleness: Staleness
    goes_to: str
    """Where the symbol is now; empty if it is gone."""

    @property
    def is_asked(self) -> bool:
        """Whether the product asks to verify the sentence."""
        return self.staleness.must_verify


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="lab.benchmarks.code sentences")
    parser.add_argument("clones", type=Path)
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--each", action="store_true", help="print each case that is not as it should be")
    parser.add_argument("--save", action="store_true", help="save the totals to lab/evals/results")
    options = parser.parse_args(arguments)
    cases = [case for file in options.files or sorted(SETS.glob("test-*.jsonl")) for case in read_cases(file)]
    outcomes: list[Outcome] = []
    for outcome in judge_cases(options.clones, cases):
        if outcomes and outcomes[-1].case.repo != outcome.case.repo:
            print({name: f"{count} of {of}" for name, (count, of) in count_totals(outcomes).items()}, flush=True)
        outcomes.append(outcome)
    if options.each:
        print_mistakes(outcomes)
    print(f"{len(outcomes)} of {len(cases)} cases could be linked")
    print_totals(totals := count_totals(outcomes))
    if options.save:
        data = f"{len(outcomes)} sentences about code of other people's repositories, test part"
        results.save("staleness", data=data, configuration="as installed", figures=totals)


def read_cases(file: Path) -> list[Case]:
    """Read the cases of a file."""
    return [Case(**json.loads(line)) for line in file.read_text("utf-8").splitlines() if line.strip()]


def judge_cases(clones: Path, cases: Iterable[Case]) -> Iterator[Outcome]:
    """Judge the cases of each repository in one working tree; those that cannot be linked are left out."""
    by_repo: dict[str, list[Case]] = {}
    for case in cases:
        by_repo.setdefault(case.repo, []).append(case)
    for repo, repo_cases in by_repo.items():
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / repo.rpartition("/")[2]
            run_git(find_clone(clones, repo), "worktree", "add", "-q", "--no-checkout", "--detach", str(tree))
            try:
                with CodeIndex.open(tree, Path(folder) / "cache") as index:
                    yield from judge_in_tree(index, tree, repo_cases)
            finally:
                run_git(find_clone(clones, repo), "worktree", "remove", "--force", str(tree))


def judge_in_tree(index: CodeIndex, tree: Path, cases: Sequence[Case]) -> Iterator[Outcome]:
    """Judge cases of one repository: those whose symbol stays in its place in their file alone, which is faster."""
    others: list[Case] = []
    for case in cases:
        names = [f"{commit}:{case.path}" for commit in (case.before, case.after)]
        sources = [git.read_blobs(tree, names).get(name) for name in names]
        file = tree / case.path
        if not all(sources) or not has_symbol(case.path, sources[1] or b"", case.symbol):
            others.append(case)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(sources[0] or b"")
        anchors = links.resolve_link(index, f"{case.path}::{case.symbol}", case.before)[:1]
        file.write_bytes(sources[1] or b"")
        yield from judge_case(index, case, anchors)
        file.unlink()
    for (before, after), pair_cases in groupby(sorted(others, key=_get_commits), key=_get_commits):
        # A clone without its largest files may lack one of this commit.
        if not check_out(tree, before):
            continue
        links_by_case = {
            case: links.resolve_link(index, f"{case.path}::{case.symbol}", before)[:1] for case in pair_cases
        }
        if check_out(tree, after):
            index.refresh()
            for case, anchors in links_by_case.items():
                yield from judge_case(index, case, anchors)


def has_symbol(path: str, source: bytes, name: str) -> bool:
    """Whether a file has a symbol of this name."""
    return any(is_meant(symbol.label, f"{path}::{name}") for symbol in outline(path, source).symbols)


def is_meant(label: str, target: str) -> bool:
    """Whether a symbol is the one of a case, which may leave out the classes around it."""
    (path, _, qualified), (target_path, _, name) = label.partition("::"), target.partition("::")
    return path == target_path and f".{qualified}".endswith(f".{name}")


def judge_case(index: CodeIndex, case: Case, anchors: Sequence[Anchor]) -> Iterator[Outcome]:
    """Judge the anchor of a case, if it has one."""
    for staleness in code_changes.judge(index, anchors, [case.sentence] * len(anchors)):
        yield Outcome(case, staleness, staleness.now.label if staleness.now else "")


def _get_commits(case: Case) -> tuple[str, str]:
    return case.before, case.after


def check_out(tree: Path, commit: str) -> bool:
    """Check out a commit; return whether git has all of it."""
    command = ["git", "-C", str(tree), "checkout", "-q", "--force", "--detach", commit]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def count_totals(outcomes: Sequence[Outcome]) -> dict[str, tuple[int, int]]:
    """Count how many were asked and followed, and of how many."""
    quiet_kinds = ("comments", "unchanged")
    loud = [outcome for outcome in outcomes if outcome.case.change not in quiet_kinds]
    questions = {
        "wrong sentences asked": [outcome.is_asked for outcome in loud if not outcome.case.holds],
        "true sentences asked": [outcome.is_asked for outcome in loud if outcome.case.holds],
        "comments and layout asked": [outcome.is_asked for outcome in outcomes if outcome.case.change in quiet_kinds],
        "moved or renamed, followed": [
            is_meant(outcome.goes_to, outcome.case.to or "") for outcome in outcomes if outcome.case.change in FOLLOWED
        ],
        "followed to another symbol, of all": [
            bool(outcome.goes_to) and not is_meant(outcome.goes_to, _get_target(outcome.case)) for outcome in outcomes
        ],
    }
    for kind in sorted({outcome.case.change for outcome in outcomes}):
        questions[f"asked, {kind}"] = [outcome.is_asked for outcome in outcomes if outcome.case.change == kind]
    return {name: (sum(answers), len(answers)) for name, answers in questions.items()}


def print_totals(totals: Mapping[str, tuple[int, int]]) -> None:
    """Print the totals with their shares."""
    for name, (count, of) in totals.items():
        print(f"{name:<36} {count:>4} of {of:<4} {100 * count / max(1, of):.0f} %")


def _get_target(case: Case) -> str:
    return case.to or ("" if case.change == "deleted" else f"{case.path}::{case.symbol}")


def print_mistakes(outcomes: Iterable[Outcome]) -> None:
    """Print the cases that are asked without need, not asked though wrong, or followed wrongly."""
    for outcome in outcomes:
        case, target = outcome.case, _get_target(outcome.case)
        is_lost = not is_meant(outcome.goes_to, target) and bool(outcome.goes_to or target)
        if outcome.is_asked == case.holds or is_lost:
            state = "wrong" if not case.holds else "true"
            print(f"{state}, {case.change}, {'asked' if outcome.is_asked else 'not asked'}: {case.path}::{case.symbol}")
            print(f"    {case.sentence}")
            print(f"    {outcome.staleness.change}, {outcome.staleness.text}")
            if is_lost:
                print(f"    {target or 'gone'}; followed to {outcome.goes_to or 'nothing'}")


def find_clone(clones: Path, repo: str) -> Path:
    """Find the git directory of a repository."""
    folder = clones / repo.replace("/", "+")
    return next(head.parent for head in sorted(folder.rglob("HEAD")) if (head.parent / "objects").is_dir())


def run_git(folder: Path, *arguments: str) -> None:
    """Run git with output only on failure."""
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)
