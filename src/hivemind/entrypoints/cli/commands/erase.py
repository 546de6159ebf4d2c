"""``hivemind erase``."""

import sys

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, say, say_json, table
from hivemind.model.ids import short


@click.command("erase")
@click.argument("memory", metavar="ID")
@click.option("--reason", default="", help="Why.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json_option
def command(memory: str, reason: str, yes: bool, as_json: bool) -> None:
    """Destroy a memory and all that came of it, for good.

    The receipt names each place where it was: done, pending, or outside our reach. The exit code is 1 if
    something is pending.
    """
    with open_mind() as mind:
        known = mind.show(memory)
        if not yes and not as_json:
            say(known.text)
            click.confirm("Destroy this for good?", abort=True)
        receipt = mind.erase(known.id, reason=reason)
    if as_json:
        say_json(receipt)
    else:
        say(f"Erased {', '.join(short(one) for one in receipt.memories)}")
        table(["place", "state", ""], [[place.name, place.state, place.detail] for place in receipt.places])
    sys.exit(0 if receipt.is_complete else 1)
