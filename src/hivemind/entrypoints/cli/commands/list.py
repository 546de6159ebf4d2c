"""``hivemind list``."""

import click

from hivemind.entrypoints.cli.arguments import filters, open_mind, scope_from, statuses_option
from hivemind.entrypoints.cli.output import as_json_option, memory_line, note, say_json, table
from hivemind.model.ids import short
from hivemind.model.memory import Kind, Status


@click.command("list")
@filters
@statuses_option
@click.option("--limit", type=int, default=20, show_default=True, help="Memories on a page.")
@click.option("--before", default="", metavar="ID", help="Go on after this memory of an earlier page.")
@as_json_option
def command(
    scope: str | None,
    kinds: tuple[str, ...],
    tags: str,
    everywhere: bool,
    statuses: tuple[str, ...],
    limit: int,
    before: str,
    as_json: bool,
) -> None:
    """Memories, newest first."""
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
    if as_json:
        say_json(page)
        return
    table(["id", "date", "scope", "kind", "text"], [memory_line(memory) for memory in page])
    if len(page) == limit:
        note(f"more: hivemind list --before {short(page[-1].id)}")
    elif not page and not before:
        note('Nothing remembered here yet. Try: hivemind remember "…"')
