"""``hivemind show``."""

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.output import fields, say, tell
from hivemind.model.memory import Memory


@click.command("show")
@memory_argument
def command(memory: str) -> None:
    """A memory with everything known about it.

    \b
    hivemind show 3f9a2c1e
    """
    with open_mind() as mind:
        known = mind.show(memory)
    tell(known, lambda: _told(known))


def _told(known: Memory) -> None:
    say(known.text + "\n")
    fields(known)
