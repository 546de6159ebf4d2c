"""Simulate devices and hubs on the real code, with faults of the network, processes and clocks.

python -m lab.evals.simulation [--seeds 10000] [--save]      run seeds and count what happened
python -m lab.evals.simulation --mutants [--seeds 200]       add bugs and print the first seed that detects each
python -m lab.evals.simulation --machines …                  one person's machines with a shared folder, not a team
"""

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from lab.benchmarks import results
from lab.evals.simulation import own_machines, world
from lab.evals.simulation.mutants import MUTANTS
from lab.evals.simulation.own_mutants import OWN_MUTANTS
from lab.evals.simulation.world import patch

CHUNK = 50
MUST_HAPPEN = (
    "memory.erased", "memory.revised", "memory.approved", "entries.refused", "rival edits", "settled edits",
    "private words", "said again", "leases over", "crashes", "broken off: Unavailable", "broken off: Refused",
)  # fmt: skip
"""A run proves something only if each of these happened in it."""


def run(first: int, last: int, *, of_machines: bool = False) -> tuple[dict[int, str], Counter[str]]:
    """Run a range of seeds; return those that broke a promise, and counts of what happened."""
    broken, counts = {}, Counter[str]()
    simulate = own_machines.simulate if of_machines else world.simulate
    for seed in range(first, last):
        problem, seed_counts = simulate(seed)
        counts += seed_counts
        if problem:
            broken[seed] = problem
    return broken, counts


def find_seed(mutant: int, seeds: int, *, of_machines: bool = False) -> tuple[int, str]:
    """Return the first seed that detects a bug and the broken promise; -1 if none does."""
    simulate = own_machines.simulate if of_machines else world.simulate
    with patch((OWN_MUTANTS if of_machines else MUTANTS)[mutant]()):
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
    parser.add_argument("--machines", action="store_true", help="one person's machines instead of a team")
    parser.add_argument("--save", action="store_true", help="save the counts to lab/evals/results")
    parser.add_argument("--jobs", type=int, default=None, help="processes; default: one per processor")
    options = parser.parse_args()
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.mutants:
            missed_mutants, mutants = 0, OWN_MUTANTS if options.machines else MUTANTS
            find = partial(find_seed, of_machines=options.machines)
            results = pool.map(find, range(len(mutants)), [options.seeds] * len(mutants))
            for mutant, (seed, problem) in zip(mutants, results, strict=True):
                missed_mutants += seed < 0
                print(f"{mutant.__name__:34} {seed:>4}  {problem[:90]}", flush=True)
            sys.exit(missed_mutants)
        last = options.first + options.seeds
        starts = range(options.first, last, CHUNK)
        broken: dict[int, str] = {}
        counts: Counter[str] = Counter()
        ends = [min(start + CHUNK, last) for start in starts]
        for some_broken, some_happened in pool.map(partial(run, of_machines=options.machines), starts, ends):
            broken |= some_broken
            counts += some_happened
    for what, count in sorted(counts.items()):
        print(f"{count:>9,}  {what}")
    for seed, problem in broken.items():
        print(f"seed {seed}: {problem}")
    must_happen = own_machines.MUST_HAPPEN if options.machines else MUST_HAPPEN
    missing = [what for what in must_happen if not counts[what]]
    print(f"{options.seeds:,} seeds, {len(broken)} broke a promise; never happened: {', '.join(missing) or 'nothing'}")
    if options.save:
        save("machines" if options.machines else "team", options.seeds, len(broken), counts)
    sys.exit(bool(broken or missing))


def save(kind: str, seeds: int, broken: int, counts: Counter[str]) -> None:
    """Save the counts of a run for the scorecard."""
    option = " --machines" if kind == "machines" else ""
    results.save(
        f"simulation-{kind}", data="made up from seeds", configuration="faults of networks, processes and clocks",
        figures={"seeds": seeds, "broken": broken, "counts": dict(sorted(counts.items()))},
        made_by=f"python -m lab.evals.simulation{option} --seeds {seeds} --save",
    )  # fmt: skip


if __name__ == "__main__":
    main()
