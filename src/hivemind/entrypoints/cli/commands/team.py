"""``hivemind team``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.manners import Family
from hivemind.entrypoints.cli.output import heading, label, say, table, tell
from hivemind.model.moments import day, minute
from hivemind.model.plain import plain


@click.group("team", cls=Family, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """The team this store shares with: how it stands.

    \b
    hivemind team
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(status)


@command.command("status")
def status() -> None:
    """Devices, when they last exchanged, what is pending, and whose erasures are not confirmed.

    \b
    hivemind team status
    """
    with open_mind() as mind:
        standing, hub = mind.team_status(), mind.hub
        devices = hub.ask("GET", "/v1/devices") if hub else []

    def show() -> None:
        member = standing.membership
        if member is None or hub is None:
            say("This store belongs to no team. 'hivemind login URL --token …' joins one.")
            return
        label("hub", hub.url)
        label("you are", f"{member.person}, {member.role}")
        label("exchanged", minute(member.synchronised_at) if member.synchronised_at else "never")
        label("waiting", f"{standing.waiting:,} of your entries")
        label("lease ends", day(standing.lease_ends_at))
        heading("Devices")
        rows = [
            [one["person"], one["id"][:8], minute(one["last_seen_at"]), f"{one['behind']:,}", f"{one['erasures']:,}"]
            for one in devices
        ]
        table(["person", "device", "last seen", "entries unread", "erasures not confirmed"], rows)

    said = plain(standing)
    if said["membership"]:
        del said["membership"]["key"]
    tell({**said, "hub": hub.url if hub else "", "devices": devices}, show)
