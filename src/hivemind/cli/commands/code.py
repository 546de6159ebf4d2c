"""``hivemind code``: memories and the code they are about."""

import os
import sys
from collections.abc import Sequence

import click

from hivemind.cli import output
from hivemind.cli.arguments import limit_option, open_mind, own_memory_argument, words_argument
from hivemind.cli.framework import CommandGroup
from hivemind.model.ids import shorten_id
from hivemind.model.recall import CODE_BEHIND, RelatedContext
from hivemind.model.review import StaleMemory
from hivemind.text.clean import first_line, plural
from hivemind.text.fence import quote_line

commands = click.Group()


@commands.group("code", cls=CommandGroup)
def code() -> None:
    """Link memories to code, find stale ones, search by file or symbol."""


@code.command("link")
@own_memory_argument
@click.argument("links", nargs=-1, required=True, metavar="CODE...")
@click.option("--instead", is_flag=True, help="Replace its current links.")
def link(memory: str, links: tuple[str, ...], instead: bool) -> None:
    """Link a memory to code, so that it is flagged when the code changes.

    CODE is a path, PATH::SYMBOL, PATH:LINES, or a name as the language writes it, such as module.function.

    \b
    hivemind code link 3f9a2c1e auth/service.py::authenticate_user
    hivemind code link 3f9a2c1e auth.service.authenticate_user
    hivemind code link 3f9a2c1e auth/service.py:40-62 --instead
    """
    with open_mind() as mind:
        updated = mind.code.link(memory, links, instead=instead)
    output.emit(updated, f"Linked {output.summarise(updated)}\n  {', '.join(updated.about)}")


@code.command("stale")
@click.option("--since", default="", metavar="REF", help="Only what became stale after this commit.")
@click.option("--wait", is_flag=True, help="Read all changed code first, as a script needs.")
def list_stale(since: str, wait: bool) -> None:
    """List memories whose code changed, and how.

    The exit code is 1 if there are any. If much code changed, the rest of it is read in the background, and the next
    call knows more.

    \b
    hivemind code stale --since origin/main --wait
    """
    with open_mind() as mind, output.progress("Reading the code"):
        stale_memories = mind.code.stale(since=since, wait=wait)
        is_behind = mind.code.is_behind
    rows = [
        [shorten_id(stale.memory.id), label, text, first_line(stale.memory.text, 60)]
        for stale in stale_memories
        for label, text in stale.changes
    ]
    columns = ["id", "about", "change", "text"]
    output.emit_rows(
        stale_memories, columns, rows, after=output.describe_choices("ID"), if_empty="Nothing is stale.",
        on_screen=lambda: _print_stale(stale_memories),
    )  # fmt: skip
    if is_behind:
        output.note(CODE_BEHIND)
    sys.exit(1 if stale_memories else 0)


def _print_stale(stale_memories: Sequence[StaleMemory]) -> None:
    """Print each memory with what changed below it."""
    # Not a table: four columns leave none of them wide enough for the name of a symbol.
    for stale in stale_memories:
        label = f"{shorten_id(stale.memory.id)}  "
        click.echo(output.wrap(quote_line(first_line(stale.memory.text)), label, " " * len(label)))
        for place, text in stale.changes:
            click.echo(output.indent(place))
            click.echo(output.indent(text, 8))


@code.command("related")
@words_argument("target")
@limit_option(10, "Maximum number of memories.")
@click.option("--why", is_flag=True, help="Explain the ranking.")
def find_related(target: str, limit: int, why: bool) -> None:
    """Find memories, files and callers related to code or to a task.

    TARGET is a file, a folder, a module, a symbol, or the task in words.

    \b
    hivemind code related auth
    hivemind code related auth/service.py
    hivemind code related auth.service.authenticate_user
    hivemind code related "add a second factor to the login"
    """
    with open_mind() as mind, output.progress("Reading the code") as advance:
        context = mind.code.find_related(target, limit=limit, progress=advance)
    output.emit(context, lambda: _print_related(context, why=why), is_fenced=True)


def _print_related(context: RelatedContext, *, why: bool) -> None:
    output.print_recall(context.recall, why=why)
    callers = context.callers
    if callers is None or not (callers.symbols or callers.unresolved):
        return
    with output.fence_for_agent():
        output.print_heading("Callers")
        output.print_table(["caller", "line"], [[symbol.label, str(symbol.line)] for symbol in callers.symbols])
        if callers.unresolved:
            click.echo(f"and {plural(callers.unresolved, 'use')} of the name without an import of the file")


@code.command("symbols")
@click.argument("path")
def list_symbols(path: str) -> None:
    """List the symbols of a file that memories can be linked to.

    \b
    hivemind code symbols src/auth/service.py
    """
    with open_mind() as mind:
        symbols = mind.code.symbols(path)
    rows = [
        [f"{symbol.line}-{symbol.end_line}", symbol.kind, symbol.qualified or symbol.path, symbol.signature]
        for symbol in symbols
    ]
    output.emit_rows(symbols, ["lines", "kind", "symbol", "signature"], rows)


@code.command("index")
@click.option("--background", is_flag=True, help="At lowest priority, and only if no other process is indexing.")
@click.option(
    "--tree",
    type=click.Path(exists=True, file_okay=False),
    default=".",
    help="Any folder of the tree; this one if absent.",
)
def index(background: bool, tree: str) -> None:
    """Index the working tree, so that names and moved code are found.

    This also happens by itself: at once in a small tree, in the background in a large one. The index is a cache and can
    be deleted at any time.
    """
    os.chdir(tree)
    with open_mind() as mind, output.progress("Reading the code") as advance:
        report = mind.code.index_politely() if background else mind.code.index(advance)
    if report.left_out:
        output.note(f"{plural(report.left_out, 'file')} left out: the index holds {report.files} at most.")
    total = f"{plural(report.symbols, 'symbol')} in {plural(report.files, 'file')}"
    linked_text = f" Linked {plural(report.linked, 'memory')}." if report.linked else ""
    output.emit(report, f"{total}; {plural(report.changed, 'file')} had changed.{linked_text}")
