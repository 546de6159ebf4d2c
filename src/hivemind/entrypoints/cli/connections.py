"""What people see of a change to their agents' files before it is made."""

from collections.abc import Sequence

import click

from hivemind.app.connecting import Connection
from hivemind.entrypoints.cli.manners import wants
from hivemind.entrypoints.cli.output import heading, note, patch, say_json, warn


def show(planned: Sequence[Connection], *, nothing: str) -> None:
    """Every line that would change, and what to know about it."""
    if wants("json"):
        say_json([{"agent": one.agent, "diffs": one.diffs, "notes": one.plan.notes} for one in planned])
        return
    for one in planned:
        if not one.plan.changes:
            note(f"{one.title} {nothing}.")
        else:
            heading(one.title)
        for diff in one.diffs:
            patch(diff.splitlines())
        for remark in one.plan.notes:
            warn(remark)


def confirmed(planned: Sequence[Connection], question: str, *, yes: bool) -> bool:
    """Whether there is something to change and the person wants it."""
    if not any(one.plan.changes for one in planned):
        return False
    return yes or click.confirm(question, default=True, abort=True, err=True)
