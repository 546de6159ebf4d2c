"""``hivemind install``."""

from pathlib import Path

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.connections import confirmed, show
from hivemind.entrypoints.cli.output import note


@click.command("install")
@click.argument("agents", nargs=-1)
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="For this repository only, instead of everywhere.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the exact changes, and make none.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--trust-codex-hooks", is_flag=True, help="Also tell Codex that you have looked at our hooks; else do so in /hooks."
)
def command(agents: tuple[str, ...], project: Path | None, dry_run: bool, yes: bool, trust_codex_hooks: bool) -> None:
    """Connect agents to this memory: all that are on this machine, or those named.

    \b
    hivemind install --dry-run
    hivemind install claude-code codex
    """
    with open_mind() as mind:
        planned = mind.connect_agents(agents, project=project, trust_codex_hooks=trust_codex_hooks)
        show(planned, nothing="is connected already")
        if not dry_run and confirmed(planned, "Make these changes?", yes=yes):
            mind.make(planned)
            note("Connected: the next session is told what is known. 'hivemind doctor' says how each agent stands.")
