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
    proposed = many(done.proposed, "new proposal")
    tell(done, f"Looked at {many(done.sessions, 'session')}: {proposed}, {done.known:,} known before.")
    for detector, count in done.by_detector:
        note(f"{count:,} from {detector}")
    if done.refused:
        note(f"{done.refused:,} stayed out: they were rejected or erased here.")
