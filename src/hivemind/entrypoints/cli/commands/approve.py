"""``hivemind approve``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, origin, say, say_json


@click.command("approve")
@click.argument("memory", metavar="ID")
@click.option("--over", is_flag=True, help="In place of what contradicts it.")
@click.option("--reason", default="", help="Why.")
@as_json_option
def command(memory: str, over: bool, reason: str, as_json: bool) -> None:
    """Confirm a proposal, or settle a dispute in its favour with --over."""
    with open_mind() as mind:
        known = mind.approve(memory, over=over, reason=reason)
    if as_json:
        say_json(known)
    else:
        say(f"Approved {origin(known)}")
