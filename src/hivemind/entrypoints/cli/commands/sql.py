"""``hivemind sql``."""

import click

from hivemind.app import connect
from hivemind.entrypoints.cli.output import as_json_option, say_json, table


@click.command("sql")
@click.argument("statement")
@as_json_option
def command(statement: str, as_json: bool) -> None:
    """Read the memories by SQL.

    Views: agent_memory, traces, sessions, tool_outputs, receipts. Nothing can be changed this way.

    \b
    hivemind sql "SELECT kind, count(*) FROM agent_memory GROUP BY kind"
    """
    with connect(click.get_current_context().find_root().obj) as connection:
        found = connection.execute(statement)
    if as_json:
        say_json([dict(zip(found.columns, row, strict=True)) for row in found])
    else:
        table(found.columns, [["" if cell is None else str(cell) for cell in row] for row in found])
