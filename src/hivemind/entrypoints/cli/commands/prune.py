"""``hivemind prune``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, say, say_json


@click.command("prune")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@as_json_option
def command(dry_run: bool, as_json: bool) -> None:
    """Let go of observations beyond the settings keep_days and keep_megabytes; what a memory rests on stays."""
    with open_mind() as mind:
        done = mind.prune(dry_run=dry_run)
    if as_json:
        say_json(done)
    else:
        say(f"{'Would let' if dry_run else 'Let'} go of {done.observations:,} observations, {done.bytes / 1e6:.1f} MB.")
