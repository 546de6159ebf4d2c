"""``hivemind sessions``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, say_json, table
from hivemind.model.moments import minute
from hivemind.model.text import first_line


@click.command("sessions")
@click.option("--agent", default="", help="Only of this agent.")
@click.option("--limit", type=int, default=20, show_default=True, help="Lines to show.")
@click.option("--everywhere", is_flag=True, help="Also in other repositories.")
@as_json_option
def command(agent: str, limit: int, everywhere: bool, as_json: bool) -> None:
    """What agents did here, the last session first."""
    with open_mind() as mind:
        found = mind.sessions(limit=limit, agent=agent, everywhere=everywhere)
    if as_json:
        say_json(found)
        return
    rows = [
        [one.id, one.agent, minute(one.last_seen_at), f"{one.observations:,}", first_line(one.task, 70)]
        for one in found
    ]
    table(["session", "agent", "last seen", "steps", "task"], rows)
    if not rows:
        note("No session was seen here yet. 'hivemind backfill' takes in the past.")
