"""``hivemind index``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import many, progress, tell


@click.command("index")
def command() -> None:
    """Look at the whole working tree, so that names and moves are found in it.

    A small tree is looked at when that is needed. What is kept of it can be deleted at any time.

    \b
    hivemind index
    """
    with open_mind() as mind, progress("Looking at the code") as advance:
        done = mind.index(advance)
    tell(done, f"{many(done.symbols, 'symbol')} in {many(done.files, 'file')}; {many(done.changed, 'file')} had changed.")
