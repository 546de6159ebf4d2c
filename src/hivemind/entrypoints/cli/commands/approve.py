"""``hivemind approve``."""

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.output import origin, tell


@click.command("approve")
@memory_argument
@click.option("--over", is_flag=True, help="In place of what contradicts it.")
@click.option("--reason", default="", help="Why.")
def command(memory: str, over: bool, reason: str) -> None:
    """Confirm a proposal, or settle a dispute in its favour with --over.

    \b
    hivemind approve 3f9a2c1e
    hivemind approve 3f9a2c1e --over
    """
    with open_mind() as mind:
        known = mind.approve(memory, over=over, reason=reason)
    tell(known, f"Approved {origin(known)}")
