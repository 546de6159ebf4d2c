"""``hivemind mcp``; apart, because a client gives up if the server takes long to start."""

import os

import click

from hivemind import hook_server, mcp
from hivemind.cli.framework import get_store_name

commands = click.Group()


@commands.command("mcp")
@click.option("--home", metavar="DIR", help="Hivemind's folder, as in HIVEMIND_HOME.")
def command(home: str | None) -> None:
    """Serve agents over the Model Context Protocol (MCP).

    It speaks on standard input and output. Agents start this themselves once 'hivemind install' has connected them.
    """
    if home:
        os.environ["HIVEMIND_HOME"] = home
    store = get_store_name()
    # Hooks of this and other sessions need not load what this process has loaded.
    with hook_server.answering_hooks(store):
        mcp.main(store)
