"""``hivemind import``."""

from typing import TextIO

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import many, note, progress, tell


@click.command("import")
@click.argument("file", type=click.File("r", encoding="utf-8"), default="-")
@click.option("--approve", is_flag=True, help="You vouch for what it says; without this all arrive as proposals.")
def command(file: TextIO, approve: bool) -> None:
    """Take in memories that 'hivemind export' wrote.

    \b
    hivemind import memories.jsonl
    hivemind import --approve < memories.jsonl
    """
    with open_mind() as mind, progress("Importing"):
        done = mind.import_lines(file, approve=approve)
    tell(done, f"Imported {many(done.new, 'memory')}; {done.known:,} known already.")
    if done.refused:
        note(f"{done.refused:,} stayed out: their values were rejected or erased here.")
    if done.new and not approve:
        note("They are proposals until a person approves them: hivemind review.")
        note(f"Undo: hivemind rollback --batch {done.batch}")
