"""``hivemind log``."""

from collections.abc import Iterable, Mapping
from typing import Any

import click

from hivemind.entrypoints.cli.arguments import maybe_memory_argument, open_mind
from hivemind.entrypoints.cli.output import note, on_terminal, say, tell, tell_rows, wrapped
from hivemind.model.ids import short
from hivemind.model.moments import minute
from hivemind.model.plain import plain
from hivemind.model.text import first_line, neutral


@click.command("log")
@maybe_memory_argument
@click.option("--limit", type=int, default=30, show_default=True, help="Entries on a page.")
@click.option("--before", type=int, default=0, metavar="ENTRY", help="Go on from an earlier page.")
def command(memory: str, limit: int, before: int) -> None:
    """What happened, newest first: to one memory, or at all.

    \b
    hivemind log --limit 10
    hivemind log 3f9a2c1e
    """
    show("hivemind log", memory, limit=limit, before=before)


def show(again: str, memory: str = "", *, limit: int, before: int = 0, facts: Iterable[str] = ()) -> None:
    """Entries of the log with what the memory says that each is about; two lines each where a person looks."""
    with open_mind() as mind:
        found = mind.log(memory, limit=limit, before=before, facts=tuple(facts))
        entries = [{**plain(one), "text": text} for one, text in zip(found, mind.log_told(found), strict=True)]
    more = f"more: {again} {memory + ' ' if memory else ''}--before {found[-1].position}" if len(found) == limit else ""
    if on_terminal() and entries:
        tell(entries, lambda: _by_entry(entries, more))
        return
    rows = [
        [str(e["position"]), minute(e["at"]), _who(e), e["fact"], short(e["about"]), first_line(e["text"], 90)]
        for e in entries
    ]
    columns = ["entry", "when", "who", "what", "about", "text"]
    tell_rows(entries, columns, rows, after=more, nothing="Nothing happened yet.")


def _by_entry(entries: Iterable[Mapping[str, Any]], more: str) -> None:
    for entry in entries:
        say(f"{entry['position']:>5}  {minute(entry['at'])}  {entry['fact']}  by {_who(entry)}")
        if about := "  ".join(filter(None, [short(entry["about"]), first_line(entry["text"], 140)])):
            click.echo(wrapped(neutral(about), " " * 7, " " * 17))
    if more:
        note(more)


def _who(entry: Mapping[str, Any]) -> str:
    return f"{entry['actor']} ({entry['channel']})"
