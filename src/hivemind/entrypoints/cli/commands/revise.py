"""``hivemind revise``."""

from typing import Any

import click

from hivemind.entrypoints.cli.arguments import choice, memory_argument, open_mind
from hivemind.entrypoints.cli.output import origin, tell
from hivemind.model.memory import Kind


@click.command("revise")
@memory_argument
@click.argument("text", required=False, default="")
@choice("--kind", among=Kind, help="What sort of claim it is.")
@click.option("--subject", default="", help="What it is the current value of.")
@click.option("--expires", default="", metavar="WHEN", help="Leaves recall then: 28d, 6w or a date.")
@click.option("--verify-by", default="", metavar="WHEN", help="To be looked at again by then.")
@click.option("--valid-from", default="", metavar="DATE", help="True since.")
@click.option("--valid-to", default="", metavar="DATE", help="True until.")
@click.option("--confidence", type=float, help="From 0 to 1.")
@click.option("--reason", default="", help="Why it changed.")
def command(**given: Any) -> None:
    """Make a memory say something else; what it said stays in its history.

    \b
    hivemind revise 3f9a2c1e "Deploys run from release branches"
    hivemind revise 3f9a2c1e --expires 6w
    """
    with open_mind() as mind:
        known = mind.revise(**given)
    tell(known, f"Revised {origin(known)} (version {known.version})")
