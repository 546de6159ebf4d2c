"""``hivemind repair``."""

import sys

import click

from hivemind.app.mending import repair
from hivemind.entrypoints.cli.output import progress, tell, warn


@click.command("repair")
def command() -> None:
    """Make a damaged store whole again from what it still gives.

    What is derived is derived again. If the log itself is damaged, every entry that verifies is saved, the damaged
    file is kept, and what was lost is told and recorded. The exit code is 1 if something was lost.

    \b
    hivemind repair
    """
    with progress("Repairing"):
        done = repair(click.get_current_context().find_root().obj)
    if not done.before:
        tell(done, f"All {done.entries:,} entries are there, and the tables say what the log says.")
        return
    tell(done, f"Saved {done.entries:,} entries. The damaged file is kept: {done.before}")
    if done.lost or done.without_content:
        lost = f"Lost: {done.lost:,} entries, and the content of {done.without_content:,} others."
        warn(f"{lost} An older backup may hold them: hivemind backup list")
        sys.exit(1)
