"""``hivemind audit``."""

import sys

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.commands import log
from hivemind.entrypoints.cli.output import many, tell, warn
from hivemind.model.events import FACTS

READING = ("memories.recalled", "observation.made", "repository.seen")
CHANGES = [name for name in FACTS if name not in READING]


@click.command("audit")
@click.option("--verify", is_flag=True, help="Check the chain: any entry edited, removed or moved is found.")
@click.option("--limit", type=int, default=50, show_default=True, help="Entries on a page.")
@click.option("--before", type=int, default=0, metavar="ENTRY", help="Go on from an earlier page.")
def command(verify: bool, limit: int, before: int) -> None:
    """Who changed what, and whether the record is intact.

    With --verify the exit code is 1 if the log was tampered with.

    \b
    hivemind audit --limit 10
    hivemind audit --verify
    """
    if not verify:
        log.show("hivemind audit", limit=limit, before=before, facts=CHANGES)
        return
    with open_mind() as mind:
        broken, total = mind.audit(), many(mind.log_length(), "entry")
    for place in broken:
        warn(f"device {place.device[:8]}, entry {place.device_seq}: {place.why}")
    tell(broken, f"{len(broken)} of {total} are not what they were." if broken else f"The chain of {total} verifies.")
    sys.exit(1 if broken else 0)
