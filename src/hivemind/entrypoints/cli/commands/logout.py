"""``hivemind logout``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import tell


@click.command("logout")
def command() -> None:
    """Leave the team: its memories go from this machine; yours stay.

    \b
    hivemind logout
    """
    with open_mind() as mind:
        mind.logout()
    tell({"team": None}, "This store belongs to no team any more.")
