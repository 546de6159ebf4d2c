"""``hivemind import``."""

from typing import TextIO

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, say, say_json


@click.command("import")
@click.argument("file", type=click.File("r", encoding="utf-8"), default="-")
@click.option("--approve", is_flag=True, help="You vouch for what it says; without this all arrive as proposals.")
@as_json_option
def command(file: TextIO, approve: bool, as_json: bool) -> None:
    """Take in memories that 'hivemind export' wrote."""
    with open_mind() as mind:
        new, known = mind.import_lines(file, approve=approve)
    if as_json:
        say_json({"new": new, "known": known})
        return
    say(f"Imported {new:,} memories, {known:,} were already known.")
    if new and not approve:
        note("They are proposals: recall leaves them out until a person approves them.")
