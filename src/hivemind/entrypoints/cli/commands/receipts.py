"""``hivemind receipts``."""

from collections.abc import Sequence
from itertools import groupby

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import heading, on_terminal, table, tell, tell_rows
from hivemind.model.ids import short
from hivemind.model.moments import minute
from hivemind.model.recall import Receipt


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
    if on_terminal() and lines:
        tell(lines, lambda: _by_question(lines))
        return
    rows = [[minute(r.at), r.actor, short(r.memory_id), str(r.rank), f"{r.tokens}", r.query, r.why] for r in lines]
    columns = ["when", "who", "memory", "place", "tokens", "question", "why"]
    tell_rows(lines, columns, rows, nothing="Nothing was shown yet.")


def _by_question(lines: Sequence[Receipt]) -> None:
    for (at, who, question), shown in groupby(lines, key=lambda one: (minute(one.at), one.actor, one.query)):
        heading(f"{at}  {who}  {question or 'unasked'}")
        rows = [[str(one.rank), short(one.memory_id), f"{one.tokens}", one.why] for one in shown]
        table(["place", "memory", "tokens", "why"], rows)
