"""``hivemind list``."""

from typing import Any

import click

from hivemind.entrypoints.cli.arguments import choice, filters, memory_ids, open_mind
from hivemind.entrypoints.cli.output import memory_line, tell_rows
from hivemind.model.ids import short
from hivemind.model.memory import Status


@click.command("list")
@filters
@choice("--status", "statuses", multiple=True, among=Status, help="Only with this status.")
@click.option("--limit", type=int, default=20, show_default=True, help="Memories on a page.")
@click.option(
    "--before", default="", metavar="ID", shell_complete=memory_ids, help="Go on after this memory of an earlier page."
)
def command(**given: Any) -> None:
    """Memories, newest first.

    \b
    hivemind list --kind decision --tags deploy
    hivemind list --status proposed --everywhere
    """
    with open_mind() as mind:
        page = mind.list(**given)
    tell_rows(
        page,
        ["id", "date", "scope", "kind", "text"],
        [memory_line(memory) for memory in page],
        after=f"more: hivemind list --before {short(page[-1].id)}" if len(page) == given["limit"] else "",
        nothing="" if given["before"] else 'Nothing remembered here yet. Try: hivemind remember "…"',
    )
