"""``hivemind restore``."""

from pathlib import Path

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, origin, say, say_json
from hivemind.errors import InvalidInput


@click.command("restore")
@click.argument("memory", metavar="ID")
@click.option("--reason", default="", help="Why.")
@as_json_option
def command(memory: str, reason: str, as_json: bool) -> None:
    """Let a memory stand again that was taken back, rejected or replaced."""
    if Path(memory).is_file():
        raise InvalidInput(f"{memory} is a file; to go back to a backup: hivemind backup restore {memory}")
    with open_mind() as mind:
        known = mind.restore(memory, reason=reason)
    if as_json:
        say_json(known)
    else:
        say(f"Restored {origin(known)}")
