"""``hivemind backfill``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.commands import sync_files
from hivemind.entrypoints.cli.output import many, note, progress, tell
from hivemind.model.reports import Backfilled

GIT, FILES = "git", "files"


@click.command("backfill")
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@click.option("--since", default="", metavar="WHEN", help="Only what happened after: a date, or a span such as 6w.")
@click.option("--project", is_flag=True, help="Only sessions in this repository.")
@click.option("--dry-run", is_flag=True, help="Count what would be taken in, and change nothing.")
def command(agents: tuple[str, ...], since: str, project: bool, dry_run: bool) -> None:
    """Take in the past: what agents kept of their sessions; as 'git', this repository's commits; as 'files', what its
    instruction files say.

    Without a name, every agent that left transcripts on this machine. What was learned arrives as proposals.

    \b
    hivemind backfill --dry-run
    hivemind backfill claude-code codex --since 6w
    hivemind backfill git
    hivemind backfill files
    """
    if agents == (FILES,):
        sync_files.run(dry_run=dry_run)
        return
    with open_mind() as mind, progress("Reading") as advance:
        if agents == (GIT,):
            done = mind.backfill_git(since=since, dry_run=dry_run)
        else:
            done = mind.backfill(agents, since=since, here=project, dry_run=dry_run, progress=advance)
    tell(done, _told(done, dry_run=dry_run))
    for reason, count in done.skipped:
        note(f"{count:,} skipped: {reason}")
    if done.learned and not dry_run:
        note("Proposals wait in 'hivemind review'.")
        note(f"Undo: hivemind rollback --batch {done.batch}")


def _told(done: Backfilled, *, dry_run: bool) -> str:
    if not (done.commits or done.transcripts):
        return "There is nothing to take in: no commit, and no transcript of an agent."
    would = "Would take in" if dry_run else "Took in"
    if done.commits:
        return f"{would} {many(done.commits, 'commit')}; {many(done.learned, 'new proposal')}."
    # What would be learned shows only once it was read.
    learned = "" if dry_run else f"; {many(done.learned, 'new proposal')}"
    return (
        f"{would} {done.new:,} new of {many(done.observations, 'observation')}, {many(done.sessions, 'session')} in"
        f" {many(done.transcripts, 'transcript')}{learned}."
    )
