"""Measure whether memory helps an agent: five tasks, with and without memory, graded by running their tests.

python -m lab.evals.tasks --out report
python -m lab.evals.tasks --conditions none,hivemind --agent "claude -p {prompt} --permission-mode acceptEdits"

Without ``--agent``, a scripted agent works, which knows no answers and needs no model.
"""

import argparse
import json
import sys
from collections.abc import Callable, Collection
from pathlib import Path

from hivemind import __version__
from hivemind.cli.output import print_table
from lab.evals.tasks import harness, report
from lab.evals.tasks.task import TASKS


def main() -> None:
    """Run the tasks, print a table, and write the files asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m lab.evals.tasks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--agent", default="", metavar="COMMAND", help="a real agent, such as 'claude -p {prompt}'")
    add("--tasks", type=_names_among(TASKS), default=list(TASKS), metavar="A,B", help=f"among {', '.join(TASKS)}")
    add(
        "--conditions", type=_names_among(harness.CONDITIONS), default=["none", "file", "hivemind"], metavar="A,B",
        help=f"what the agent has, among {', '.join(harness.CONDITIONS)} (default: none,file,hivemind)",
    )  # fmt: skip
    add("--out", type=Path, metavar="DIR", help="write eval.html and eval.json there")
    options = parser.parse_args()
    about = {"agent": options.agent or "scripted", "version": __version__, "machine": harness.describe_machine()}
    runs = harness.run_all(options.tasks, options.conditions, options.agent, _print_progress)
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        (options.out / "eval.json").write_text(json.dumps(report.as_json(runs, about), indent=1) + "\n", "utf-8")
        (options.out / "eval.html").write_text(report.page(runs, about), "utf-8")
    print_table(report.COLUMNS, report.rows(runs))


def _print_progress(run: harness.Run) -> None:
    print(f"{run.task}, {run.condition}: {run.seconds:.1f} s", file=sys.stderr)


def _names_among(choices: Collection[str]) -> Callable[[str], list[str]]:
    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            if name not in choices:
                raise argparse.ArgumentTypeError(f"{name!r} is unknown; choose from {', '.join(choices)}")
        return names

    return parse


if __name__ == "__main__":
    main()
