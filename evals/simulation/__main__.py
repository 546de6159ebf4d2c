"""Devices and hubs on the real code, with everything that can go wrong between them.

python -m evals.simulation [--seeds 10000] [--first 0]   run seeds, and say what happened in them
python -m evals.simulation --mutants [--seeds 200]       put bugs in, and say which seed noticed each
"""

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from evals.simulation.mutants import MUTANTS
from evals.simulation.world import replaced, simulate

CHUNK = 50
MUST_HAPPEN = (
    "memory.erased", "memory.revised", "memory.approved", "entries.refused", "rival edits", "settled edits",
    "private words", "said again", "leases over", "crashes", "broken off: Unavailable", "broken off: Refused",
)  # fmt: skip
"""A run in which nothing happened proves nothing."""


def run(first: int, last: int) -> tuple[dict[int, str], Counter[str]]:
    """Run some seeds; return which broke a promise, and what happened in all of them."""
    broken, happened = {}, Counter[str]()
    for seed in range(first, last):
        problem, seen = simulate(seed)
        happened += seen
        if problem:
            broken[seed] = problem
    return broken, happened


def noticed(mutant: int, seeds: int) -> tuple[int, str]:
    """The first seed in which a bug is noticed, and as what; none within these seeds is -1."""
    with replaced(MUTANTS[mutant]()):
        for seed in range(seeds):
            problem, _ = simulate(seed)
            if problem:
                return seed, problem
    return -1, ""


def main() -> None:
    """Do what the arguments say, on every processor there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--mutants", action="store_true")
    parser.add_argument("--jobs", type=int, default=None)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.jobs) as pool:
        if given.mutants:
            unnoticed = 0
            found = pool.map(noticed, range(len(MUTANTS)), [given.seeds] * len(MUTANTS))
            for mutant, (seed, problem) in zip(MUTANTS, found, strict=True):
                unnoticed += seed < 0
                print(f"{mutant.__name__:34} {seed:>4}  {problem[:90]}", flush=True)
            sys.exit(unnoticed)
        last = given.first + given.seeds
        starts = range(given.first, last, CHUNK)
        broken: dict[int, str] = {}
        happened: Counter[str] = Counter()
        for some_broken, some_happened in pool.map(run, starts, [min(start + CHUNK, last) for start in starts]):
            broken |= some_broken
            happened += some_happened
    for what, count in sorted(happened.items()):
        print(f"{count:>9,}  {what}")
    for seed, problem in broken.items():
        print(f"seed {seed}: {problem}")
    missing = [what for what in MUST_HAPPEN if not happened[what]]
    print(f"{given.seeds:,} seeds, {len(broken)} broke a promise; never happened: {', '.join(missing) or 'nothing'}")
    sys.exit(bool(broken or missing))


if __name__ == "__main__":
    main()
