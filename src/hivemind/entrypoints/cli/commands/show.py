"""``hivemind show``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, fields, say, say_json


@click.command("show")
@click.argument("memory", metavar="ID")
@as_json_option
def command(memory: str, as_json: bool) -> None:
    """A memory with everything known about it."""
    with open_mind() as mind:
        known = mind.show(memory)
    if as_json:
        say_json(known)
        return
    say(known.text + "\n")
    fields(known)
