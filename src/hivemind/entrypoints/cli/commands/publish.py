"""``hivemind publish``."""

import click

from hivemind.entrypoints.cli.arguments import memory_ids, open_mind
from hivemind.entrypoints.cli.output import indented, note, say, tell
from hivemind.model.ids import short


@click.command("publish")
@click.argument("memories", nargs=-1, required=True, metavar="ID…", shell_complete=memory_ids)
@click.option("--dry-run", is_flag=True, help="Only show what would leave.")
def command(memories: tuple[str, ...], dry_run: bool) -> None:
    """Give the team a copy of memories of this project.

    \b
    hivemind publish 3f9a2c1e --dry-run
    hivemind publish 3f9a2c1e
    """
    with open_mind() as mind:
        planned = mind.publish(memories, dry_run=dry_run)

    def show() -> None:
        for one in planned:
            where = "would leave" if dry_run else f"is now the team's, as {short(one.copy)}"
            say(f"{short(one.memory.id)} {where}:")
            say(indented(one.text))
            for source in one.sources:
                say(indented(f"source: {source.channel} {source.actor} {source.file}".rstrip()))
            for what in one.withheld:
                note(f"    stays here: {what}")

    tell(planned, show)
