"""``hivemind review``."""

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.manners import wants
from hivemind.entrypoints.cli.output import fields, heading, note, on_terminal, origin, say, tell_rows
from hivemind.model.ids import short
from hivemind.model.reports import Waiting
from hivemind.model.text import first_line

ALONE = "a approve · e edit · r reject · s skip · q quit"
AGAINST = "a approve · o approve over it · e edit · m merge · r reject · s skip · q quit"
"""With something it contradicts."""


@click.command("review")
@click.option("--list", "only_list", is_flag=True, help="Show what waits, and decide nothing.")
@click.option("--limit", type=int, default=50, show_default=True, help="At most so many.")
def command(only_list: bool, limit: int) -> None:
    """Walk through what waits for a person: disputes, what is overdue, proposals.

    For scripts: 'hivemind review --json', then 'hivemind approve', 'reject' or 'retract'.

    \b
    hivemind review
    hivemind review --list
    """
    with open_mind() as mind:
        queue = mind.review(limit=limit)
        if only_list or not queue or wants("json") or not on_terminal():
            rows = [[short(w.memory.id), w.why, first_line(w.memory.text, 90)] for w in queue]
            tell_rows(queue, ["id", "why", "text"], rows, nothing="Nothing waits for you.")
            return
        for place, waiting in enumerate(queue, start=1):
            if not _decide(mind, waiting, f"{place} of {len(queue)}"):
                break


def _decide(mind: Hivemind, waiting: Waiting, place: str) -> bool:
    """Show one and do what the person says; false when they have had enough."""
    _shown(mind, waiting, place)
    memory = waiting.memory
    choices = AGAINST if waiting.against else ALONE
    keys = click.Choice([choice[0] for choice in choices.split(" · ")])
    match click.prompt(choices, type=keys, show_choices=False, default="s"):
        case "a" if waiting.why.startswith(("to be", "in doubt")):
            mind.verify(memory.id)
        case "a":
            mind.approve(memory.id)
        case "o":
            mind.approve(memory.id, over=True)
        case "e" | "m" as choice:
            wording = click.edit(memory.text) or memory.text
            replaced = [memory.id, *(other.id for other in waiting.against if choice == "m")]
            mind.remember(
                wording.strip(), scope=memory.scope, kind=memory.kind, tags=memory.tags, subject=memory.subject,
                replaces=replaced,
            )  # fmt: skip
        case "r":
            mind.reject(memory.id, reason=click.prompt("Why", default="", show_default=False))
        case "q":
            return False
    return True


def _shown(mind: Hivemind, waiting: Waiting, place: str) -> None:
    heading(f"{place}: {waiting.why}")
    say(waiting.memory.text)
    fields(waiting.memory)
    for other in waiting.against:
        heading("against")
        say(other.text)
        note(origin(other))
