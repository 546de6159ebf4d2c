"""``hivemind index``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, progress, say, say_json


@click.command("index")
@as_json_option
def command(as_json: bool) -> None:
    """Look at the whole working tree, so that names and moves are found in it.

    A small tree is looked at when that is needed. What is kept of it can be deleted at any time.
    """
    with open_mind() as mind, progress("Looking at the code") as advance:
        done = mind.index(advance)
    if as_json:
        say_json(done)
    else:
        say(f"{done.symbols:,} symbols in {done.files:,} files; {done.changed:,} files had changed.")
