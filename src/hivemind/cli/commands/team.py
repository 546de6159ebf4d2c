"""``hivemind team``: a team's memory, from the side of a member."""

from collections.abc import Mapping
from typing import Any

import click

from hivemind.cli import output
from hivemind.cli.arguments import dry_run_option, one_or_more_memories_argument, open_mind
from hivemind.cli.framework import CommandGroup, wants
from hivemind.errors import InvalidInput, Refused, Unavailable
from hivemind.model.codec import to_plain
from hivemind.model.ids import shorten_id
from hivemind.model.team import Revocation
from hivemind.model.timestamps import format_date, format_minute
from hivemind.text.clean import neutralise, plural

REVOCATION_REPORTS = {
    Revocation.DONE: " The identity provider has ended this login.",
    Revocation.UNSUPPORTED: " The identity provider cannot end a single login; sign out there to end it.",
    Revocation.FAILED: " The identity provider did not end this login; sign out there to end it.",
}
NO_TEAM = "this store belongs to no team; join one: hivemind team login URL"

commands = click.Group()


@commands.group("team", cls=CommandGroup, default="status")
def team() -> None:
    """Join, leave or share with a team. Without a command, show its status.

    \b
    hivemind team
    hivemind team login https://hub.example
    """


@team.command("login")
@click.argument("url")
@click.option("--token", envvar="HIVEMIND_TOKEN", help="The token an admin gave you; asked if people cannot sign in.")
@click.option("--team", "team_name", default="", help="Which team, if you are in several.")
@click.option("--device-code", is_flag=True, help="Sign in with a browser on another machine.")
@click.option("--insecure", is_flag=True, help="Allow a hub on another machine without TLS.")
def login(url: str, token: str | None, team_name: str, device_code: bool, insecure: bool) -> None:
    """Join a team; only memories of scope team are shared with its hub.

    If the hub has an identity provider, you sign in with your browser; otherwise with a token. From then on memories
    are exchanged when a session starts or ends, and by 'hivemind sync'.

    \b
    hivemind team login https://hub.example
    hivemind team login https://hub.example --device-code
    hivemind team login https://hub.example --token hm_…
    """
    with open_mind() as mind:
        provider = None if token else mind.team.find_provider(url, insecure=insecure)
        if provider is None:
            token = token or click.prompt("Token", hide_input=True, err=True)
            with output.progress("Reading the team's memories") as advance:
                result = mind.team.login(url, token, insecure=insecure, progress=advance)
        else:
            result = mind.team.sign_in(
                url, provider, with_code=device_code, team=team_name, choose_team=_choose_team, announce=_announce,
                insecure=insecure,
            )  # fmt: skip
        member = mind.team.status().membership
    assert member is not None
    counts = f"{plural(result.pulled, 'entry')} received, {result.pushed:,} sent"
    output.emit(result, f"Logged in as {member.person}, role {member.role}. {counts}.")


def _announce(text: str) -> None:
    # Not wrapped, because people copy addresses out of it; with --quiet, too, because nothing goes on without them.
    click.echo(neutralise(text), err=True)


def _choose_team(teams: Mapping[str, str]) -> str:
    if not output.on_terminal():
        raise InvalidInput(f"you are in several teams; choose one with --team: {', '.join(teams)}")
    for name, role in teams.items():
        output.note(f"{name} ({role})")
    return str(click.prompt("Which team", type=click.Choice(list(teams)), err=True))


@team.command("list")
def list_teams() -> None:
    """List your teams on the hub, and your role in each; a store belongs to one of them.

    \b
    hivemind team list
    hivemind --store payments team login https://hub.example --team payments
    """
    with open_mind() as mind:
        credentials, member = mind.team.credentials, mind.team.status().membership
    if credentials is None or member is None:
        raise InvalidInput(NO_TEAM)
    login = credentials.login
    # A token is good for one team, and does not say what that is called.
    teams = login.teams if login else {"(the team of your token)": member.role.value}
    here = login.team if login else next(iter(teams))
    value = [{"team": name, "role": role, "here": name == here} for name, role in teams.items()]
    rows = [[name, role, "this store" if name == here else ""] for name, role in teams.items()]
    output.emit_rows(value, ["team", "role", ""], rows)
    if len(teams) > 1 and not wants("json"):
        output.note(
            f"Join another one in a store of its own: hivemind --store NAME team login {credentials.url} --team NAME"
        )


@team.command("logout")
def logout() -> None:
    """Leave the team; its memories are removed from this machine, yours stay."""
    with open_mind() as mind:
        if not mind.team.is_logged_in and mind.team.status().membership is None:
            raise InvalidInput(NO_TEAM)
        revocation = mind.team.logout()
    output.emit(
        {"team": None, "revocation": revocation.value},
        "Left the team. Its memories are removed from this machine." + REVOCATION_REPORTS.get(revocation, ""),
    )


@team.command("publish")
@one_or_more_memories_argument
@dry_run_option
def publish(memories: tuple[str, ...], dry_run: bool) -> None:
    """Share copies of project memories with the team.

    \b
    hivemind team publish 3f9a2c1e --dry-run
    hivemind team publish 3f9a2c1e
    """
    with open_mind() as mind:
        publications, is_member = mind.team.publish(memories, dry_run=dry_run), mind.team.is_logged_in

    def show() -> None:
        for publication in publications:
            memory = publication.memory
            done = "is shared with the team" if is_member else "is copied for a team"
            outcome = "would be shared" if dry_run else f"{done}, as {shorten_id(publication.copy)}"
            output.print_text(f"{shorten_id(memory.id)} {outcome}:")
            click.echo(output.quote(publication.text))
            if memory.metadata:
                output.print_text(output.indent(f"metadata: {memory.metadata.summary}"))
            for source in publication.sources:
                output.print_text(output.indent(f"source: {source.channel} {source.actor} {source.file}".rstrip()))
            for what in publication.withheld:
                output.note(f"    not shared: {what}")
        if publications and not (is_member or dry_run):
            output.note("kept on this machine until you join a team: hivemind team login URL")

    output.emit(publications, show)


@team.command("status")
def show_status() -> None:
    """Show devices, their last synchronisation, and pending erasures."""
    with open_mind() as mind:
        status, url = mind.team.status(), mind.team.url
        devices: list[dict[str, Any]] = []
        problem = ""
        try:
            hub = mind.team.hub
            devices = hub.request("GET", "/v1/devices") if hub else []
        except (Unavailable, Refused) as error:
            # What is known here is shown without the hub, too.
            problem = str(error)

    def show() -> None:
        member = status.membership
        if member is None or not url:
            output.print_text("This store belongs to no team. Join one: hivemind team login URL")
            return
        output.print_field("hub", url)
        output.print_field("you are", f"{member.person}, role {member.role}")
        output.print_field("last sync", format_minute(member.synchronised_at) if member.synchronised_at else "never")
        output.print_field("unsent", plural(status.waiting, "entry"))
        ended = "over; 'hivemind sync' brings the team's memories"
        output.print_field("lease ends", format_date(status.lease_ends_at) if status.lease_ends_at else ended)
        if problem:
            return
        output.print_heading("Devices")
        rows = [
            [d["person"], d["id"][:8], format_minute(d["last_seen_at"]), f"{d['behind']:,}", f"{d['erasures']:,}"]
            for d in devices
        ]
        output.print_table(["person", "device", "last seen", "entries unread", "erasures not confirmed"], rows)

    value = to_plain(status)
    if value["membership"]:
        del value["membership"]["key"]  # a secret
    output.emit({**value, "hub": url, "devices": devices}, show)
    if problem:
        output.warn(problem)
