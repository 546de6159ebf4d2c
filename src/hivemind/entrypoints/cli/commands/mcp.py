"""``hivemind mcp``."""

import os

import click

from hivemind.entrypoints import mcp


@click.command("mcp")
@click.option("--home", metavar="DIR", help="Where the memory lies, as HIVEMIND_HOME would say.")
@click.pass_context
def command(ctx: click.Context, home: str | None) -> None:
    """Serve agents over the Model Context Protocol, on standard input and output.

    Agents start this themselves once 'hivemind install' has connected them.

    \b
    hivemind mcp
    """
    if home:
        os.environ["HIVEMIND_HOME"] = home
    mcp.main(ctx.find_root().obj)
