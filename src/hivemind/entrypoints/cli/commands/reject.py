"""``hivemind reject``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, origin, say, say_json


@click.command("reject")
@click.argument("memory", metavar="ID")
@click.option("--reason", default="", help="Why.")
@as_json_option
def command(memory: str, reason: str, as_json: bool) -> None:
    """Say no to a memory: it leaves recall and its value stays out. 'restore' lifts that."""
    with open_mind() as mind:
        known = mind.reject(memory, reason=reason)
    if as_json:
        say_json(known)
    else:
        say(f"Rejected {origin(known)}")
