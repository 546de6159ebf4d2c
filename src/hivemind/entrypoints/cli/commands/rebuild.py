"""``hivemind rebuild``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import progress, tell


@click.command("rebuild")
def command() -> None:
    """Derive everything from the log again. No answer changes by it.

    \b
    hivemind rebuild
    """
    with open_mind() as mind, progress("Rebuilding") as advance:
        mind.rebuild(advance)
    tell({"rebuilt": True}, "Rebuilt.")
