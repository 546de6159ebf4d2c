"""``hivemind tag``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, origin, say, say_json


@click.command("tag")
@click.argument("memory", metavar="ID")
@click.argument("labels", nargs=-1)
@click.option("--remove", multiple=True, metavar="TAG", help="Take this tag off.")
@as_json_option
def command(memory: str, labels: tuple[str, ...], remove: tuple[str, ...], as_json: bool) -> None:
    """Put tags on a memory, or take them off.

    \b
    hivemind tag 3f9a2c1e auth backend
    hivemind tag 3f9a2c1e --remove draft
    """
    with open_mind() as mind:
        known = mind.tag(memory, labels, remove)
    if as_json:
        say_json(known)
    else:
        say(f"Tagged {origin(known)}")
