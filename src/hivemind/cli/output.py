"""Printing: aligned text on a terminal, plain text in a pipe, JSON with ``--json``."""

import difflib
import io
import json
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from functools import partial
from itertools import zip_longest
from threading import Event, Thread
from typing import Any
from unicodedata import east_asian_width

import click

from hivemind.agents.callers import is_agent_calling
from hivemind.cli.framework import wants
from hivemind.model.codec import to_plain
from hivemind.model.digest import DigestLine
from hivemind.model.fold import HistoryStep
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Memory, Status
from hivemind.model.recall import CLOSEST, CODE_BEHIND, NO_MATCH_CLOSEST, Hit, Recall, SessionHit
from hivemind.model.scope import label_other_repository
from hivemind.model.timestamps import format_date, format_minute
from hivemind.text.clean import escape_json, neutralise
from hivemind.text.fence import (
    CONTINUATION_PREFIX,
    MEMORY_NOTE,
    format_field,
    format_label,
    quote_line,
    quote_text,
    wrap_in_fence,
)

COLOURS = {"+": "green", "-": "red", "@": "cyan"}
NUMBER = re.compile(r"[\d.,]*")
NOTHING_FOUND = "Nothing found."
PROGRESS_DELAY_SECONDS = 1.0
"""Work that takes longer shows how far it is."""
REDRAW_SECONDS = 0.1
MAX_BAR_WIDTH = 40
NARROWEST_TEXT = 28
"""Characters that a column of sentences needs; in less, a line holds two or three words."""
ODD_SPACES = re.compile("[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""Spaces where textwrap does not break a line but a terminal may, and then without our indent."""
CELL_BREAKS = re.compile(r"(\s+|(?<=[\w.~-]/)(?=[\w.]))")
"""Where a line of a cell may end: at a space, or after a folder of a path."""


def on_terminal() -> bool:
    """Whether the output goes to a terminal."""
    return sys.stdout.isatty()


def emit(value: Any, report: str | Callable[[], None], *, is_fenced: bool = False) -> None:
    """Print a result: as JSON with ``--json``; else a sentence, or whatever the function prints, through the pager.

    An agent gets what the function prints inside a fence, unless it ``is_fenced`` already.
    """
    if wants("json"):
        print_json(value)
    elif callable(report):
        with page_output(), nullcontext() if is_fenced else fence_for_agent():
            report()
    elif not wants("quiet"):
        print_text(report)


def emit_rows(
    value: Any,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    if_empty: str = "",
    after: str = "",
    on_screen: Callable[[], None] | None = None,
) -> None:
    """Print a list: as JSON with ``--json``; else as a table, or on a terminal by ``on_screen``, and a note."""

    def show() -> None:
        if on_screen and on_terminal():
            on_screen()
        else:
            print_table(columns, rows)
        if remark := after if rows else if_empty:
            note(remark)

    emit(value, show)


@contextmanager
def fence_for_agent() -> Iterator[None]:
    """Fence what is printed inside the block if an agent reads it, because nobody has approved much of it."""
    if not is_agent_calling():
        yield
        return
    output = io.StringIO()
    with redirect_stdout(output):
        yield
    if text := output.getvalue().strip("\n"):
        click.echo(wrap_in_fence(MEMORY_NOTE, text))


class Page(io.StringIO):
    """Output for a terminal, collected until its length is known."""

    def isatty(self) -> bool:
        """True, so that what is collected is formatted for a terminal."""
        return True


@contextmanager
def page_output() -> Iterator[None]:
    """Show what is longer than the screen in a pager; a pipe and a dumb terminal get it as it comes."""
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


def print_text(text: str) -> None:
    """Print text without control characters that a terminal would obey."""
    click.echo(neutralise(text))


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    click.echo(format_json(value, indent=2 if on_terminal() else None))


def format_json(value: Any, *, indent: int | None = None, terse: bool = False) -> str:
    """A value as JSON, with control and invisible characters escaped."""
    return escape_json(json.dumps(to_plain(value, terse=terse), ensure_ascii=False, indent=indent))


def note(text: str) -> None:
    """Print a remark on standard error, so that a pipe gets only the result."""
    if not wants("quiet"):
        margin = " " * (len(text) - len(text.lstrip(" ")))
        text = wrap(neutralise(text), after=margin)
        click.echo(click.style(text, dim=True), err=not isinstance(sys.stdout, Page))


def warn(text: str) -> None:
    """Print a warning on standard error, also with ``--quiet``."""
    click.echo(click.style(wrap(neutralise(text)), fg="yellow"), err=True)


def warn_about_memory(text: str, memory: str, remedy: str) -> None:
    """Print a warning that quotes a memory, on standard error; an agent gets the quotation in a fence."""
    warning = f"{text}\n{quote(memory, '  ')}\n  {remedy}"
    click.echo(
        wrap_in_fence(MEMORY_NOTE, warning) if is_agent_calling() else click.style(warning, fg="yellow"), err=True
    )


def indent(text: str, spaces: int = 4) -> str:
    """A line indented by some spaces, also where it is wrapped."""
    return wrap(quote_line(text), " " * spaces, " " * spaces)


def quote(text: str, indent: str = "    ") -> str:
    """Text that others wrote, a bar before each line, so that no line can pass for one of ours."""
    return wrap(neutralise(text), indent + CONTINUATION_PREFIX, indent + CONTINUATION_PREFIX)


def wrap(text: str, first: str = "", after: str = "") -> str:
    """Text wrapped at the width of the terminal, with prefixes for its first and later lines; unwrapped in a pipe."""
    text = ODD_SPACES.sub(" ", text) if on_terminal() else text
    width = max(shutil.get_terminal_size().columns, 40) if on_terminal() else sys.maxsize
    lines = textwrap.TextWrapper(
        width, initial_indent=first, subsequent_indent=after,
        break_on_hyphens=False, break_long_words=False, replace_whitespace=False,
    )  # fmt: skip
    return "\n".join(lines.fill(line) or first for line in text.split("\n"))


def print_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on a terminal, tab-separated lines in a pipe."""
    safe = [[quote_line(cell) for cell in row] for row in rows]
    if not on_terminal():
        for row in safe:
            click.echo("\t".join(row))
        return
    # An empty column would only take width from the others.
    columns = [column for column in zip(titles, *safe, strict=True) if any(column[1:])]
    wide = [column for column in columns if _measure_width(column) > NARROWEST_TEXT]
    short = [column for column in columns if column not in wide]
    screen_width = shutil.get_terminal_size().columns
    room = screen_width - sum(_measure_width(column) + 2 for column in short)
    if sum(_measure_longest_word(column) + 2 for column in short) - 2 > screen_width:
        _print_records(short, wide)
        return
    # On a narrow terminal, the long cells of a row stand below the short ones, a line each.
    is_stacked = bool(short and wide) and room < (NARROWEST_TEXT + 2) * len(wide)
    beside, below = (short, wide) if is_stacked else (columns, [])
    for place, lines in enumerate(_lay_out_rows(beside, screen_width)):
        for line in lines:
            click.echo(line if place else click.style(line, bold=True))
        for column in below if place else ():
            if column[place]:
                click.echo(quote(column[place]))


def _print_records(short: Sequence[Sequence[str]], wide: Sequence[Sequence[str]]) -> None:
    """Print a row as a paragraph where not even the short columns fit, so that no id is broken."""
    for place in range(1, len(short[0])):
        click.echo(wrap("  ".join(filter(None, (column[place] for column in short))), "", "  "))
        for column in wide:
            if column[place]:
                click.echo(quote(column[place]))


def _lay_out_rows(columns: Sequence[Sequence[str]], screen_width: int) -> Iterator[list[str]]:
    """Yield the lines of each row, titles first; where a row is too long, its widest columns are wrapped."""
    widths, words = [_measure_width(column) for column in columns], [_measure_longest_word(c) for c in columns]
    while sum(width + 2 for width in widths) - 2 > screen_width and max(widths) > 1:
        # Words are broken only where no column has room between them any more.
        loose = [index for index, width in enumerate(widths) if width > words[index]] or range(len(widths))
        widths[max(loose, key=widths.__getitem__)] -= 1
    are_numeric = [all(map(NUMBER.fullmatch, column[1:])) for column in columns]
    for row in zip(*columns, strict=True):
        cells = [_break_cell(cell, width) for cell, width in zip(row, widths, strict=True)]
        yield [
            "  ".join(map(_align, parts, widths, are_numeric)).rstrip() for parts in zip_longest(*cells, fillvalue="")
        ]


def _measure_width(cells: Iterable[str]) -> int:
    """The places that the widest cell takes on a terminal; Chinese characters and the like take two."""
    return max(len(cell) + sum(east_asian_width(c) in "FW" for c in cell if c > "\u1000") for cell in cells)


def _measure_longest_word(cells: Iterable[str]) -> int:
    """The places that a column needs so that no word is broken; of a very long word, only those of a sentence."""
    return min(max((_measure_width([word]) for cell in cells for word in cell.split()), default=0), NARROWEST_TEXT)


def _break_cell(cell: str, width: int) -> list[str]:
    # Half the width is enough for any text, because no character takes more than two places.
    width = width if _measure_width([cell]) == len(cell) else max(width // 2, 1)
    wrapper = textwrap.TextWrapper(width, break_on_hyphens=False)
    wrapper.wordsep_simple_re = CELL_BREAKS
    return wrapper.wrap(ODD_SPACES.sub(" ", cell)) or [""]


def _align(cell: str, width: int, is_numeric: bool) -> str:
    spaces = " " * (width - _measure_width([cell]))
    return spaces + cell if is_numeric else cell + spaces


def summarise(memory: Memory, place: str = "") -> str:
    """A memory's id, kind, scope, author, date and status in one line, and the label of its place."""
    status = "" if memory.status is Status.ACTIVE else memory.status.value
    author = "you said" if memory.is_said else memory.author
    parts = [memory.kind.value, memory.scope.value, author, format_date(memory.stated_at), status]
    return format_label(shorten_id(memory.id), *parts, ", ".join(memory.tags), place)


def print_memory(memory: Memory, place: str = "") -> None:
    """Print a memory's text, the label of its place and its fields, a line each, without the empty ones."""
    click.echo(quote(memory.text, "") + "\n")
    origin = f"you said it to {memory.agent}" if memory.is_said else f"came from {memory.author_channel}"
    rows = {
        "note": place,
        "id": memory.id,
        "kind": memory.kind.value,
        "scope": memory.scope.value,
        "repository": memory.repo,
        "status": memory.status.value,
        "trust": f"{memory.trust} ({origin})",
        "confidence": f"{memory.confidence:g}" if memory.confidence < 1 else "",
        "owner": memory.owner,
        "tags": ", ".join(memory.tags),
        "metadata": memory.metadata.summary,
        "subject": memory.subject,
        "about": ", ".join(memory.about),
        "recorded": format_minute(memory.recorded_at),
        "revised": format_minute(memory.revised_at) if memory.version > 1 else "",
        "edited by": f"{memory.edited_by} ({memory.edited_through})" if memory.edited_by else "",
        "valid from": format_date(memory.valid_from),
        "valid until": format_date(memory.valid_to),
        "expires": format_date(memory.expires_at),
        "verify by": format_date(memory.verify_by),
        "replaces": ", ".join(map(shorten_id, memory.supersedes)),
        "replaced by": shorten_id(memory.superseded_by or ""),
        "contradicts": ", ".join(map(shorten_id, memory.contradicts)),
        "sources": "; ".join(source.summary for source in memory.sources),
    }
    for name, value in rows.items():
        if value:
            print_field(name, value)


def print_field(name: str, value: str) -> None:
    """Print a line with a name before it."""
    text = wrap(quote_line(value), " " * 13, " " * 13)[13:]
    click.echo(click.style(f"{name:<13}", dim=True) + text)


def print_heading(text: str) -> None:
    """Print a title over a part of the output."""
    click.echo("\n" + click.style(quote_line(text), bold=True))


def describe_choices(memory: str) -> str:
    """What to do about a memory whose code changed."""
    return (
        f'Still correct? hivemind verify {memory}. Otherwise: hivemind edit {memory} "…" or hivemind forget {memory}.'
    )


def print_history(steps: Sequence[HistoryStep]) -> None:
    """Print the changes of a memory, oldest first, each with the text where it changed."""
    text = ""
    for step in steps:
        event = step.event
        heading = f"{format_minute(event.at)}  {format_field(event.actor)} ({event.channel})  {quote_text(step.what)}"
        click.echo(wrap(heading, "", "    "))
        if step.after.text != text:
            text = step.after.text
            click.echo(quote(text))


def print_diff(before: str, after: str, old: str, new: str) -> None:
    """Print the difference of two texts as a patch."""
    print_patch(difflib.unified_diff(before.splitlines(), after.splitlines(), old, new, lineterm=""))


def print_patch(lines: Iterable[str], indent: str = "") -> None:
    """Print the lines of a patch in colours."""
    for line in lines:
        click.echo(indent + click.style(neutralise(line), fg=COLOURS.get(line[:1])))


@contextmanager
def progress(title: str) -> Iterator[Callable[[int, int], None]]:
    """Show on a terminal how far the work is, once it has taken a second; print nothing meanwhile."""
    # A dumb terminal cannot redraw a line.
    if wants("quiet") or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda count, total: None
        return
    state, is_done, start = (0, 0), Event(), time.monotonic()
    # A thread does not know the command, which may have been told to use no colours.
    ctx = click.get_current_context(silent=True)
    write = partial(click.echo, err=True, nl=False, color=ctx.color if ctx else None)

    def advance(count: int, total: int) -> None:
        nonlocal state
        state = count, total

    def draw() -> None:
        if is_done.wait(PROGRESS_DELAY_SECONDS):
            return
        while not is_done.wait(REDRAW_SECONDS):
            write(f"\r{_format_progress(title, *state, time.monotonic() - start)}")
        write(f"\r{' ' * (shutil.get_terminal_size().columns - 1)}\r")

    thread = Thread(target=draw, daemon=True)
    thread.start()
    try:
        yield advance
    finally:
        is_done.set()
        thread.join()


def _format_progress(title: str, count: int, total: int, seconds: float) -> str:
    """A bar with the share and the time that is left; without a total, the time that has passed."""
    if not total:
        return f"{title} … {seconds:.0f} s "
    share = min(count / total, 1)
    width = min(MAX_BAR_WIDTH, max(0, shutil.get_terminal_size().columns - len(title) - len(" 100 %  99:59 left ")))
    # A terminal with another encoding would show the number of the character.
    sign = "━" if "utf" in sys.stderr.encoding.lower() else "#"
    bar = click.style(f"{sign * round(share * width):<{width}}", fg="green")
    minutes, rest = divmod(round(seconds / share - seconds), 60) if share else (0, 0)
    return f"{title} {bar} {share:>4.0%}  {minutes}:{rest:02} left "


def print_recall(recall: Recall, *, why: bool) -> None:
    """Print the result of a search: a list on a terminal or with reasons, else the block that agents read."""
    if not on_terminal() and not why:
        # The text has that note itself, but is empty if nothing was found.
        hint = recall.hint or NOTHING_FOUND
        click.echo(recall.text or (f"{hint} {CODE_BEHIND}" if recall.is_code_behind else hint))
        return
    with fence_for_agent():
        _print_list(recall, why=why)


def _print_list(recall: Recall, *, why: bool) -> None:
    if not (recall.hits or recall.files or recall.sessions or recall.session_hits or recall.commits):
        note(recall.hint or NOTHING_FOUND)
    for place, hit in enumerate(recall.hits, start=1):
        if place > 1 and (hit.is_sure or place == len(recall.answers) + 1):
            click.echo()
        if hit.is_sure:
            _print_hit(place, hit, why=why)
            continue
        if place == len(recall.answers) + 1:
            click.echo(CLOSEST if recall.answers else NO_MATCH_CLOSEST)
        _print_closest(place, hit, why=why)
    if recall.files:
        print_heading("Files")
        print_table(["file", "why"], [[file.path, ", ".join(file.why)] for file in recall.files])
    if recall.sessions:
        print_heading("Touched together")
        for session in recall.sessions:
            click.echo(indent(session.summary))
    if recall.session_hits:
        print_heading("From sessions (not reviewed)")
        _print_session_hits(recall.session_hits)
    if recall.commits:
        print_heading("From commits (not reviewed)")
        for commit in recall.commits:
            click.echo(quote(commit.text))
            label = format_label(f"commit {commit.commit_id[:7]}", commit.author, format_date(commit.at))
            click.echo("    " + click.style(label, dim=True))
    if recall.is_code_behind:
        note(CODE_BEHIND)


def _print_session_hits(hits: Sequence[SessionHit]) -> None:
    """Print passages of sessions, with a line where those that are to the point end."""
    sure_count = sum(hit.is_sure for hit in hits)
    for place, hit in enumerate(hits):
        if place:
            click.echo()
        if place == sure_count:
            click.echo(CLOSEST if sure_count else NO_MATCH_CLOSEST)
        _print_session_hit(hit)


def _print_session_hit(hit: SessionHit) -> None:
    for line in hit.conclusions:
        print_conclusion(line, *hit.all_labels)
    if hit.text:
        click.echo(quote(hit.text))
        click.echo(
            "    " + click.style(format_label(hit.agent, hit.what, format_date(hit.at), *hit.all_labels), dim=True)
        )
    # Only with the option does a session of another repository open.
    option = " --everywhere" if label_other_repository(hit.repo) in hit.labels else ""
    click.echo("    " + click.style(f"hivemind session show {format_field(hit.session_id)}{option}", dim=True))


def print_conclusion(line: DigestLine, *labels: str) -> None:
    """Print a line of a digest: what it rules on, what it says, and who is behind it."""
    if line.about:
        click.echo(click.style(quote(line.about), dim=True))
    click.echo(quote(line.text))
    label = format_label(shorten_id(line.event), line.evidence.label, format_date(line.at), *labels)
    click.echo("    " + click.style(label, dim=True))


def _print_hit(place: int, hit: Hit, *, why: bool) -> None:
    click.echo(click.style(f"{place:>2}  ", bold=True) + quote(hit.passage).lstrip().removeprefix(CONTINUATION_PREFIX))
    click.echo("    " + click.style(summarise(hit.memory), dim=True))
    _print_remarks(hit, why=why)


def _print_closest(place: int, hit: Hit, *, why: bool) -> None:
    """Print a hit that may not answer the question, with its id before it."""
    short_id = shorten_id(hit.memory.id)
    margin = " " * (len(short_id) + 6)
    text = wrap(quote_line(hit.passage), margin, margin)[len(margin) :]
    click.echo(f"{place:>2}  " + click.style(short_id, dim=True) + f"  {text}")
    _print_remarks(hit, why=why)


def _print_remarks(hit: Hit, *, why: bool) -> None:
    for label in hit.labels:
        click.echo(click.style(indent(label), fg="yellow"))
    if why:
        if hit.confidence is not None:
            click.echo(click.style(indent(f"confidence {hit.confidence:.2f}: how sure it is an answer"), fg="cyan"))
        for signal in hit.signals:
            click.echo(click.style(indent(f"{signal.name} {signal.score:.2f}: {signal.why}"), fg="cyan"))
