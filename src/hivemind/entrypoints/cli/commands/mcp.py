"""``hivemind mcp``."""

import os

import click

from hivemind.entrypoints import mcp
from hivemind.entrypoints.cli.framework import store_name

chapter = click.Group()


@chapter.command("mcp")
@click.option("--home", metavar="DIR", help="Where the memory lies, as HIVEMIND_HOME would say.")
def command(home: str | None) -> None:
    """Serve agents over the Model Context Protocol, on standard input and output.

    Agents start this themselves once 'hivemind install' has connected them.
    """
    if home:
        os.environ["HIVEMIND_HOME"] = home
    mcp.main(store_name())
