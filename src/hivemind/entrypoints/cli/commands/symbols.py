"""``hivemind symbols``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import tell_rows


@click.command("symbols")
@click.argument("path")
def command(path: str) -> None:
    """What memories can be tied to in a file.

    \b
    hivemind symbols src/auth/service.py
    """
    with open_mind() as mind:
        found = mind.symbols(path)
    rows = [[f"{one.line}-{one.end_line}", one.kind, one.qualified or one.path, one.signature] for one in found]
    tell_rows(found, ["lines", "kind", "symbol", "signature"], rows)
