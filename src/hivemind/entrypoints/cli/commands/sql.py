"""``hivemind sql``."""

import click

from hivemind.app import connect
from hivemind.entrypoints.cli.output import tell_rows


@click.command("sql")
@click.argument("statement")
def command(statement: str) -> None:
    """Read the memories by SQL.

    Views: agent_memory, traces, sessions, tool_outputs, receipts. Nothing can be changed this way.

    \b
    hivemind sql "SELECT kind, count(*) FROM agent_memory GROUP BY kind"
    """
    with connect(click.get_current_context().find_root().obj) as connection:
        found = connection.execute(statement)
    rows = list(found)
    named = [dict(zip(found.columns, row, strict=True)) for row in rows]
    tell_rows(named, found.columns, [["" if cell is None else str(cell) for cell in row] for row in rows])
