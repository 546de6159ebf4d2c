"""``hivemind explain``."""

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.output import fields, heading, life, note, say, table, tell
from hivemind.model.moments import minute
from hivemind.model.reports import Explanation


@click.command("explain")
@memory_argument
def command(memory: str) -> None:
    """Why a memory is believed: its sources, its versions, and whom it reached.

    \b
    hivemind explain 3f9a2c1e
    """
    with open_mind() as mind:
        known = mind.explain(memory)
    tell(known, lambda: _told(known))


def _told(known: Explanation) -> None:
    say(known.memory.text + "\n")
    fields(known.memory)
    heading("History")
    life(known.history)
    heading("Shown to")
    rows = [[minute(r.at), r.actor, r.query, f"place {r.rank}", f"{r.tokens} tokens"] for r in known.receipts]
    table(["when", "who", "question", "rank", "cost"], rows)
    if not rows:
        note("nobody yet")
