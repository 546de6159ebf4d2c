"""``hivemind stats``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, say, say_json, table


@click.command("stats")
@as_json_option
def command(as_json: bool) -> None:
    """How much is remembered, and what it takes."""
    with open_mind() as mind:
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
