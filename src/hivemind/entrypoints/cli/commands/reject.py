"""``hivemind reject``."""

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.output import origin, tell


@click.command("reject")
@memory_argument
@click.option("--reason", default="", help="Why.")
def command(memory: str, reason: str) -> None:
    """Say no to a memory: it leaves recall and its value stays out. 'restore' lifts that.

    \b
    hivemind reject 3f9a2c1e --reason "that was one machine only"
    """
    with open_mind() as mind:
        known = mind.reject(memory, reason=reason)
    tell(known, f"Rejected {origin(known)}")
