"""``hivemind eval``; apart, because only it needs the tasks and the scripted agent."""

import json
from collections.abc import Collection
from pathlib import Path

import click

from hivemind import __version__
from hivemind.entrypoints.cli.output import emit_rows, note
from hivemind.errors import InvalidInput
from hivemind.evaluation import harness, report
from hivemind.evaluation.tasks import TASKS

commands = click.Group()


@commands.command("eval")
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
    """Measure whether memory helps an agent.

    Five tasks, with and without memory, graded by running their tests.

    Without --agent, a scripted agent works, which knows no answers and needs no model.

    \b
    hivemind eval --out report
    hivemind eval --conditions none,hivemind --agent "claude -p {prompt} --permission-mode acceptEdits"
    """
    task_names, condition_names = _parse_names(tasks, TASKS), _parse_names(conditions, harness.CONDITIONS)
    about = {"agent": agent or "scripted", "version": __version__, "machine": harness.describe_machine()}
    runs = harness.run_all(
        task_names, condition_names, agent, lambda run: note(f"{run.task}, {run.condition}: {run.seconds:.1f} s")
    )
    results = report.as_json(runs, about)
    if out:
        out.mkdir(parents=True, exist_ok=True)
        (out / "eval.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        (out / "eval.html").write_text(report.page(runs, about), "utf-8")
    files = f"{out / 'eval.html'} has the charts, {out / 'eval.json'} the figures." if out else ""
    emit_rows(results, report.COLUMNS, report.rows(runs), after=files)


def _parse_names(text: str, choices: Collection[str]) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in choices:
            raise InvalidInput(f"{name!r} is unknown; choose from {', '.join(choices)}")
    return names
