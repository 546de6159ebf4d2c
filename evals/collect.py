"""Measures what the scorecard shows and no benchmark saves by itself: the harness, the governance suite, staleness.

python -m evals.collect
"""

import contextlib
import io
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from benchmarks import results
from benchmarks.code import print_score
from evals import governance, suites

CONDITIONS = "none,file,hivemind,absent,superseded,contradictory,adjacent,broken"
SUITES = (*governance.SUITES, "tests/journeys/test_scopes.py")
GROUPS = {
    "correction matrix": "matrix or contradiction_is_told or dispute or one_current_value or does_not_come_back",
    "deletion walk": "erasing or erased_content or forgetting or erasures",
    "isolation": "in_no_other or elsewhere_is_looked_at or does_not_inherit or named_store",
}
"""Which tests of the suites stand for what, by their names."""


def main() -> None:
    """Run them one after the other."""
    helps()
    governed()
    staleness()


def helps() -> None:
    """Whether memory helps the scripted agent."""
    command = ["hivemind", "eval", "--conditions", CONDITIONS]
    done = subprocess.run(
        [sys.executable, "-m", *command, "--json"], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    totals = json.loads(done.stdout)["totals"]
    results.save(
        "eval", data="five tasks in a repository built by the harness", configuration="scripted agent, as installed",
        figures=totals, made_by=" ".join(command),
    )  # fmt: skip


def governed() -> None:
    """How many tests of the governance suite hold, by what they are about."""
    figures = {}
    for group, words in GROUPS.items():
        with tempfile.TemporaryDirectory() as directory:
            report = Path(directory) / "report.xml"
            suites.run("-k", words, f"--junitxml={report}", *SUITES, stdout=subprocess.DEVNULL)
            suite = ET.parse(report).getroot()[0]
        ran, failed = int(suite.get("tests", 0)), int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        figures[group] = {"held": ran - failed, "of": ran}
    results.save(
        "governance", data="built by the tests", configuration="tests of our suites, counted", figures=figures,
        made_by="python -m evals.collect",
    )  # fmt: skip


def staleness() -> None:
    """How often a followed symbol is the right one, and how many renames are found."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        print_score([suites.ROOT / "benchmarks" / "code_labels.tsv"])
    precision, recall = (float(one) for one in re.findall(r"([\d.]+)%", said.getvalue()))
    results.save(
        "staleness", data="108 labelled symbols of four repositories", configuration="as installed",
        figures={"precision %": precision, "recall %": recall},
        made_by="python -m benchmarks.code score benchmarks/code_labels.tsv",
    )  # fmt: skip


if __name__ == "__main__":
    main()
