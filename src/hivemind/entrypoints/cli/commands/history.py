"""``hivemind history``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, life, say_json


@click.command("history")
@click.argument("memory", metavar="ID")
@as_json_option
def command(memory: str, as_json: bool) -> None:
    """What a memory said when, who changed it, and why."""
    with open_mind() as mind:
        steps = mind.history(memory)
    if as_json:
        say_json(steps)
    else:
        life(steps)
