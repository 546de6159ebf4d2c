"""``hivemind diff``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import note, unified


@click.command("diff")
@click.argument("one", metavar="A")
@click.argument("other", metavar="B", required=False)
def command(one: str, other: str | None) -> None:
    """What differs between two memories, or between the last two wordings of one."""
    with open_mind() as mind:
        if other:
            before, after = mind.show(one).text, mind.show(other).text
        else:
            wordings = list(dict.fromkeys(step.after.text for step in mind.history(one)))
            before, after = ([wordings[0], *wordings])[-2:]
    if before == after:
        note("No difference.")
    unified(before, after, one, other or one)
