"""Attacks the memory by every way in, and counts what was tried and what came of it.

python -m evals.attacks [FILE]        a file of JSON objects, a line each, with a text that wants to be obeyed

Without a file the suite's own samples are tried. The suite also smuggles invisible characters and escape codes, reads
hostile repositories and feeds nonsense to every parser.
"""

import argparse
import sys
from pathlib import Path

from evals import suites


def main() -> None:
    """Run the suite with the texts of the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    file = parser.parse_args().file
    more = {"HIVEMIND_INJECTIONS": str(file.resolve())} if file else {}
    sys.exit(suites.run("tests/attacks", "tests/hub/test_poisoning.py", more=more))


if __name__ == "__main__":
    main()
