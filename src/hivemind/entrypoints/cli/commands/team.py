"""A team's memory, from the side of a member."""

import click

from hivemind.entrypoints.cli.arguments import dry_run_option, memory_ids, open_mind
from hivemind.entrypoints.cli.framework import Family
from hivemind.entrypoints.cli.output import (
    block,
    heading,
    indented,
    label,
    note,
    progress,
    say,
    table,
    tell,
    warn,
)
from hivemind.formats.codec import to_plain
from hivemind.formats.timestamps import format_date, format_minute
from hivemind.model.ids import shorten_id
from hivemind.text.clean import plural

chapter = click.Group()


@chapter.command("login")
@click.argument("url")
@click.option("--token", prompt=True, hide_input=True, envvar="HIVEMIND_TOKEN", help="What an admin gave you.")
@click.option("--insecure", is_flag=True, help="Speak to a hub beyond this machine without TLS.")
def login(url: str, token: str, insecure: bool) -> None:
    """Join a team; only memories of scope team are shared with its hub.

    From then on it happens by itself when a session starts or ends, and by 'hivemind sync'.

    \b
    hivemind login https://hub.example --token hm_…
    """
    with open_mind() as mind, progress("Reading the team's memories") as advance:
        done = mind.team.login(url, token, insecure=insecure, progress=advance)
        member = mind.team.status().membership
    assert member is not None
    exchanged = f"{plural(done.pulled, 'entry')} came, {done.pushed:,} went"
    tell(done, f"You are {member.person}, {member.role} of the team. {exchanged}.")


@chapter.command("logout")
def logout() -> None:
    """Leave the team; its memories are removed from this machine, yours stay."""
    with open_mind() as mind:
        mind.team.logout()
    tell({"team": None}, "This store belongs to no team any more.")


@chapter.command("sync")
def sync() -> None:
    """Synchronise with the team's hub; also runs automatically when a session starts or ends."""
    with open_mind() as mind, progress("Exchanging with the hub") as advance:
        done = mind.team.sync(progress=advance)
    tell(
        done,
        f"{plural(done.pulled, 'entry')} came, {done.pushed:,} went, {plural(done.erased, 'memory')} erased here.",
    )
    for entry, why in done.refused:
        warn(f"the hub refused {entry[:8]}: {why}")


@chapter.command("publish")
@click.argument("memories", nargs=-1, required=True, metavar="ID…", shell_complete=memory_ids)
@dry_run_option
def publish(memories: tuple[str, ...], dry_run: bool) -> None:
    """Share copies of project memories with the team.

    \b
    hivemind publish 3f9a2c1e --dry-run
    hivemind publish 3f9a2c1e
    """
    with open_mind() as mind:
        planned = mind.team.publish(memories, dry_run=dry_run)

    def show() -> None:
        for one in planned:
            where = "would leave" if dry_run else f"is now the team's, as {shorten_id(one.copy)}"
            say(f"{shorten_id(one.memory.id)} {where}:")
            click.echo(block(one.text))
            if one.memory.metadata:
                say(indented(f"metadata: {one.memory.metadata.summary}"))
            for source in one.sources:
                say(indented(f"source: {source.channel} {source.actor} {source.file}".rstrip()))
            for what in one.withheld:
                note(f"    stays here: {what}")

    tell(planned, show)


@chapter.group("team", cls=Family, invoke_without_command=True)
@click.pass_context
def team(ctx: click.Context) -> None:
    """Show the team that this store shares with."""
    if ctx.invoked_subcommand is None:
        ctx.invoke(team_status)


@team.command("status")
def team_status() -> None:
    """Show devices, their last synchronisation, and pending erasures."""
    with open_mind() as mind:
        standing, hub = mind.team.status(), mind.team.hub
        devices = hub.request("GET", "/v1/devices") if hub else []

    def show() -> None:
        member = standing.membership
        if member is None or hub is None:
            say("This store belongs to no team. 'hivemind login URL --token …' joins one.")
            return
        label("hub", hub.url)
        label("you are", f"{member.person}, {member.role}")
        label("exchanged", format_minute(member.synchronised_at) if member.synchronised_at else "never")
        label("waiting", f"{standing.waiting:,} of your entries")
        label("lease ends", format_date(standing.lease_ends_at))
        heading("Devices")
        rows = [
            [
                one["person"],
                one["id"][:8],
                format_minute(one["last_seen_at"]),
                f"{one['behind']:,}",
                f"{one['erasures']:,}",
            ]
            for one in devices
        ]
        table(["person", "device", "last seen", "entries unread", "erasures not confirmed"], rows)

    said = to_plain(standing)
    if said["membership"]:
        del said["membership"]["key"]
    tell({**said, "hub": hub.url if hub else "", "devices": devices}, show)
