"""Simulate devices and hubs on the real code, with faults of the network, processes and clocks.

python -m evals.simulation [--seeds 10000] [--first 0]   run seeds and count what happened
python -m evals.simulation --mutants [--seeds 200]       add bugs and print the first seed that detects each
"""

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from evals.simulation.mutants import MUTANTS
from evals.simulation.world import patch, simulate

CHUNK = 50
MUST_HAPPEN = (
    "memory.erased", "memory.revised", "memory.approved", "entries.refused", "rival edits", "settled edits",
    "private words", "said again", "leases over", "crashes", "broken off: Unavailable", "broken off: Refused",
)  # fmt: skip
"""A run proves something only if each of these happened in it."""


def run(first: int, last: int) -> tuple[dict[int, str], Counter[str]]:
    """Run a range of seeds; return those that broke a promise, and counts of what happened."""
    broken, counts = {}, Counter[str]()
    for seed in range(first, last):
        problem, seed_counts = simulate(seed)
        counts += seed_counts
        if problem:
            broken[seed] = problem
    return broken, counts


def find_seed(mutant: int, seeds: int) -> tuple[int, str]:
    """Return the first seed that detects a bug and the broken promise; -1 if none does."""
    with patch(MUTANTS[mutant]()):
        for seed in range(seeds):
            problem, _ = simulate(seed)
            if problem:
                return seed, problem
    return -1, ""


def main() -> None:
    """Run seeds or mutants on all processors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--mutants", action="store_true", help="check that every added bug is detected")
    parser.add_argument("--jobs", type=int, default=None, help="processes; default: one per processor")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.mutants:
            missed_mutants = 0
            results = pool.map(find_seed, range(len(MUTANTS)), [options.seeds] * len(MUTANTS))
            for mutant, (seed, problem) in zip(MUTANTS, results, strict=True):
                missed_mutants += seed < 0
                print(f"{mutant.__name__:34} {seed:>4}  {problem[:90]}", flush=True)
            sys.exit(missed_mutants)
        last = options.first + options.seeds
        starts = range(options.first, last, CHUNK)
        broken: dict[int, str] = {}
        counts: Counter[str] = Counter()
        for some_broken, some_happened in pool.map(run, starts, [min(start + CHUNK, last) for start in starts]):
            broken |= some_broken
            counts += some_happened
    for what, count in sorted(counts.items()):
        print(f"{count:>9,}  {what}")
    for seed, problem in broken.items():
        print(f"seed {seed}: {problem}")
    missing = [what for what in MUST_HAPPEN if not counts[what]]
    print(f"{options.seeds:,} seeds, {len(broken)} broke a promise; never happened: {', '.join(missing) or 'nothing'}")
    sys.exit(bool(broken or missing))


if __name__ == "__main__":
    main()
