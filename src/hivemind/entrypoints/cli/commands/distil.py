"""``hivemind distil``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import many, note, progress, tell


@click.command("distil")
@click.argument("session", default="")
def command(session: str) -> None:
    """Learn from a session, or from all that came to rest since last time. What is found waits for review.

    \b
    hivemind distil
    """
    with open_mind() as mind, progress("Distilling") as advance:
        done = mind.distil(session, progress=advance)
    proposed = f"{many(done.proposed, 'new proposal')}, {done.known:,} known before"
    looked = f"Looked at {many(done.sessions, 'session')}: {proposed}."
    tell(done, looked if done.sessions else "No session has come to rest since the last time.")
    for detector, count in done.by_detector:
        note(f"{count:,} from {detector}")
    if done.refused:
        note(f"{done.refused:,} stayed out: they were rejected or erased here.")
