"""``hivemind verify``."""

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.output import origin, tell


@click.command("verify")
@memory_argument
@click.option("--reason", default="", help="Why.")
def command(memory: str, reason: str) -> None:
    """Say that a memory was looked at and still holds.

    \b
    hivemind verify 3f9a2c1e
    """
    with open_mind() as mind:
        known = mind.verify(memory, reason=reason)
    tell(known, f"Verified {origin(known)}")
