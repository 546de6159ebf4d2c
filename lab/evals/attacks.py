"""Run the attack tests: prompt injections through every input, counted by what was tried and what got through.

python -m lab.evals.attacks [FILE]        a file with one JSON object per line, each with an injection as its text

Without a file, the tests use their own samples. They also try invisible characters, escape codes, hostile repositories
and malformed input to every parser.
"""

import argparse
import sys
from pathlib import Path

from lab.evals import suites


def main() -> None:
    """Run the suite with the texts of the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, help="injections, one JSON object per line")
    file = parser.parse_args().file
    more = {"HIVEMIND_INJECTIONS": str(file.resolve())} if file else {}
    sys.exit(suites.run(*suites.ATTACKS, more=more))


if __name__ == "__main__":
    main()
