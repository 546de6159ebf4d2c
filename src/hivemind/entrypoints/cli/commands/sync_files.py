"""``hivemind sync-files``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import tell


@click.command("sync-files")
def command() -> None:
    """Bring in what AGENTS.md, CLAUDE.md, GEMINI.md, .cursor/rules and Copilot's instructions say.

    Each point is a convention with file and line as its source. What a file no longer says is taken back.

    \b
    hivemind sync-files
    """
    with open_mind() as mind:
        synced = mind.sync_files()
    tell(synced, f"{synced.said} points in the instruction files: {synced.new} new, {synced.gone} gone.")
