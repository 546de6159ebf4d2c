"""``hivemind diff``: what a branch taught, and which memories it makes stale or contradicts."""

import re
import sys
from collections.abc import Iterator, Sequence

import click

from hivemind.cli.arguments import open_mind
from hivemind.cli.framework import wants
from hivemind.cli.output import describe_choices, emit, indent, note, print_heading, progress, wrap
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Memory, Status
from hivemind.model.review import BranchDiff, StaleMemory
from hivemind.text.clean import cut_between_words, first_line, neutralise, plural
from hivemind.text.fence import quote_line

commands = click.Group()
LONGEST_TEXT = 300
"""Characters of a memory in Markdown, on one line."""
BACKTICKS = re.compile("`+")


@commands.command("diff")
@click.argument("branch", metavar="[BRANCH]", default="")
@click.option("--markdown", is_flag=True, help="Print Markdown for a pull request, with memories of the team alone.")
@click.option("--private", is_flag=True, help="With --markdown: include your own memories.")
def diff(branch: str, markdown: bool, private: bool) -> None:
    """Show what a branch taught and which memories it makes stale.

    Compares this branch with BRANCH, or with the default branch, since the two diverged. BRANCH may also be a range of
    git, such as main...feature. Only commits count, and memories stored since then about files that the branch changed.

    The exit code is 1 if the branch makes a memory stale or contradicts one.

    \b
    hivemind diff
    hivemind diff main...HEAD --markdown > memory.md
    """
    if private and not markdown:
        raise click.UsageError("--private belongs to --markdown; without it, your own memories are shown anyway")
    if markdown and wants("json"):
        raise click.UsageError("give --markdown or --json, not both")
    with open_mind() as mind, progress("Reading the code"):
        report = mind.review.diff(branch)
        public = report if private else mind.review.select_public(report)
    if markdown:
        click.echo("\n".join(_render_markdown(public)))
    else:
        emit(report, lambda: _print_diff(report))
    sys.exit(1 if report.needs_attention else 0)


Entries = list[tuple[Memory, list[tuple[str, str]]]]
"""Memories, each with labels and texts that stand below it."""


def _list_sections(report: BranchDiff) -> Iterator[tuple[str, str, Entries]]:
    """Yield titles, what Markdown says of the memories in a word, and the memories; what matters most comes first."""

    def list_changes(items: Sequence[StaleMemory]) -> Entries:
        return [(item.memory, [*item.changes]) for item in items]

    contradictions: Entries = [
        (c.memory, [(f"{'replaced' if c.is_replaced else 'contradicted'} by {shorten_id(c.by.id)}", c.by.text)])
        for c in report.contradicted
    ]
    sections: tuple[tuple[str, str, Entries], ...] = (
        ("To verify", "the code of {} changed", list_changes(report.stale)),
        ("Contradicted", "{}", contradictions),
        ("Taught", "{}", [(memory, []) for memory in report.taught]),
        ("Moved, and followed", "the code of {}", list_changes(report.moved)),
    )
    return (section for section in sections if section[2])


def _print_diff(report: BranchDiff) -> None:
    if not report.memory_ids:
        changes = plural(report.files, "changed file")
        note(f"{report.tip_name} taught nothing and affects no memory since it left {report.base_name} ({changes}).")
    for title, _, entries in _list_sections(report):
        print_heading(title)
        for memory, details in entries:
            _print_memory(memory)
            for label, text in details:
                click.echo(indent(label))
                click.echo(indent(first_line(text, LONGEST_TEXT), 8))
            if memory.id in report.guarded:
                click.echo(indent("its guard steps back until you verify it"))
    if report.stale:
        note(describe_choices("ID"))


def _print_memory(memory: Memory) -> None:
    label = f"{shorten_id(memory.id)}  "
    status = "" if memory.status is Status.ACTIVE else f", {memory.status}"
    click.echo(wrap(f"{quote_line(first_line(memory.text))} ({memory.scope}{status})", label, " " * len(label)))


def _render_markdown(report: BranchDiff) -> Iterator[str]:
    """Yield the lines of a diff as Markdown; what others wrote stands in code, so that it cannot mention or link."""
    yield f"### Memory diff since {_quote_code(report.base[:8])}"
    if not report.memory_ids:
        kind = "shared memory" if report.hidden else "memory"
        yield f"\nNo {kind} was taught or is affected ({plural(report.files, 'changed file')})."
    for title, meaning, entries in _list_sections(report):
        yield f"\n**{title}:** {meaning.format(plural(len(entries), 'memory'))}.\n"
        for memory, details in entries:
            status = f" ({memory.status})" if memory.status is not Status.ACTIVE else ""
            places = f" · {_quote_code(', '.join(memory.about))}" if memory.about and not details else ""
            guard = " · its guard steps back until somebody verifies it" if memory.id in report.guarded else ""
            yield f"- {_quote_code(memory.text)}{status}{places}{guard}"
            for label, text in details:
                yield f"  - {_quote_code(label)}: {_quote_code(text)}"
    if report.hidden:
        yield f"\n{plural(report.hidden, 'private memory')} not shown."


def _quote_code(text: str) -> str:
    """Text on one line as code, inside of which Markdown, HTML, mentions and references mean nothing."""
    line = cut_between_words(" ".join(neutralise(text).split()), LONGEST_TEXT)
    longest_run = max((len(run) for run in BACKTICKS.findall(line)), default=0)
    mark, space = "`" * (longest_run + 1), " " if longest_run else ""
    return f"{mark}{space}{line}{space}{mark}"
