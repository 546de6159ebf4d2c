"""``hivemind sync-files``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import many, tell


@click.command("sync-files")
def command() -> None:
    """Bring in what instruction files say: AGENTS.md, CLAUDE.md, GEMINI.md, QWEN.md, the rules of Cursor, Claude
    Code, Windsurf, Cline and Continue, and Copilot's instructions.

    Each point is a convention with file and line as its source. What a file no longer says is taken back.

    \b
    hivemind sync-files
    """
    run()


def run(*, dry_run: bool = False) -> None:
    """The same for a command that takes in more than files."""
    with open_mind() as mind:
        synced = mind.sync_files(dry_run=dry_run)
    tell(synced, f"{many(synced.said, 'point')} in the instruction files: {synced.new} new, {synced.gone} gone.")
