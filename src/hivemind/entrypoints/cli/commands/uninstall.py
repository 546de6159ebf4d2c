"""``hivemind uninstall``."""

from pathlib import Path

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.connections import confirmed, show
from hivemind.entrypoints.cli.output import note


@click.command("uninstall")
@click.argument("agents", nargs=-1)
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="What was connected for this repository.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the exact changes, and make none.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(agents: tuple[str, ...], project: Path | None, dry_run: bool, yes: bool) -> None:
    """Take back what 'install' added, from all agents or those named; what is remembered stays.

    \b
    hivemind uninstall --dry-run
    hivemind uninstall codex
    """
    with open_mind() as mind:
        planned = mind.disconnect_agents(agents, project=project)
        show(planned, nothing="is not connected", exactly=dry_run)
        if not planned:
            note("No agent is connected.")
        if not dry_run and confirmed(planned, "Take this back?", yes=yes):
            mind.make(planned)
