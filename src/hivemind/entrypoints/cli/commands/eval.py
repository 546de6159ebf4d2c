"""``hivemind eval``."""

import json
from collections.abc import Collection
from pathlib import Path

import click

from hivemind import __version__
from hivemind.entrypoints.cli.output import note, tell_rows
from hivemind.errors import InvalidInput
from hivemind.evaluation import harness, report
from hivemind.evaluation.tasks import TASKS

chapter = click.Group()


@chapter.command("eval")
@click.option("--agent", default="", metavar="COMMAND", help="A real agent, such as 'claude -p {prompt}'.")
@click.option("--tasks", default=",".join(TASKS), metavar="A,B", show_default=True, help="Which tasks.")
@click.option(
    "--conditions", default="none,file,hivemind", metavar="A,B", show_default=True,
    help=f"What the agent has: {', '.join(harness.CONDITIONS)}.",
)  # fmt: skip
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write eval.html and eval.json there.",
)
def command(agent: str, tasks: str, conditions: str, out: Path | None) -> None:
    """Measure whether memory helps an agent: five tasks, with and without memory, graded by running them.

    Without --agent a scripted one works, which knows no answers and needs no model.

    \b
    hivemind eval --out report
    hivemind eval --conditions none,hivemind --agent "claude -p {prompt} --permission-mode acceptEdits"
    """
    wanted, given = _known(tasks, TASKS), _known(conditions, harness.CONDITIONS)
    about = {"agent": agent or "scripted", "version": __version__, "machine": harness.describe_machine()}
    runs = harness.run_all(wanted, given, agent, lambda run: note(f"{run.task}, {run.condition}: {run.seconds:.1f} s"))
    held = report.as_json(runs, about)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "eval.json").write_text(json.dumps(held, indent=1) + "\n")
        (out / "eval.html").write_text(report.page(runs, about))
    written = f"{out / 'eval.html'} has the charts, {out / 'eval.json'} the figures." if out else ""
    tell_rows(held, report.COLUMNS, report.rows(runs), after=written)


def _known(written: str, known: Collection[str]) -> list[str]:
    names = [name.strip() for name in written.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise InvalidInput(f"{name!r} is unknown; choose from {', '.join(known)}")
    return names
