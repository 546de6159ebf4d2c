"""``hivemind symbols``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, say_json, table


@click.command("symbols")
@click.argument("path")
@as_json_option
def command(path: str, as_json: bool) -> None:
    """What memories can be tied to in a file."""
    with open_mind() as mind:
        found = mind.symbols(path)
    if as_json:
        say_json(found)
    else:
        rows = [[f"{one.line}-{one.end_line}", one.kind, one.qualified or one.path, one.signature] for one in found]
        table(["lines", "kind", "symbol", "signature"], rows)
