"""``hivemind verify``."""

from typing import Any

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import act, memory_argument


@click.command("verify")
@memory_argument
@click.option("--reason", default="", help="Why.")
def command(**given: Any) -> None:
    """Say that a memory was looked at and still holds.

    \b
    hivemind verify 3f9a2c1e
    """
    act(Hivemind.verify, "Verified", **given)
