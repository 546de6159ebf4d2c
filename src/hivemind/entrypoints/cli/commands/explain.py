"""``hivemind explain``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, fields, heading, life, note, say, say_json, table
from hivemind.model.moments import minute


@click.command("explain")
@click.argument("memory", metavar="ID")
@as_json_option
def command(memory: str, as_json: bool) -> None:
    """Why a memory is believed: its sources, its versions, and whom it reached."""
    with open_mind() as mind:
        known = mind.explain(memory)
    if as_json:
        say_json(known)
        return
    say(known.memory.text + "\n")
    fields(known.memory)
    heading("History")
    life(known.history)
    heading("Shown to")
    rows = [[minute(r.at), r.actor, r.query, f"place {r.rank}", f"{r.tokens} tokens"] for r in known.receipts]
    table(["when", "who", "question", "rank", "cost"], rows)
    if not rows:
        note("nobody yet")
