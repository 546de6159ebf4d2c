"""``hivemind stats``."""

from collections.abc import Sequence

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, say, say_json, table
from hivemind.model.ids import short
from hivemind.model.reports import Spent


@click.command("stats")
@click.option("--tokens", is_flag=True, help="What memory cost each session instead.")
@as_json_option
def command(tokens: bool, as_json: bool) -> None:
    """How much is remembered, and what it takes."""
    with open_mind() as mind:
        if tokens:
            _spent(mind.tokens_spent(), as_json=as_json)
            return
        stats = mind.stats()
    if as_json:
        say_json(stats)
        return
    rows = [[scope, kind, status, f"{count:,}"] for scope, kind, status, count in stats.memories]
    table(["scope", "kind", "status", "memories"], rows)
    total = sum(row[3] for row in stats.memories)
    say(
        f"{total:,} memories · {stats.sessions:,} sessions with {stats.observations:,} observations"
        f" · {stats.events:,} log entries · {stats.bytes / 1e6:.1f} MB"
    )


def _spent(sessions: Sequence[Spent], *, as_json: bool) -> None:
    if as_json:
        say_json(sessions)
        return
    rows = [
        [s.actor, short(s.session_id), *(f"{count:,}" for count in (
            s.briefs, s.prompts, s.recalls, s.memories, s.told_before, s.unasked_tokens, s.asked_tokens))]
        for s in sessions
    ]  # fmt: skip
    columns = ["who", "session", "briefs", "prompts", "recalls", "memories", "told before", "unasked", "asked"]
    table(columns, rows)
    if rows:
        total = sum(s.unasked_tokens + s.asked_tokens for s in sessions)
        again = sum(s.told_before for s in sessions)
        say(f"{total:,} tokens in {len(rows):,} sessions · {again:,} times something an earlier session had found")
    else:
        note("Nothing was shown yet.")
