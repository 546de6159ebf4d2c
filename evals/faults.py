"""Does harm to stores on purpose and counts what was tried and what survived.

python -m evals.faults [--kills 1000] [--flips 400] [--every 1] [--minutes 10]

Writers are killed, disks fail at each call or are full, bits are flipped, files are cut, emptied and replaced, clocks
jump, two versions meet, and 32 agents write at once for as long as asked. The suite runs a small version of the same.
"""

import argparse
import sys

from evals import suites


def main() -> None:
    """Run the suite with as much of everything as asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--flips", type=int, default=400)
    parser.add_argument("--every", type=int, default=1, help="let only each so many-th call of the disk fail")
    parser.add_argument("--minutes", type=float, default=10)
    asked = parser.parse_args()
    more = {
        "HIVEMIND_KILLS": str(asked.kills),
        "HIVEMIND_FLIPS": str(asked.flips),
        "HIVEMIND_EVERY_FAULT": str(asked.every),
        "HIVEMIND_STORM_SECONDS": str(asked.minutes * 60),
    }
    sys.exit(suites.run("tests/anomaly", more=more))


if __name__ == "__main__":
    main()
