"""``hivemind receipts``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import tell_rows
from hivemind.model.ids import short
from hivemind.model.moments import minute


@click.command("receipts")
@click.option("--session", default="", help="Only of this session.")
@click.option("--limit", type=int, default=50, show_default=True, help="Lines to show.")
def command(session: str, limit: int) -> None:
    """Which memories reached whom, and why.

    \b
    hivemind receipts --limit 10
    """
    with open_mind() as mind:
        lines = mind.receipts(session, limit=limit)
    rows = [[minute(r.at), r.actor, short(r.memory_id), str(r.rank), f"{r.tokens}", r.query, r.why] for r in lines]
    columns = ["when", "who", "memory", "place", "tokens", "question", "why"]
    tell_rows(lines, columns, rows, nothing="Nothing was shown yet.")
