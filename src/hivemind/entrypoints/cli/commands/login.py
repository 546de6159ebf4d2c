"""``hivemind login``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import progress, tell


@click.command("login")
@click.argument("url")
@click.option("--token", prompt=True, hide_input=True, envvar="HIVEMIND_TOKEN", help="What an admin gave you.")
@click.option("--insecure", is_flag=True, help="Speak to a hub beyond this machine without TLS.")
def command(url: str, token: str, insecure: bool) -> None:
    """Join a team: share with its hub what is of scope team, and nothing else.

    From then on it happens by itself when a session starts or ends, and by 'hivemind sync'.

    \b
    hivemind login https://hub.example --token hm_…
    """
    with open_mind() as mind, progress("Reading the team's memories") as advance:
        done = mind.login(url, token, insecure=insecure, progress=advance)
        member = mind.team_status().membership
    assert member is not None
    tell(
        done, f"You are {member.person}, {member.role} of the team. {done.pulled:,} entries came, {done.pushed:,} went."
    )
