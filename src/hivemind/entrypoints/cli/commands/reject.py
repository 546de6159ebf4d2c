"""``hivemind reject``."""

from typing import Any

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import act, memory_argument


@click.command("reject")
@memory_argument
@click.option("--reason", default="", help="Why.")
def command(**given: Any) -> None:
    """Say no to a memory: it leaves recall and its value stays out. 'restore' lifts that.

    \b
    hivemind reject 3f9a2c1e --reason "that was one machine only"
    """
    act(Hivemind.reject, "Rejected", **given)
