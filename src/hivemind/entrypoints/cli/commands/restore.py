"""``hivemind restore``."""

from pathlib import Path

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.output import origin, tell
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
    with open_mind() as mind:
        known = mind.restore(memory, reason=reason)
    tell(known, f"Restored {origin(known)}")
