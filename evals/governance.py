"""Runs the acceptance suite of memory governance and prints its matrix and counts.

python -m evals.governance [--erasures 500]
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SUITE = "tests/journeys/test_governance.py"


def main() -> None:
    """Run the suite with as many random erasures as asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--erasures", type=int, default=500)
    erasures = str(parser.parse_args().erasures)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-s", "-rA", SUITE]
    sys.exit(
        subprocess.run(command, cwd=ROOT, env=os.environ | {"HIVEMIND_ERASURES": erasures}, check=False).returncode
    )


if __name__ == "__main__":
    main()
