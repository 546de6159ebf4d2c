"""``hivemind restore``."""

from pathlib import Path

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import act, memory_argument
from hivemind.errors import InvalidInput


@click.command("restore")
@memory_argument
@click.option("--reason", default="", help="Why.")
def command(memory: str, reason: str) -> None:
    """Let a memory stand again that was taken back, rejected or replaced.

    \b
    hivemind restore 3f9a2c1e
    """
    if Path(memory).is_file():
        raise InvalidInput(f"{memory} is a file; to go back to a backup: hivemind backup restore {memory}")
    act(Hivemind.restore, "Restored", memory, reason=reason)
