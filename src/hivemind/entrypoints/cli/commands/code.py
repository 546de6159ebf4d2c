"""Memories and the code they are about."""

import signal
import sys
from threading import Event

import click

from hivemind.entrypoints.cli.arguments import limit_option, open_mind, own_memory_argument
from hivemind.entrypoints.cli.output import (
    answer,
    fenced_for_agent,
    heading,
    note,
    origin,
    progress,
    still_true,
    table,
    tell,
    tell_rows,
)
from hivemind.model.ids import shorten_id
from hivemind.model.reports import RelatedContext
from hivemind.text.clean import first_line, plural

chapter = click.Group()


@chapter.command("link")
@own_memory_argument
@click.argument("links", nargs=-1, required=True, metavar="CODE...")
@click.option("--instead", is_flag=True, help="Replace its current links.")
def link(memory: str, links: tuple[str, ...], instead: bool) -> None:
    """Link a memory to code, so that it is flagged when the code changes.

    CODE is a path, PATH::SYMBOL, PATH:LINES, or a name as the language writes it, such as module.function.

    \b
    hivemind link 3f9a2c1e auth/service.py::authenticate_user
    hivemind link 3f9a2c1e auth.service.authenticate_user
    hivemind link 3f9a2c1e auth/service.py:40-62 --instead
    """
    with open_mind() as mind:
        known = mind.code.link(memory, links, instead=instead)
    tell(known, f"Linked {origin(known)}\n  {', '.join(known.about)}")


@chapter.command("stale")
@click.option("--since", default="", metavar="REF", help="Only what was put in doubt after this commit.")
def stale(since: str) -> None:
    """List memories whose code changed, and how.

    The exit code is 1 if there is anything.

    \b
    hivemind stale --since origin/main
    """
    with open_mind() as mind, progress("Looking at the code"):
        doubts = mind.code.stale(since=since)
    rows = [
        [shorten_id(doubt.memory.id), one.anchor.label, one.text, first_line(doubt.memory.text, 60)]
        for doubt in doubts
        for one in doubt.became
    ]
    columns = ["id", "about", "what became of it", "text"]
    tell_rows(doubts, columns, rows, after=still_true("ID"), nothing="Nothing is in doubt.")
    sys.exit(1 if doubts else 0)


@chapter.command("related")
@click.argument("target")
@limit_option(10, "Maximum number of memories.")
@click.option("--why", is_flag=True, help="Explain the ranking.")
def related(target: str, limit: int, why: bool) -> None:
    """Find memories, files and callers related to a file, folder, module, symbol or task.

    \b
    hivemind related auth
    hivemind related auth/service.py
    hivemind related auth.service.authenticate_user
    hivemind related "add a second factor to the login"
    """
    with open_mind() as mind, progress("Looking at the code") as advance:
        found = mind.code.find_related(target, limit=limit, progress=advance)
    tell(found, lambda: _related(found, why=why), is_fenced=True)


def _related(found: RelatedContext, *, why: bool) -> None:
    answer(found.recall, why=why)
    with fenced_for_agent():
        _callers(found)


def _callers(found: RelatedContext) -> None:
    callers = found.callers
    if callers and (callers.symbols or callers.unresolved):
        heading("Callers")
        table(["who", "line"], [[one.label, str(one.line)] for one in callers.symbols])
        if callers.unresolved:
            click.echo(f"{callers.unresolved} more use the name without importing the file")


@chapter.command("symbols")
@click.argument("path")
def symbols(path: str) -> None:
    """List the symbols of a file that memories can be linked to.

    \b
    hivemind symbols src/auth/service.py
    """
    with open_mind() as mind:
        found = mind.code.symbols(path)
    rows = [[f"{one.line}-{one.end_line}", one.kind, one.qualified or one.path, one.signature] for one in found]
    tell_rows(found, ["lines", "kind", "symbol", "signature"], rows)


@chapter.command("index")
def index() -> None:
    """Index the working tree, so that names and moved code are found.

    A small tree is looked at when that is needed. What is kept of it can be deleted at any time.
    """
    with open_mind() as mind, progress("Looking at the code") as advance:
        done = mind.code.index(advance)
    known = f"{plural(done.symbols, 'symbol')} in {plural(done.files, 'file')}"
    tell(done, f"{known}; {plural(done.changed, 'file')} had changed.")


@chapter.command("watch")
def watch() -> None:
    """Keep the index up to date while files change, until interrupted.

    Nothing is wrong without this; answers about code come a little sooner.

    \b
    hivemind watch &
    """
    stop = Event()
    signs: list[int] = []

    def end(sign: int, _: object) -> None:
        signs.append(sign)
        stop.set()

    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, end)
    with open_mind() as mind:
        note(f"Following {mind.repository.root}. Stop with Ctrl-C.")
        mind.code.watch(stop, lambda changed: note(f"{plural(changed, 'file')} changed") if changed else None)
    sys.exit(128 + signs[0])
