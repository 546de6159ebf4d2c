"""``hivemind tag``."""

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import act, memory_argument


@click.command("tag")
@memory_argument
@click.argument("labels", nargs=-1)
@click.option("--remove", multiple=True, metavar="TAG", help="Take this tag off.")
def command(memory: str, labels: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Put tags on a memory, or take them off.

    \b
    hivemind tag 3f9a2c1e auth backend
    hivemind tag 3f9a2c1e --remove draft
    """
    act(Hivemind.tag, "Tagged", memory, _apart(labels), _apart(remove))


def _apart(labels: tuple[str, ...]) -> list[str]:
    """Tags may stand apart or with commas between them, as everywhere else."""
    return [tag for label in labels for tag in label.split(",") if tag]
