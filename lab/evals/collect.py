"""Save the scorecard's results that no benchmark saves itself: the scripted agent, the governance tests.

python -m lab.evals.collect
"""

import subprocess
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path

from lab.benchmarks import results
from lab.evals import suites
from lab.evals.tasks.harness import CONDITIONS, run_all, totals
from lab.evals.tasks.task import TASKS

SUITES = (*suites.GOVERNANCE, "tests/journeys/test_scopes.py")
GROUPS = {
    "correction matrix": "matrix or contradiction_is_told or dispute or one_current_value or does_not_come_back",
    "deletion walk": "erasing or erased_content or forgetting or erasures",
    "isolation": "in_no_other or elsewhere_is_looked_at or does_not_inherit or named_store",
}
"""The tests of each group, as pytest expressions on their names."""


def main() -> None:
    """Run all three."""
    measure_scripted_agent()
    measure_governance()


def measure_scripted_agent() -> None:
    """Save how well the scripted agent does with and without memory."""
    runs = run_all(list(TASKS), CONDITIONS, "", lambda run: None)
    results.save(
        "eval", data="five tasks in a repository built by the harness", configuration="scripted agent, as installed",
        figures=totals(runs), made_by=f"python -m lab.evals.tasks --conditions {','.join(CONDITIONS)}",
    )  # fmt: skip


def measure_governance() -> None:
    """Save how many governance tests pass, by group."""
    figures = {}
    for group, words in GROUPS.items():
        with tempfile.TemporaryDirectory() as directory:
            report = Path(directory) / "report.xml"
            suites.run("-k", words, f"--junitxml={report}", *SUITES, stdout=subprocess.DEVNULL)
            suite = ET.parse(report).getroot()[0]
        total, failures = int(suite.get("tests", 0)), int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        figures[group] = {"held": total - failures, "of": total}
    results.save(
        "governance", data="built by the tests", configuration="tests of our suites, counted", figures=figures,
        made_by="python -m lab.evals.collect",
    )  # fmt: skip


if __name__ == "__main__":
    main()
