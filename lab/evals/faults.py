"""Run the fault tests: damage stores on purpose and count what was tried and what survived.

python -m lab.evals.faults [--kills 1000] [--flips 400] [--every 1] [--minutes 10] [--only WORDS] [--save]

Writers are killed, disks fail at each call or are full, bits are flipped, files are truncated, emptied and replaced,
clocks jump, two versions share a store, and 32 agents write at once. The test suite runs a smaller version of this.
"""

import argparse
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

from lab.benchmarks import results
from lab.evals import suites


def main() -> None:
    """Run the fault tests with the given amounts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000, help="how many writers to kill")
    parser.add_argument("--flips", type=int, default=400, help="how many bits to flip")
    parser.add_argument("--every", type=int, default=1, help="test a failure of only every N-th disk call")
    parser.add_argument("--minutes", type=float, default=10, help="how long 32 agents write at once")
    parser.add_argument("--only", default="", metavar="WORDS", help="only tests with these words in their names")
    parser.add_argument("--save", action="store_true", help="save the counts to lab/evals/results")
    options = parser.parse_args()
    more = {
        "HIVEMIND_KILLS": str(options.kills),
        "HIVEMIND_FLIPS": str(options.flips),
        "HIVEMIND_EVERY_FAULT": str(options.every),
        "HIVEMIND_STORM_SECONDS": str(options.minutes * 60),
    }
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        exit_code = suites.run(*suites.FAULTS, "-k", options.only, f"--junitxml={report}", more=more)
        if options.save and not exit_code:
            amounts = f"{options.minutes:g} minutes of 32 writers, {options.kills:,} kills, {options.flips:,} flips"
            settings = f"{amounts}; only tests named {options.only}" if options.only else amounts
            results.save("faults", data="stores of the tests", configuration=settings, figures=read_counts(report))
    sys.exit(exit_code)


def read_counts(report: Path) -> dict[str, dict[str, int]]:
    """Return what was tried and what survived, by name, from a report of pytest."""
    attempts, survivors = Counter[str](), Counter[str]()
    for entry in ET.parse(report).getroot().iter("property"):
        name, (survived, tried) = entry.attrib["name"], map(int, entry.attrib["value"].split("/"))
        attempts[name] += tried
        survivors[name] += survived
    return {name: {"tried": count, "survived": survivors[name]} for name, count in attempts.items()}


if __name__ == "__main__":
    main()
