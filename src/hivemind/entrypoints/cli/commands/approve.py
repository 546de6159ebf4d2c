"""``hivemind approve``."""

from typing import Any

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import act, memory_argument


@click.command("approve")
@memory_argument
@click.option("--over", is_flag=True, help="In place of what contradicts it.")
@click.option("--reason", default="", help="Why.")
def command(**given: Any) -> None:
    """Confirm a proposal, or settle a dispute in its favour with --over.

    \b
    hivemind approve 3f9a2c1e
    hivemind approve 3f9a2c1e --over
    """
    act(Hivemind.approve, "Approved", **given)
