"""Run the fault tests: damage stores on purpose and count what was tried and what survived.

python -m evals.faults [--kills 1000] [--flips 400] [--every 1] [--minutes 10]

Writers are killed, disks fail at each call or are full, bits are flipped, files are truncated, emptied and replaced,
clocks jump, two versions share a store, and 32 agents write at once. The test suite runs a smaller version of this.
"""

import argparse
import sys

from evals import suites


def main() -> None:
    """Run the fault tests with the given amounts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how many writers to kill")
    parser.add_argument("--flips", type=int, default=400, help="how many bits to flip")
    parser.add_argument("--every", type=int, default=1, help="test a failure of only every N-th disk call")
    parser.add_argument("--minutes", type=float, default=10, help="how long 32 agents write at once")
    options = parser.parse_args()
    more = {
        "HIVEMIND_KILLS": str(options.kills),
        "HIVEMIND_FLIPS": str(options.flips),
        "HIVEMIND_EVERY_FAULT": str(options.every),
        "HIVEMIND_STORM_SECONDS": str(options.minutes * 60),
    }
    sys.exit(suites.run("tests/anomaly", more=more))


if __name__ == "__main__":
    main()
