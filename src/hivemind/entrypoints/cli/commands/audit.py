"""``hivemind audit``."""

import sys

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, say, say_json, table
from hivemind.model.moments import minute

READING = ("memories.recalled", "observation.made", "repository.seen")


@click.command("audit")
@click.option("--verify", is_flag=True, help="Check the chain: any entry edited, removed or moved is found.")
@click.option("--limit", type=int, default=50, show_default=True, help="Entries to show.")
@as_json_option
def command(verify: bool, limit: int, as_json: bool) -> None:
    """Who changed what, and whether the record is intact.

    With --verify the exit code is 1 if the log was tampered with.
    """
    with open_mind() as mind:
        if verify:
            broken = mind.audit()
            if as_json:
                say_json(broken)
            for place in broken:
                note(f"device {place.device[:8]}, entry {place.device_seq}: {place.why}")
            if not broken and not as_json:
                say(f"The chain of {mind.stats().events:,} entries verifies.")
            sys.exit(1 if broken else 0)
        entries = [entry for entry in mind.log(limit=limit * 4) if entry.fact not in READING][:limit]
    if as_json:
        say_json(entries)
        return
    table(
        ["when", "who", "what", "about"],
        [[minute(e.at), f"{e.actor} ({e.channel})", e.fact, e.about[:8]] for e in entries],
    )
