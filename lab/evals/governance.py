"""Run the acceptance tests of memory governance and print their matrix and counts.

python -m lab.evals.governance [--erasures 500]
"""

import argparse
import sys

from lab.evals import suites


def main() -> None:
    """Run the tests with the given number of random erasures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--erasures", type=int, default=500, help="how many random erasures to try")
    erasures = str(parser.parse_args().erasures)
    sys.exit(suites.run("-s", "-rA", *suites.GOVERNANCE, more={"HIVEMIND_ERASURES": erasures}))


if __name__ == "__main__":
    main()
