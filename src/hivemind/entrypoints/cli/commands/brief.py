"""``hivemind brief``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import note, say, tell


@click.command("brief")
@click.option("--prompt", default="", metavar="TEXT", help="What would be said on this prompt instead.")
def command(prompt: str) -> None:
    """Print what an agent is told at the start of a session here.

    \b
    hivemind brief
    hivemind brief --prompt "add a second factor to the login"
    """
    with open_mind() as mind:
        said = mind.on_prompt(prompt) if prompt else mind.brief()
    tell(said, lambda: say(said.text) if said.text else note("Nothing would be said."))
