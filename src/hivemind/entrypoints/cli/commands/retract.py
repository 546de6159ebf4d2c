"""``hivemind retract``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, origin, say, say_json


@click.command("retract")
@click.argument("memory", metavar="ID")
@click.option("--reason", default="", help="Why.")
@as_json_option
def command(memory: str, reason: str, as_json: bool) -> None:
    """Take a memory back. 'restore' brings it again."""
    with open_mind() as mind:
        known = mind.retract(memory, reason=reason)
    if as_json:
        say_json(known)
    else:
        say(f"Retracted {origin(known)}")
