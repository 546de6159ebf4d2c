"""``hivemind stale``."""

import sys

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import progress, still_true, tell_rows
from hivemind.model.ids import short
from hivemind.model.text import first_line


@click.command("stale")
@click.option("--since", default="", metavar="REF", help="Only what was put in doubt after this commit.")
def command(since: str) -> None:
    """What the code at hand puts in doubt, and why.

    The exit code is 1 if there is anything.

    \b
    hivemind stale --since origin/main
    """
    with open_mind() as mind, progress("Looking at the code"):
        doubts = mind.stale(since=since)
    rows = [
        [short(doubt.memory.id), one.anchor.label, one.text, first_line(doubt.memory.text, 60)]
        for doubt in doubts
        for one in doubt.became
    ]
    columns = ["id", "about", "what became of it", "text"]
    tell_rows(doubts, columns, rows, after=still_true("ID"), nothing="Nothing is in doubt.")
    sys.exit(1 if doubts else 0)
