"""``hivemind sync``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import many, progress, tell, warn


@click.command("sync")
def command() -> None:
    """Exchange with the team's hub what is new; it happens by itself when a session starts or ends.

    \b
    hivemind sync
    """
    with open_mind() as mind, progress("Exchanging with the hub") as advance:
        done = mind.sync(progress=advance)
    tell(done, f"{many(done.pulled, 'entry')} came, {done.pushed:,} went, {many(done.erased, 'memory')} erased here.")
    for entry, why in done.refused:
        warn(f"the hub refused {entry[:8]}: {why}")
