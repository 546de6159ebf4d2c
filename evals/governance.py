"""Runs the acceptance suite of memory governance and prints its matrix and counts.

python -m evals.governance [--erasures 500]
"""

import argparse
import sys

from evals import suites

SUITES = ("tests/journeys/test_governance.py", "tests/governance")


def main() -> None:
    """Run the suite with as many random erasures as asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--erasures", type=int, default=500)
    erasures = str(parser.parse_args().erasures)
    sys.exit(suites.run("-s", "-rA", *SUITES, more={"HIVEMIND_ERASURES": erasures}))


if __name__ == "__main__":
    main()
