"""``hivemind brief``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, say, say_json


@click.command("brief")
@click.option("--prompt", default="", metavar="TEXT", help="What would be said on this prompt instead.")
@as_json_option
def command(prompt: str, as_json: bool) -> None:
    """Print what an agent is told at the start of a session here."""
    with open_mind() as mind:
        said = mind.on_prompt(prompt) if prompt else mind.brief()
    if as_json:
        say_json(said)
    elif said.text:
        say(said.text)
    else:
        note("Nothing would be said.")
