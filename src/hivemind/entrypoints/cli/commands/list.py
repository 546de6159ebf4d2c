"""``hivemind list``."""

import click

from hivemind.entrypoints.cli.arguments import filters, memory_ids, open_mind, scope_from, statuses_option
from hivemind.entrypoints.cli.output import memory_line, tell_rows
from hivemind.model.ids import short
from hivemind.model.memory import Kind, Status


@click.command("list")
@filters
@statuses_option
@click.option("--limit", type=int, default=20, show_default=True, help="Memories on a page.")
@click.option(
    "--before", default="", metavar="ID", shell_complete=memory_ids, help="Go on after this memory of an earlier page."
)
def command(
    scope: str | None,
    kinds: tuple[str, ...],
    tags: str,
    everywhere: bool,
    statuses: tuple[str, ...],
    limit: int,
    before: str,
) -> None:
    """Memories, newest first.

    \b
    hivemind list --kind decision --tags deploy
    hivemind list --status proposed --everywhere
    """
    with open_mind() as mind:
        page = mind.list(
            scope=scope_from(scope),
            kinds=[Kind(kind) for kind in kinds],
            tags=tags.split(","),
            statuses=[Status(status) for status in statuses],
            limit=limit,
            before=before,
            everywhere=everywhere,
        )
    tell_rows(
        page,
        ["id", "date", "scope", "kind", "text"],
        [memory_line(memory) for memory in page],
        after=f"more: hivemind list --before {short(page[-1].id)}" if len(page) == limit else "",
        nothing="" if before else 'Nothing remembered here yet. Try: hivemind remember "…"',
    )
