"""``hivemind link``."""

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.output import origin, tell


@click.command("link")
@memory_argument
@click.argument("links", nargs=-1, required=True, metavar="PATH::SYMBOL...")
@click.option("--instead", is_flag=True, help="Let go of the code it is tied to now.")
def command(memory: str, links: tuple[str, ...], instead: bool) -> None:
    """Tie a memory to code, so that it is in doubt when the code changes.

    \b
    hivemind link 3f9a2c1e auth/service.py::authenticate_user
    hivemind link 3f9a2c1e auth/service.py:40-62 --instead
    """
    with open_mind() as mind:
        known = mind.link(memory, links, instead=instead)
    tell(known, f"Linked {origin(known)}\n  {', '.join(known.about)}")
