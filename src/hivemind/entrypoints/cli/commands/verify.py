"""``hivemind verify``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, origin, say, say_json


@click.command("verify")
@click.argument("memory", metavar="ID")
@click.option("--reason", default="", help="Why.")
@as_json_option
def command(memory: str, reason: str, as_json: bool) -> None:
    """Say that a memory was looked at and still holds."""
    with open_mind() as mind:
        known = mind.verify(memory, reason=reason)
    if as_json:
        say_json(known)
    else:
        say(f"Verified {origin(known)}")
