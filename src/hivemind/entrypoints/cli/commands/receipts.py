"""``hivemind receipts``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, say_json, table
from hivemind.model.ids import short
from hivemind.model.moments import minute


@click.command("receipts")
@click.option("--session", default="", help="Only of this session.")
@click.option("--limit", type=int, default=50, show_default=True, help="Lines to show.")
@as_json_option
def command(session: str, limit: int, as_json: bool) -> None:
    """Which memories reached whom, and why."""
    with open_mind() as mind:
        lines = mind.receipts(session, limit=limit)
    if as_json:
        say_json(lines)
        return
    rows = [[minute(r.at), r.actor, short(r.memory_id), str(r.rank), f"{r.tokens}", r.query, r.why] for r in lines]
    table(["when", "who", "memory", "place", "tokens", "question", "why"], rows)
    if not rows:
        note("Nothing was shown yet.")
