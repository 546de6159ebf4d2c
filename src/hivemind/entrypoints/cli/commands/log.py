"""``hivemind log``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, say_json, table
from hivemind.model.ids import short
from hivemind.model.moments import minute


@click.command("log")
@click.argument("memory", metavar="[ID]", required=False, default="")
@click.option("--limit", type=int, default=30, show_default=True, help="Entries on a page.")
@click.option("--before", type=int, default=0, metavar="POSITION", help="Go on from an earlier page.")
@as_json_option
def command(memory: str, limit: int, before: int, as_json: bool) -> None:
    """What happened, newest first: to one memory, or at all."""
    with open_mind() as mind:
        entries = mind.log(memory, before=before, limit=limit)
    if as_json:
        say_json(entries)
        return
    rows = [
        [str(e.position), minute(e.at), f"{e.actor} ({e.channel})", e.fact, short(e.about), "" if e.event else "erased"]
        for e in entries
    ]
    table(["entry", "when", "who", "what", "about", ""], rows)
    if len(entries) == limit:
        note(f"more: hivemind log --before {entries[-1].position}")
