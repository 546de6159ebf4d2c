"""``hivemind stats``."""

from collections.abc import Sequence

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import many, tell_rows
from hivemind.model.ids import short
from hivemind.model.reports import Spent

COUNTS = {
    **{name: name for name in ("briefs", "prompts", "recalls")},
    "told_before": "again", "not_looked_up": "spared", "unasked_tokens": "unasked", "asked_tokens": "asked",
}  # fmt: skip
"""What fits 80 columns; JSON has the rest."""


@click.command("stats")
@click.option("--tokens", is_flag=True, help="What memory cost each session instead.")
def command(tokens: bool) -> None:
    """How much is remembered, and what it takes.

    \b
    hivemind stats --tokens
    """
    with open_mind() as mind:
        if tokens:
            _spent(mind.tokens_spent())
            return
        stats = mind.stats()
    rows = [[scope, kind, status, f"{count:,}"] for scope, kind, status, count in stats.memories]
    total = sum(row[3] for row in stats.memories)
    summary = (
        f"{many(total, 'memory')} · {many(stats.sessions, 'session')} with {many(stats.observations, 'observation')}"
        f" · {many(stats.events, 'log entry')} · {stats.bytes / 1e6:.1f} MB"
    )
    tell_rows(stats, ["scope", "kind", "status", "memories"], rows, after=summary, nothing=summary)


def _spent(sessions: Sequence[Spent]) -> None:
    rows = [[s.actor, short(s.session_id), *(f"{getattr(s, count):,}" for count in COUNTS)] for s in sessions]
    columns = ["who", "session", *COUNTS.values()]
    total = sum(s.unasked_tokens + s.asked_tokens for s in sessions)
    again, spared = sum(s.told_before for s in sessions), sum(s.not_looked_up for s in sessions)
    after = (
        f"{many(total, 'token')} in {many(len(rows), 'session')} · {again:,} times something an earlier session had"
        f" found (again), {spared:,} of them told unasked and not looked up in memory again (spared)"
    )
    tell_rows(sessions, columns, rows, after=after, nothing="Nothing was shown yet.")
