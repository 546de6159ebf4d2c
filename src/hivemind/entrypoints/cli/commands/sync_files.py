"""``hivemind sync-files``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, say, say_json


@click.command("sync-files")
@as_json_option
def command(as_json: bool) -> None:
    """Bring in what AGENTS.md, CLAUDE.md, GEMINI.md, .cursor/rules and Copilot's instructions say.

    Each point is a convention with file and line as its source. What a file no longer says is taken back.
    """
    with open_mind() as mind:
        synced = mind.sync_files()
    if as_json:
        say_json(synced)
    else:
        say(f"{synced.said} points in the instruction files: {synced.new} new, {synced.gone} gone.")
