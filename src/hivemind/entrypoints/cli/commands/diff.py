"""``hivemind diff``."""

import click

from hivemind.entrypoints.cli.arguments import memory_ids, open_mind
from hivemind.entrypoints.cli.output import note, tell, unified


@click.command("diff")
@click.argument("one", metavar="A", shell_complete=memory_ids)
@click.argument("other", metavar="B", required=False, shell_complete=memory_ids)
def command(one: str, other: str | None) -> None:
    """What differs between two memories, or between the last two wordings of one.

    \b
    hivemind diff 3f9a2c1e
    hivemind diff 3f9a2c1e 5b2e91aa
    """
    with open_mind() as mind:
        if other:
            before, after = mind.show(one).text, mind.show(other).text
        else:
            wordings = list(dict.fromkeys(step.after.text for step in mind.history(one)))
            before, after = ([wordings[0], *wordings])[-2:]
    if before == after:
        note("No difference.")
    tell({"before": before, "after": after}, lambda: unified(before, after, one, other or one))
