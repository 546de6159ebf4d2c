"""``hivemind sync``: exchange with a person's own machines, through a folder or git, and with the team's hub."""

import io
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from hivemind.cli import output
from hivemind.cli.arguments import confirm, open_mind, tags_option_with, yes_option
from hivemind.cli.framework import CommandGroup, wants
from hivemind.errors import HivemindError, InvalidInput
from hivemind.hivemind import Hivemind
from hivemind.model.codec import to_plain
from hivemind.model.timestamps import format_minute
from hivemind.sync.devices import Choices, DevicesStatus, Farewell, Plan
from hivemind.text.clean import plural

NOTHING_TO_SYNC = (
    "this store belongs to no team and shares no folder; for your own machines: hivemind sync setup FOLDER,"
    " for a team: hivemind team login URL"
)
PHRASE_NOTE = "Keep it safe: it opens your memories. 'hivemind sync phrase' shows it again on this machine."

commands = click.Group()


@commands.group("sync", cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def sync(ctx: click.Context) -> None:
    """Exchange with your other machines and with the team's hub.

    It also runs by itself when a session starts or ends.

    \b
    hivemind sync setup ~/Dropbox/hivemind
    hivemind sync
    """
    if ctx.invoked_subcommand is None:
        with open_mind() as mind:
            _sync_all(mind)


def _sync_all(mind: Hivemind) -> None:
    is_shared, has_hub = mind.devices.is_set_up, mind.team.is_logged_in
    if not has_hub and not is_shared:
        raise InvalidInput(NOTHING_TO_SYNC)
    reports: list[_Report] = []
    failures: list[HivemindError] = []
    with output.progress("Exchanging") as advance:
        for exchange in ([_sync_machines] if is_shared else []) + ([_sync_team] if has_hub else []):
            try:
                reports.append(exchange(mind, advance))
            # A drive that is not connected must not keep the team waiting, nor a hub that is away the machines.
            except HivemindError as error:
                failures.append(error)
    if reports:
        value = {name: part for report in reports for name, part in report.value.items()}
        output.emit(value, "\n".join(report.text for report in reports))
    for report in reports:
        for warning in report.warnings:
            output.warn(warning)
    for failure in failures[1:]:
        output.warn(str(failure))
    if failures:
        raise failures[0]


class _Report(NamedTuple):
    value: dict[str, Any]
    text: str
    warnings: Sequence[str]


def _sync_machines(mind: Hivemind, advance: Callable[[int, int], None]) -> _Report:
    report = mind.devices.sync(progress=advance)
    text = f"Your machines: {_count(report.received, report.sent, report.erased)}."
    return _Report({"machines": to_plain(report)}, text, report.problems)


def _sync_team(mind: Hivemind, advance: Callable[[int, int], None]) -> _Report:
    result = mind.team.sync(progress=advance)
    label = "Team: " if mind.devices.is_set_up else ""
    text = f"{label}{_count(result.pulled, result.pushed, result.erased)}."
    if result.returned is not None:
        count = plural(result.returned, "entry")
        given = f"this store gave {count} back that it had lost" if result.returned else "it misses nothing of yours"
        text += f"\nThe hub's database was restored from a backup; {given}."
    return _Report(to_plain(result), text, [f"the hub refused {entry[:8]}: {why}" for entry, why in result.refused])


def _count(received: int, sent: int, erased: int) -> str:
    return f"{plural(received, 'entry')} received, {sent:,} sent, {plural(erased, 'memory')} erased here"


@sync.command("setup")
@click.argument("location")
@click.option(
    "--phrase", default="", envvar="HIVEMIND_PHRASE", help="The phrase of your other machines; asked if needed."
)
@click.option("--name", default="", help="What the others call this machine; default: its host name.")
@click.option("--sessions", "with_sessions", is_flag=True, help="Send recorded sessions, too.")
@click.option("--exclude-repo", "excluded_repos", multiple=True, metavar="PATH", help="Keep a repository here.")
@tags_option_with("Keep memories with these tags here.", "--exclude-tags")
@yes_option
def set_up(
    location: str, phrase: str, name: str, with_sessions: bool, excluded_repos: tuple[str, ...],
    exclude_tags: list[str], yes: bool,
) -> None:  # fmt: skip
    """Share your memories through a folder or a private git repository.

    The folder may be one that Dropbox, iCloud or Syncthing carries, a network drive or a USB stick. Everything in it is
    encrypted. The first machine shows a phrase, and each further one asks for it.

    \b
    hivemind sync setup ~/Dropbox/hivemind
    hivemind sync setup git@example.com:me/memory.git
    """
    choices = Choices(
        with_sessions=with_sessions, excluded_repos=excluded_repos, excluded_tags=tuple(filter(None, exclude_tags))
    )
    with open_mind() as mind:
        is_change = mind.devices.is_set_up
        plan = mind.devices.plan(location, choices)
        if not wants("json") and not wants("quiet"):
            _show_plan(plan, is_change=is_change)
        confirm("Go on?", yes=yes)
        if not plan.is_new and not is_change and not phrase:
            phrase = click.prompt("The phrase of your other machines", err=True)
        with output.progress("Exchanging") as advance:
            report = mind.devices.set_up(plan, phrase=phrase, name=name, progress=advance)
        shown_phrase = mind.devices.phrase() if plan.is_new else ""
    value = {**to_plain(report), "phrase": shown_phrase}
    output.emit(value, f"Done: {_count(report.received, report.sent, report.erased)}.")
    if shown_phrase and not wants("json"):
        _show_phrase(shown_phrase)
        output.note("Next, on each other machine: 'hivemind sync setup' with the same folder or repository.")
    elif report.received:
        # Most memories belong to a repository, so 'list' may show none of them here.
        output.note("See what arrived: hivemind list --everywhere")
    for problem in report.problems:
        output.warn(problem)


def _show_plan(plan: Plan, *, is_change: bool) -> None:
    if is_change:
        who = "This machine shares it already."
    else:
        who = "This is the first machine there." if plan.is_new else "Another machine uses it already."
    output.print_text(f"{plan.location}\n{who}\n\nThis will be sent, encrypted:")
    output.print_text(
        f"  {plural(plan.memories, 'memory')} of scope user and project, with their history, verdicts and links"
    )
    output.print_text(
        f"  {plural(plan.sessions, 'session')}"
        if plan.choices.with_sessions
        else "  no sessions (--sessions sends them)"
    )
    if plan.excluded:
        output.print_text(f"  not {plural(plan.excluded, 'memory')} that you excluded")
    output.print_text("  no memories of a team\n")
    if plan.is_new:
        output.note("If another machine has set this up already, stop here: its files have not arrived yet.")


def _show_phrase(phrase: str) -> None:
    output.print_text(f"\nThe phrase for your other machines:\n\n    {phrase}\n")
    if output.on_terminal():
        # Only for a terminal, and only here.
        import segno

        picture = io.StringIO()
        segno.make(phrase, error="l").terminal(picture, compact=True)
        click.echo(picture.getvalue())
    output.note(PHRASE_NOTE)


@sync.command("phrase")
def show_phrase() -> None:
    """Show the phrase by which another machine joins."""
    with open_mind() as mind:
        phrase = mind.devices.phrase()
    output.emit({"phrase": phrase}, lambda: _show_phrase(phrase))


@sync.command("status")
def show_status() -> None:
    """Show what is shared, with which machines, and what is waiting."""
    with open_mind() as mind:
        status = mind.devices.status()

    def show() -> None:
        output.print_field("folder", status.location)
        output.print_field("this machine", status.name)
        output.print_field("state", "paused" if status.is_paused else "on")
        output.print_field("last sync", format_minute(status.synchronised_at) if status.synchronised_at else "never")
        output.print_field("unsent", plural(status.unsent, "entry"))
        output.print_field("sessions", "are sent" if status.choices.with_sessions else "stay here")
        if status.choices.excluded_repos or status.choices.excluded_tags:
            output.print_field("excluded", ", ".join((*status.choices.excluded_repos, *status.choices.excluded_tags)))
        if status.unconfirmed_erasures:
            output.print_field("erasures", f"{status.unconfirmed_erasures} not confirmed by all machines")
        output.print_heading("Machines")
        output.print_table(COLUMNS, _list_machines(status))
        for problem in status.problems:
            output.warn(problem)

    output.emit(status, show)


COLUMNS = ("machine", "id", "last sync", "waiting for", "has not read")


def _list_machines(status: DevicesStatus) -> list[list[str]]:
    return [
        [
            machine.name + (" (this one)" if machine.is_this else ""),
            machine.directory,
            format_minute(machine.last_seen_at) if machine.last_seen_at else "never",
            plural(machine.waiting_for, "entry") if machine.waiting_for else "",
            plural(machine.unread, "entry") if machine.unread else "",
        ]
        for machine in status.machines
    ]


@sync.group("devices", cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def devices(ctx: click.Context) -> None:
    """List your machines, or remove one.

    \b
    hivemind sync devices
    hivemind sync devices remove old-laptop
    """
    if ctx.invoked_subcommand is None:
        with open_mind() as mind:
            status = mind.devices.status()
        output.emit_rows(status.machines, COLUMNS, _list_machines(status))


@devices.command("remove")
@click.argument("machine")
@yes_option
def remove(machine: str, yes: bool) -> None:
    """Remove a machine that was lost or sold; it can read nothing new.

    It keeps what it has read. The others get the new key by themselves; the phrase changes.

    \b
    hivemind sync devices remove old-laptop
    """
    confirm(f"Remove {machine}? What it has read before stays on it.", yes=yes)
    with open_mind() as mind:
        mind.devices.remove(machine)
        phrase = mind.devices.phrase()
    output.emit({"removed": machine, "phrase": phrase}, f"Removed {machine}. Its memories stay on your machines.")
    if not wants("json"):
        _show_phrase(phrase)


@sync.command("pause")
def pause() -> None:
    """Stop exchanging with your machines until 'resume'; nothing is lost."""
    with open_mind() as mind:
        mind.devices.pause(is_paused=True)
    output.emit({"paused": True}, "Paused. 'hivemind sync resume' goes on.")


@sync.command("resume")
def resume() -> None:
    """Go on after 'pause'."""
    with open_mind() as mind:
        mind.devices.pause(is_paused=False)
    output.emit({"paused": False}, "Resumed. 'hivemind sync' exchanges now.")


@sync.command("leave")
@yes_option
def leave(yes: bool) -> None:
    """Stop sharing with your other machines; all memories stay on this one."""
    with open_mind() as mind:
        if mind.devices.is_set_up:
            confirm("Stop sharing, and forget the key on this machine?", yes=yes)
        farewell = mind.devices.leave()
    match farewell:
        case Farewell.EMPTIED:
            files = "The folder is empty now"
        case Farewell.TAKEN_OVER:
            files = "Your other machines take over its files"
        case Farewell.UNANNOUNCED:
            files = "The others could not be told: on one of them, 'hivemind sync devices remove' takes it off the list"
    output.emit({"files": farewell}, f"Left; your memories stay on this machine. {files}.")
