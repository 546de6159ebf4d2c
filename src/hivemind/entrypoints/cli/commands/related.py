"""``hivemind related``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import answer, heading, progress, table, tell
from hivemind.model.code import Callers
from hivemind.model.reports import Relevant


@click.command("related")
@click.argument("target")
@click.option("--limit", type=int, default=10, show_default=True, help="At most so many memories.")
@click.option("--why", is_flag=True, help="Say why each memory stands where it stands.")
def command(target: str, limit: int, why: bool) -> None:
    """What bears on a file, folder, symbol or task: memories, files, callers.

    \b
    hivemind related auth/service.py
    hivemind related auth/service.py::authenticate_user
    hivemind related "add a second factor to the login"
    """
    with open_mind() as mind, progress("Looking at the code") as advance:
        found = mind.related(target, limit=limit, progress=advance)
    tell(found, lambda: _told(found, why=why))


def _told(found: Relevant, *, why: bool) -> None:
    answer(found.recall, why=why)
    if found.files:
        heading("Files")
        table(["file", "why"], [[one.path, ", ".join(one.why)] for one in found.files])
    if found.callers:
        _callers(found.callers)


def _callers(callers: Callers) -> None:
    heading("Callers")
    table(["who", "line"], [[one.label, str(one.line)] for one in callers.symbols])
    if callers.unresolved:
        click.echo(f"{callers.unresolved} more use the name without importing the file")
