"""``hivemind audit``."""

import sys

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import tell, tell_rows, warn
from hivemind.model.events import FACTS
from hivemind.model.moments import minute

READING = ("memories.recalled", "observation.made", "repository.seen")
CHANGES = [name for name in FACTS if name not in READING]


@click.command("audit")
@click.option("--verify", is_flag=True, help="Check the chain: any entry edited, removed or moved is found.")
@click.option("--limit", type=int, default=50, show_default=True, help="Entries to show.")
def command(verify: bool, limit: int) -> None:
    """Who changed what, and whether the record is intact.

    With --verify the exit code is 1 if the log was tampered with.

    \b
    hivemind audit --limit 10
    hivemind audit --verify
    """
    with open_mind() as mind:
        if verify:
            broken = mind.audit()
            for place in broken:
                warn(f"device {place.device[:8]}, entry {place.device_seq}: {place.why}")
            total = f"{mind.stats().events:,} entries"
            tell(
                broken,
                f"{len(broken)} of {total} are not what they were." if broken else f"The chain of {total} verifies.",
            )
            sys.exit(1 if broken else 0)
        entries = mind.log(facts=CHANGES, limit=limit)
    rows = [[minute(e.at), f"{e.actor} ({e.channel})", e.fact, e.about[:8]] for e in entries]
    tell_rows(entries, ["when", "who", "what", "about"], rows)
