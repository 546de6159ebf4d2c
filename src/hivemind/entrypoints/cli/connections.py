"""What people see of a change to their agents' files before it is made."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from hivemind.app.connecting import Connection
from hivemind.entrypoints.cli.manners import wants
from hivemind.entrypoints.cli.output import heading, note, patch, say_json, table, warn

WHAT = {
    "server": "MCP server: ask and remember",
    "hooks": "hooks: capture and brief",
    "instructions": "rule: when to ask",
    "trust": "your trust in our hooks",
}


def show(planned: Sequence[Connection], *, nothing: str, exactly: bool) -> None:
    """Which files would change and by what, or exactly how; and what to know about it."""
    if wants("json"):
        say_json([{"agent": one.agent, "diffs": one.diffs, "notes": one.plan.notes} for one in planned])
        return
    if exactly:
        details(planned)
    else:
        table(["agent", "file", "lines", "what"], [row for one in planned for row in _rows(one)])
    for one in planned:
        if not one.plan.changes:
            note(f"{one.title} {nothing}.")
        for remark in one.plan.notes:
            warn(remark)


def details(planned: Sequence[Connection]) -> None:
    """Every line that would change."""
    for one in planned:
        if one.diffs:
            heading(one.title)
        for diff in one.diffs:
            patch(diff.splitlines())


def confirmed(planned: Sequence[Connection], question: str, *, yes: bool) -> bool:
    """Whether there is something to change and the person wants it; they may look at every line first."""
    if not any(one.plan.changes for one in planned):
        return False
    if yes:
        return True
    while (said := click.prompt(f"{question} (y yes, n no, d details)", default="y", err=True)[:1].lower()) == "d":
        details(planned)
    if said != "y":
        raise click.Abort
    return True


def _rows(one: Connection) -> Iterator[list[str]]:
    for change, diff in zip(one.plan.changes, one.diffs, strict=True):
        lines = diff.splitlines()[2:]
        counts = [(sign, sum(line.startswith(sign) for line in lines)) for sign in "+-"]
        size = " ".join(f"{sign}{count}" for sign, count in counts if count)
        yield [one.title, _place(change.path), size, "; ".join(WHAT[what] for what in change.what)]


def _place(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
