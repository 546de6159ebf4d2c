"""What people see: calm text on a terminal, plain text in a pipe, JSON when asked."""

import difflib
import io
import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from threading import Timer
from typing import Any

import click

from hivemind.app.callers import agent_calls
from hivemind.entrypoints.cli.framework import wants
from hivemind.formats.codec import to_plain
from hivemind.formats.timestamps import format_date, format_minute
from hivemind.model.fold import HistoryStep
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Memory, Source, Status
from hivemind.model.recall import Hit, Recall
from hivemind.model.scope import label_other_repository as from_elsewhere
from hivemind.text.clean import escape_json, neutralise
from hivemind.text.fence import CONTINUATION_PREFIX, MEMORY_NOTE, quote_text, wrap_in_fence
from hivemind.text.fence import format_field as label_field
from hivemind.text.fence import format_label as label_line

COLOURS = {"+": "green", "-": "red", "@": "cyan"}
NUMBER = re.compile(r"[\d.,]*")
PATIENCE_SECONDS = 1.0
"""What takes longer says that it is at work."""
ODD_SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""Spaces where we do not break a line but a terminal may, which would not indent what follows."""


def on_terminal() -> bool:
    """Whether a person is looking."""
    return sys.stdout.isatty()


def tell(value: Any, people: str | Callable[[], None], *, is_fenced: bool = False) -> None:
    """Print an answer: as JSON if asked; else a sentence that confirms, or all that the function shows, by pages.

    An agent gets what the function shows inside a fence, unless it ``is_fenced`` already.
    """
    if wants("json"):
        say_json(value)
    elif callable(people):
        with paged(), nullcontext() if is_fenced else fenced_for_agent():
            people()
    elif not wants("quiet"):
        say(people)


def tell_rows(
    value: Any,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    nothing: str = "",
    after: str = "",
    seen: Callable[[], None] | None = None,
) -> None:
    """Print a list: as JSON if asked; else as a table, or as it is best seen on a terminal, with what to say if it is
    empty or behind it.
    """

    def show() -> None:
        if seen and on_terminal():
            seen()
        else:
            table(columns, rows)
        if aside := after if rows else nothing:
            note(aside)

    tell(value, show)


@contextmanager
def fenced_for_agent() -> Iterator[None]:
    """What is printed meanwhile stands in a fence if an agent reads it: much of it nobody has approved."""
    if not agent_calls():
        yield
        return
    output = io.StringIO()
    with redirect_stdout(output):
        yield
    if text := output.getvalue().strip("\n"):
        click.echo(wrap_in_fence(MEMORY_NOTE, text))


class Page(io.StringIO):
    """Output for a terminal, held back until its length is known."""

    def isatty(self) -> bool:
        """What is held back will be looked at by a person."""
        return True


@contextmanager
def paged() -> Iterator[None]:
    """What is longer than the screen is shown by the person's pager; a pipe and a dumb terminal get it as it comes."""
    if not on_terminal() or not sys.stdin.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    page = Page()
    with redirect_stdout(page):
        yield
    text = page.getvalue()
    if text.count("\n") < shutil.get_terminal_size().lines:
        click.echo(text, nl=False)
    else:
        click.echo_via_pager(text)


def say(text: str) -> None:
    """Print text in which nothing is obeyed by the terminal."""
    click.echo(neutralise(text))


def say_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(as_json(value, indent=2 if on_terminal() else None))


def as_json(value: Any, *, indent: int | None = None, terse: bool = False) -> str:
    """A value as JSON in which nothing is obeyed or hidden on a terminal."""
    return escape_json(json.dumps(to_plain(value, terse=terse), ensure_ascii=False, indent=indent))


def _one_line(text: str) -> str:
    return neutralise(text).replace("\n", " ")


def note(text: str) -> None:
    """Print an aside; it goes to standard error, so that a pipe gets only the answer."""
    if not wants("quiet"):
        click.echo(click.style(wrapped(neutralise(text)), dim=True), err=not isinstance(sys.stdout, Page))


def warn(text: str) -> None:
    """Print what a person should not miss, on standard error."""
    click.echo(click.style(wrapped(neutralise(text)), fg="yellow"), err=True)


def warn_of(text: str, memory: str, remedy: str) -> None:
    """Print a warning that quotes a memory, on standard error; an agent gets the quotation in a fence."""
    told = f"{text}\n{block(memory, '  ')}\n  {remedy}"
    click.echo(wrap_in_fence(MEMORY_NOTE, told) if agent_calls() else click.style(told, fg="yellow"), err=True)


def indented(text: str) -> str:
    """A line of ours a little to the right, wrapped so that it stays there."""
    return wrapped(_one_line(text), "    ", "    ")


def block(text: str, indent: str = "    ") -> str:
    """Text that others wrote: a bar before each of its lines, so that none can be taken for a line of ours."""
    return wrapped(neutralise(text), indent + CONTINUATION_PREFIX, indent + CONTINUATION_PREFIX)


def wrapped(text: str, first: str = "", after: str = "") -> str:
    """Text broken between words where a person's terminal ends, with what stands before its first and later lines."""
    text = ODD_SPACES.sub(" ", text) if on_terminal() else text
    width = max(shutil.get_terminal_size().columns, 40) if on_terminal() else sys.maxsize
    lines = textwrap.TextWrapper(
        width, initial_indent=first, subsequent_indent=after,
        break_on_hyphens=False, break_long_words=False, replace_whitespace=False,
    )  # fmt: skip
    return "\n".join(lines.fill(line) or first for line in text.split("\n"))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on a terminal, tab-separated lines in a pipe."""
    safe = [[_one_line(cell).replace("\t", " ") for cell in row] for row in rows]
    if not on_terminal():
        for row in safe:
            click.echo("\t".join(row))
        return
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, header_style="bold", pad_edge=False)
    # A column with nothing in it takes room from those that have something to say.
    filled = [place for place in range(len(columns)) if any(row[place] for row in safe)]
    for place in filled:
        are_numbers = all(NUMBER.fullmatch(row[place]) for row in safe)
        drawn.add_column(columns[place], overflow="fold", justify="right" if are_numbers else "left")
    for row in safe:
        drawn.add_row(*(Text(row[place]) for place in filled))
    if safe:
        _console().print(drawn)


def origin(memory: Memory, *, elsewhere: bool = False) -> str:
    """Where a memory stands, in one line."""
    standing = "" if memory.status is Status.ACTIVE else memory.status.value
    parts = [
        memory.kind.value,
        memory.scope.value,
        memory.agent or memory.owner,
        format_date(memory.revised_at),
        standing,
    ]
    place = from_elsewhere(memory.repo) if elsewhere else ""
    return label_line(shorten_id(memory.id), *parts, ", ".join(memory.tags), place)


def described(memory: Memory, *, elsewhere: bool = False) -> None:
    """What a memory says, and what is known about it, a line each, empty things left out."""
    click.echo(block(memory.text, "") + "\n")
    rows = {
        "note": from_elsewhere(memory.repo) if elsewhere else "",
        "id": memory.id,
        "kind": memory.kind.value,
        "scope": memory.scope.value,
        "repository": memory.repo,
        "status": memory.status.value,
        "trust": f"{memory.trust} (came from {memory.channel})",
        "confidence": f"{memory.confidence:g}" if memory.confidence < 1 else "",
        "owner": memory.owner,
        "tags": ", ".join(memory.tags),
        "metadata": memory.metadata.summary,
        "subject": memory.subject,
        "about": ", ".join(memory.about),
        "recorded": format_minute(memory.recorded_at),
        "revised": format_minute(memory.revised_at) if memory.version > 1 else "",
        "true from": format_date(memory.valid_from),
        "true until": format_date(memory.valid_to),
        "expires": format_date(memory.expires_at),
        "verify by": format_date(memory.verify_by),
        "replaces": ", ".join(map(shorten_id, memory.supersedes)),
        "replaced by": shorten_id(memory.superseded_by or ""),
        "contradicts": ", ".join(map(shorten_id, memory.contradicts)),
        "sources": "; ".join(map(_source, memory.sources)),
    }
    for name, value in rows.items():
        if value:
            label(name, value)


def label(name: str, value: str) -> None:
    """A line with a name before it."""
    told = wrapped(_one_line(value), " " * 13, " " * 13)[13:]
    click.echo(click.style(f"{name:<13}", dim=True) + told)


def _source(source: Source) -> str:
    place = source.file + (f":{source.lines}" if source.lines else "")
    place += f" at {source.commit[:8]}" if source.commit else ""
    session = f"session {source.session_id}" if source.session_id else ""
    return " ".join(filter(None, [source.channel.value, source.actor, place, session]))


def heading(text: str) -> None:
    """A title over a part of the output."""
    click.echo("\n" + click.style(_one_line(text), bold=True))


def still_true(memory: str) -> str:
    """What to do about a memory that the code puts in doubt."""
    return f"Still true? hivemind verify {memory}. Not any more? hivemind revise {memory} or hivemind retract {memory}."


def life(steps: Sequence[HistoryStep]) -> None:
    """A memory's life, a paragraph for each change."""
    text = ""
    for step in steps:
        event = step.event
        click.echo(f"{format_minute(event.at)}  {label_field(event.actor)} ({event.channel})  {quote_text(step.what)}")
        if step.after.text != text:
            text = step.after.text
            click.echo(block(text))


def unified(before: str, after: str, old: str, new: str) -> None:
    """A difference as patches show it."""
    patch(difflib.unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm=""))


def patch(lines: Iterable[str], indent: str = "") -> None:
    """The lines of a patch in their colours."""
    for line in lines:
        click.echo(indent + click.style(neutralise(line), fg=COLOURS.get(line[:1])))


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal once work has taken a second, because drawing takes a while itself; silence elsewhere."""
    # A dumb terminal cannot take a bar back.
    if wants("quiet") or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, total: None
        return
    bars: list[Any] = []
    reached: dict[str, int] = {}

    def advance(done: int, total: int) -> None:
        reached.update(completed=done, total=total)
        for bar in bars:
            bar.update(0, **reached)

    def draw() -> None:
        from rich.progress import Progress

        bar = Progress(console=_console(stderr=True), transient=True)
        bar.add_task(title, completed=reached.get("completed", 0), total=reached.get("total"))
        bar.start()
        bars.append(bar)

    late = Timer(PATIENCE_SECONDS, draw)
    late.daemon = True
    late.start()
    try:
        yield advance
    finally:
        late.cancel()
        late.join()
        for bar in bars:
            bar.stop()


def _console(*, stderr: bool = False) -> Any:
    from rich.console import Console  # 90 ms that a pipe need not pay

    ctx = click.get_current_context(silent=True)
    return Console(stderr=stderr, color_system=None if ctx and ctx.color is False else "auto", highlight=False)


def answer(found: Recall, *, why: bool) -> None:
    """A recall for whoever asked: people get a list, a pipe gets the block an agent reads."""
    if not on_terminal():
        click.echo(found.text or "Nothing known.")
        return
    if not found.hits:
        note("Nothing known about that.")
    for place, hit in enumerate(found.hits, start=1):
        if hit.is_sure:
            _hit(place, hit, why=why)
            continue
        if place == len(found.answers) + 1:
            click.echo("Closest, less certain:" if found.answers else "No confident match. Closest:")
        _closest(place, hit, why=why)
    if found.files:
        heading("Files")
        table(["file", "why"], [[one.path, ", ".join(one.why)] for one in found.files])
    if found.sessions:
        heading("Touched together")
        for session in found.sessions:
            click.echo(indented(session.summary))


def _hit(place: int, hit: Hit, *, why: bool) -> None:
    click.echo(click.style(f"{place:>2}  ", bold=True) + block(hit.passage).lstrip().removeprefix(CONTINUATION_PREFIX))
    click.echo("    " + click.style(origin(hit.memory), dim=True))
    _remarks(hit, why=why)
    click.echo()


def _closest(place: int, hit: Hit, *, why: bool) -> None:
    """A hit that may not answer the question, in one line."""
    click.echo(f"{place:>2}  " + click.style(shorten_id(hit.memory.id), dim=True) + f"  {_one_line(hit.passage)}")
    _remarks(hit, why=why)


def _remarks(hit: Hit, *, why: bool) -> None:
    for label in hit.labels:
        click.echo(click.style(indented(label), fg="yellow"))
    if why:
        for signal in hit.signals:
            click.echo(click.style(indented(f"{signal.name} {signal.score:.2f}: {signal.why}"), fg="cyan"))
