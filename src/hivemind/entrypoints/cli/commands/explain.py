"""``hivemind explain``."""

from collections.abc import Sequence

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.output import fields, heading, life, note, say, still_true, table, tell, unified, wrapped
from hivemind.model.code import Change
from hivemind.model.ids import short
from hivemind.model.moments import minute
from hivemind.model.plain import plain
from hivemind.model.reports import Behind, Explanation
from hivemind.model.text import neutral


@click.command("explain")
@memory_argument
def command(memory: str) -> None:
    """Why a memory is believed: its sources, its versions, whether the code it is about changed, and whom it reached.

    \b
    hivemind explain 3f9a2c1e
    """
    with open_mind() as mind:
        known = mind.explain(memory)
        code = mind.behind(known.memory)
    tell({**plain(known), "code": code}, lambda: _told(known, code))


def _told(known: Explanation, code: Sequence[Behind]) -> None:
    say(known.memory.text + "\n")
    fields(known.memory)
    if code:
        heading("Code")
    for one in code:
        _became(one)
    if any(one.staleness.must_verify for one in code):
        note(still_true(short(known.memory.id)))
    heading("History")
    life(known.history)
    heading("Shown to")
    rows = [[minute(r.at), r.actor, r.query or "unasked", str(r.rank), str(r.tokens)] for r in known.receipts]
    table(["when", "who", "question", "place", "tokens"], rows)
    if not rows:
        note("Nobody yet.")


def _became(one: Behind) -> None:
    doubt = ". Verify before acting." if one.staleness.must_verify else ""
    label = "" if one.staleness.change is Change.GONE else f"{one.staleness.anchor.label}: "
    told = wrapped(neutral(f"{label}{one.staleness.text}{doubt}"))
    click.echo(click.style(told, fg="yellow") if doubt else told)
    if one.then != one.now:
        unified(one.then, one.now, f"when it was said ({one.staleness.anchor.commit[:8]})", "now")
