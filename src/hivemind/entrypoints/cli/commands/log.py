"""``hivemind log``."""

import click

from hivemind.entrypoints.cli.arguments import maybe_memory_argument, open_mind
from hivemind.entrypoints.cli.output import tell_rows
from hivemind.model.ids import short
from hivemind.model.moments import minute


@click.command("log")
@maybe_memory_argument
@click.option("--limit", type=int, default=30, show_default=True, help="Entries on a page.")
@click.option("--before", type=int, default=0, metavar="POSITION", help="Go on from an earlier page.")
def command(memory: str, limit: int, before: int) -> None:
    """What happened, newest first: to one memory, or at all.

    \b
    hivemind log --limit 10
    hivemind log 3f9a2c1e
    """
    with open_mind() as mind:
        entries = mind.log(memory, before=before, limit=limit)
    rows = [
        [str(e.position), minute(e.at), f"{e.actor} ({e.channel})", e.fact, short(e.about), "" if e.event else "erased"]
        for e in entries
    ]
    more = f"more: hivemind log --before {entries[-1].position}" if len(entries) == limit else ""
    tell_rows(entries, ["entry", "when", "who", "what", "about", ""], rows, after=more, nothing="Nothing happened yet.")
