"""``hivemind prune``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import tell


@click.command("prune")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
def command(dry_run: bool) -> None:
    """Let go of observations beyond the settings keep_days and keep_megabytes; what a memory rests on stays.

    \b
    hivemind prune --dry-run
    """
    with open_mind() as mind:
        done = mind.prune(dry_run=dry_run)
    tell(
        done,
        f"{'Would let' if dry_run else 'Let'} go of {done.observations:,} observations, {done.bytes / 1e6:.1f} MB.",
    )
