"""``hivemind sessions``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import tell_rows
from hivemind.model.moments import minute
from hivemind.model.text import first_line


@click.command("sessions")
@click.option("--agent", default="", help="Only of this agent.")
@click.option("--limit", type=int, default=20, show_default=True, help="Lines to show.")
@click.option("--everywhere", is_flag=True, help="Also in other repositories.")
def command(agent: str, limit: int, everywhere: bool) -> None:
    """What agents did here, the last session first.

    \b
    hivemind sessions --agent claude-code
    """
    with open_mind() as mind:
        found = mind.sessions(limit=limit, agent=agent, everywhere=everywhere)
    rows = [
        [one.id, one.agent, minute(one.last_seen_at), f"{one.observations:,}", first_line(one.task, 70)]
        for one in found
    ]
    nothing = "No session was seen here yet. 'hivemind backfill' takes in the past."
    tell_rows(found, ["session", "agent", "last seen", "steps", "task"], rows, nothing=nothing)
