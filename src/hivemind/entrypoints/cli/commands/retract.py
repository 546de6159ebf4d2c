"""``hivemind retract``."""

from typing import Any

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import act, memory_argument


@click.command("retract")
@memory_argument
@click.option("--reason", default="", help="Why.")
def command(**given: Any) -> None:
    """Take a memory back. 'restore' brings it again.

    \b
    hivemind retract 3f9a2c1e --reason "no longer so"
    """
    act(Hivemind.retract, "Retracted", **given)
