"""``hivemind stale``."""

import sys

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, say_json, table
from hivemind.model.ids import short
from hivemind.model.text import first_line


@click.command("stale")
@click.option("--since", default="", metavar="REF", help="Only what was put in doubt after this commit.")
@as_json_option
def command(since: str, as_json: bool) -> None:
    """What the code at hand puts in doubt, and why.

    The exit code is 1 if there is anything.

    \b
    hivemind stale --since origin/main
    """
    with open_mind() as mind:
        doubts = mind.stale(since=since)
    if as_json:
        say_json(doubts)
    else:
        rows = [
            [short(doubt.memory.id), one.anchor.label, one.text, first_line(doubt.memory.text, 60)]
            for doubt in doubts
            for one in doubt.became
        ]
        table(["id", "about", "what became of it", "text"], rows)
        if doubts:
            note("Still true? hivemind verify ID. Not any more? hivemind revise ID or hivemind retract ID.")
        else:
            note("Nothing is in doubt.")
    sys.exit(1 if doubts else 0)
