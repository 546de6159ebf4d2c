"""``hivemind dispute``."""

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import act, memory_argument, memory_ids


@click.command("dispute")
@memory_argument
@click.argument("other", metavar="OTHER_ID", shell_complete=memory_ids)
@click.option("--reason", default="", help="Why they cannot both hold.")
def command(memory: str, other: str, reason: str) -> None:
    """Say that two memories cannot both hold; review settles it.

    \b
    hivemind dispute 3f9a2c1e 5b2e91aa --reason "the port cannot be both"
    """
    act(Hivemind.dispute, "Disputed", memory, other, reason=reason)
