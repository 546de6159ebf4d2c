"""``hivemind erase``."""

import sys

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.manners import wants
from hivemind.entrypoints.cli.output import progress, say, tell_rows
from hivemind.model.ids import short
from hivemind.model.scope import Scope


@click.command("erase")
@memory_argument
@click.option("--reason", default="", help="Why.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(memory: str, reason: str, yes: bool) -> None:
    """Destroy a memory and all that came of it, for good.

    The receipt names each place where it was: done, pending, or outside our reach. The exit code is 1 if
    something is pending.

    \b
    hivemind erase 3f9a2c1e --reason "a customer's name"
    """
    with open_mind() as mind:
        known = mind.show(memory)
        if not yes and not wants("json"):
            say(known.text)
            click.confirm("Destroy this for good?", abort=True)
        with progress("Erasing"):
            receipt = mind.erase(known.id, reason=reason)
        if known.scope is Scope.TEAM:
            receipt = mind.carry(receipt)
    erased = ", ".join(short(one) for one in receipt.memories)
    rows = [[place.name, place.state, place.detail] for place in receipt.places]
    tell_rows(receipt, [f"erased {erased}", "state", ""], rows)
    sys.exit(0 if receipt.is_complete else 1)
