"""What people see: calm text on a terminal, plain text in a pipe, JSON when asked."""

import difflib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from hivemind.model.ids import short
from hivemind.model.life import Step
from hivemind.model.memory import Memory, Source, Status
from hivemind.model.moments import day, minute
from hivemind.model.plain import plain
from hivemind.model.recall import Hit, Recall
from hivemind.model.text import first_line, neutral

as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def on_terminal() -> bool:
    """Whether a person is looking."""
    return sys.stdout.isatty()


def say(text: str) -> None:
    """Print text in which nothing is obeyed by the terminal."""
    click.echo(neutral(text))


def say_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(plain(value), ensure_ascii=False, indent=2 if on_terminal() else None))


def note(text: str) -> None:
    """Print an aside; it goes to standard error, so that a pipe gets only the answer."""
    click.echo(click.style(neutral(text), dim=True), err=True)


def warn(text: str) -> None:
    """Print what a person should not miss, on standard error."""
    click.echo(click.style(neutral(text), fg="yellow"), err=True)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal, tab-separated lines in a pipe."""
    safe = [[neutral(cell) for cell in row] for row in rows]
    if not on_terminal():
        for row in safe:
            click.echo("\t".join(cell.replace("\t", " ").replace("\n", " ") for cell in row))
        return
    from rich.console import Console  # 90 ms that a pipe need not pay
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in safe:
        drawn.add_row(*(Text(cell) for cell in row))
    Console().print(drawn)


def origin(memory: Memory) -> str:
    """Where a memory stands, in one line."""
    said_by = memory.agent if memory.agent else memory.owner
    parts = [short(memory.id), memory.kind.value, memory.scope.value, said_by, day(memory.revised_at)]
    if memory.status is not Status.ACTIVE:
        parts.append(memory.status.value)
    return " · ".join(filter(None, [*parts, ", ".join(memory.tags)]))


def memory_line(memory: Memory) -> list[str]:
    """A memory as a row of a list."""
    standing = "" if memory.status is Status.ACTIVE else f"({memory.status}) "
    text = standing + first_line(memory.text, 90)
    return [short(memory.id), day(memory.revised_at), memory.scope.value, memory.kind.value, text]


def fields(memory: Memory) -> None:
    """What is known about a memory, a line each, empty things left out."""
    sources = [_source(source) for source in memory.sources]
    rows = {
        "id": memory.id,
        "kind": memory.kind.value,
        "scope": memory.scope.value,
        "repository": memory.repo,
        "status": memory.status.value,
        "trust": f"{memory.trust} (came from {memory.channel})",
        "confidence": f"{memory.confidence:g}" if memory.confidence < 1 else "",
        "owner": memory.owner,
        "tags": ", ".join(memory.tags),
        "subject": memory.subject,
        "about": ", ".join(memory.about),
        "recorded": minute(memory.recorded_at),
        "revised": minute(memory.revised_at) if memory.version > 1 else "",
        "true from": day(memory.valid_from),
        "true until": day(memory.valid_to),
        "expires": day(memory.expires_at),
        "verify by": day(memory.verify_by),
        "replaces": ", ".join(map(short, memory.supersedes)),
        "replaced by": short(memory.superseded_by or ""),
        "contradicts": ", ".join(map(short, memory.contradicts)),
        "sources": "; ".join(sources),
    }
    for name, value in rows.items():
        if value:
            click.echo(click.style(f"{name:<12}", dim=True) + neutral(value))


def _source(source: Source) -> str:
    place = source.file + (f":{source.lines}" if source.lines else "")
    place += f" at {source.commit[:8]}" if source.commit else ""
    session = f"session {source.session_id}" if source.session_id else ""
    return " ".join(filter(None, [source.channel.value, source.actor, place, session]))


def heading(text: str) -> None:
    """A title over a part of the output."""
    click.echo("\n" + click.style(text, bold=True))


def life(steps: Sequence[Step]) -> None:
    """A memory's life, a paragraph for each change."""
    text = ""
    for step in steps:
        event = step.event
        click.echo(f"{minute(event.at)}  {neutral(event.actor)} ({event.channel})  {neutral(step.what)}")
        if step.after.text != text:
            text = step.after.text
            click.echo("    " + neutral(text).replace("\n", "\n    "))


def unified(before: str, after: str, old: str, new: str) -> None:
    """A difference as patches show it."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm="")
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        click.echo(click.style(neutral(line), fg=colours.get(line[:1])))


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for long work on a terminal; silence elsewhere."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def answer(found: Recall, *, why: bool) -> None:
    """A recall for whoever asked: people get a list, a pipe gets the block an agent reads."""
    if not on_terminal():
        click.echo(found.text or "Nothing known.")
        return
    if not found.hits:
        note("Nothing known about that.")
    for place, hit in enumerate(found.hits, start=1):
        _hit(place, hit, why=why)


def _hit(place: int, hit: Hit, *, why: bool) -> None:
    body = neutral(hit.passage).replace("\n", "\n    ")
    click.echo(click.style(f"{place:>2}  ", bold=True) + body)
    click.echo("    " + click.style(neutral(origin(hit.memory)), dim=True))
    for label in hit.labels:
        click.echo("    " + click.style(neutral(label), fg="yellow"))
    if why:
        for signal in hit.signals:
            click.echo("    " + click.style(f"{signal.name} {signal.score:.2f}: {neutral(signal.why)}", fg="cyan"))
    click.echo()
