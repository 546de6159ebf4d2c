"""``hivemind dispute``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, origin, say, say_json


@click.command("dispute")
@click.argument("memory", metavar="ID")
@click.argument("other", metavar="OTHER_ID")
@click.option("--reason", default="", help="Why they cannot both hold.")
@as_json_option
def command(memory: str, other: str, reason: str, as_json: bool) -> None:
    """Say that two memories cannot both hold; review settles it."""
    with open_mind() as mind:
        known = mind.dispute(memory, other, reason=reason)
    if as_json:
        say_json(known)
    else:
        say(f"Disputed {origin(known)}")
