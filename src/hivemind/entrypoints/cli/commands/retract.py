"""``hivemind retract``."""

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.output import origin, tell


@click.command("retract")
@memory_argument
@click.option("--reason", default="", help="Why.")
def command(memory: str, reason: str) -> None:
    """Take a memory back. 'restore' brings it again.

    \b
    hivemind retract 3f9a2c1e --reason "no longer so"
    """
    with open_mind() as mind:
        known = mind.retract(memory, reason=reason)
    tell(known, f"Retracted {origin(known)}")
