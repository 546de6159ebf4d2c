"""``hivemind mcp``."""

import click

from hivemind.entrypoints import mcp


@click.command("mcp")
@click.pass_context
def command(ctx: click.Context) -> None:
    """Serve agents over the Model Context Protocol, on standard input and output.

    Agents start this themselves once 'hivemind install' has connected them.
    """
    mcp.main(ctx.find_root().obj)
