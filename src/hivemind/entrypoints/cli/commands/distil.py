"""``hivemind distil``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, progress, say, say_json


@click.command("distil")
@click.argument("session", default="")
@as_json_option
def command(session: str, as_json: bool) -> None:
    """Learn from a session, or from all that came to rest since last time. What is found waits for review."""
    with open_mind() as mind, progress("Distilling") as advance:
        done = mind.distil(session, progress=advance)
    if as_json:
        say_json(done)
        return
    say(f"Looked at {done.sessions:,} sessions: {done.proposed:,} new proposals, {done.known:,} known before.")
    for detector, count in done.by_detector:
        note(f"{count:,} from {detector}")
    if done.refused:
        note(f"{done.refused:,} stayed out: they were rejected or erased here.")
