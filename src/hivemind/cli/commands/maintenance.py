"""``hivemind status``, ``doctor``, ``backup``, ``repair`` and ``quarantine``: the state of the store."""

import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from hivemind.cli import output
from hivemind.cli.arguments import confirm, open_mind, yes_option
from hivemind.cli.framework import CommandGroup, get_store_name
from hivemind.errors import InvalidInput
from hivemind.hivemind import doctor as run_doctor
from hivemind.maintenance import recovery
from hivemind.model.codec import to_plain
from hivemind.model.events import SessionExamined
from hivemind.model.ids import shorten_id
from hivemind.model.outcomes import OutcomeKind
from hivemind.model.recall import Spent
from hivemind.model.scope import Repository
from hivemind.model.status import NextStep, Stats, StatusReport
from hivemind.model.timestamps import format_minute
from hivemind.sessions import quarantine
from hivemind.text.clean import first_line, plural

commands = click.Group()
TOKEN_COUNTS = {
    **{name: name for name in ("briefs", "prompts", "actions", "recalls")},
    "unasked_tokens": "unasked", "asked_tokens": "asked",
}  # fmt: skip
"""The counts that fit 80 columns, and their titles; JSON has the rest."""
MANY_UNEMBEDDED = 32
"""A recall embeds this many passages before it answers, so fewer are not worth a line."""


@commands.command("status")
@click.option("--counts", is_flag=True, help="Count memories, sessions and log entries in the whole store instead.")
@click.option("--tokens", is_flag=True, help="Show the tokens that memory cost each session instead.")
@click.option("--learning", is_flag=True, help="List the sessions that 'learn --with' sent to an agent instead.")
def status(counts: bool, tokens: bool, learning: bool) -> None:
    """Show memories, agents and pending reviews, and what to do next.

    \b
    hivemind
    hivemind status --counts
    """
    if counts + tokens + learning > 1:
        raise InvalidInput("--counts, --tokens and --learning exclude each other; choose one")
    with open_mind() as mind, output.progress("Reading the store"):
        if counts:
            emit_report = partial(_emit_counts, mind.maintenance.stats())
        elif tokens:
            emit_report = partial(_emit_tokens, mind.history.tokens_spent())
        elif learning:
            emit_report = partial(_emit_learning, mind.learning.examinations())
        else:
            report = mind.maintenance.status()
            emit_report = partial(output.emit, report, partial(_print_status, report, mind.repository))
    emit_report()


def _print_status(report: StatusReport, repository: Repository) -> None:
    """Print what matters now first: what memory did, and what to do next."""
    if report.week:
        click.echo(output.wrap(f"{report.week[0].removesuffix('.')} in the last seven days."))
    elif not (report.memories or report.last_session):
        click.echo(output.wrap("Nothing is stored here yet. Begin with one of these:"))
    for step in report.next:
        _print_step(step)
    click.echo()
    counts = " · ".join(f"{count:,} {status}" for status, count in report.memories)
    elsewhere = f"{report.elsewhere:,} in other repositories" if report.elsewhere else ""
    output.print_field("store", f"{report.store}  {report.bytes / 1e6:.1f} MB")
    kind, _, place = repository.id.partition(":")
    # A commit id means nothing to people, so the folder's name stands before it.
    output.print_field("repository", f"{repository.name} (first commit {place[:9]})" if kind == "commit" else place)
    if report.is_off:
        output.print_field("memory", "off in this repository; to turn it on: hivemind on")
    output.print_field("memories", " · ".join(filter(None, [counts or "none here yet", elsewhere])))
    output.print_field("agents", ", ".join(report.connected) or "none connected")
    if last := report.last_session:
        task = f": {first_line(last.task, 60)}" if last.task else ""
        output.print_field("last session", f"{last.agent}, {format_minute(last.last_seen_at)}{task}")
    output.print_field("to review", plural(report.waiting, "memory") if report.waiting else "none")
    if report.linked or report.unlinked:
        unlinked_text = f", {report.unlinked:,} without a link that seem to name code" if report.unlinked else ""
        output.print_field("code", f"{plural(report.linked, 'memory')} linked{unlinked_text}")
    stale_text = f"{plural(report.doubted, 'memory')} whose code changed" if report.doubted else "none"
    unread_text = "; the rest of the code is being read in the background" if report.is_code_behind else ""
    output.print_field("stale", stale_text + unread_text)
    if report.unembedded > MANY_UNEMBEDDED:
        total = report.embedded + report.unembedded
        output.print_field("vectors", f"{report.embedded:,} of {plural(total, 'passage')}; the rest are found by words")
    if report.quarantined:
        output.print_field("quarantine", f"{plural(report.quarantined, 'item')} that could not be read")
    if report.week[1:]:
        output.print_field("this week", " ".join(report.week[1:]))


def _print_step(step: NextStep) -> None:
    """Print a command and why to run it; on a narrow terminal the reason stands below."""
    line = f"  {step.command:<26}{step.why}"
    is_narrow = output.on_terminal() and len(line) > shutil.get_terminal_size().columns
    click.echo(f"  {step.command}\n{output.wrap(step.why, '    ', '    ')}" if is_narrow else line)


def _emit_counts(stats: Stats) -> None:
    rows = [[scope, kind, status, f"{count:,}"] for scope, kind, status, count in stats.memories]
    total = sum(count for *_, count in stats.memories)
    summary = (
        f"{plural(total, 'memory')} · {plural(stats.sessions, 'session')}"
        f" with {plural(stats.observations, 'observation')} · {plural(stats.events, 'log entry')}"
        f" · {stats.bytes / 1e6:.1f} MB"
    )
    if stats.outcomes:
        # Those that the log does not show come last, whatever their number.
        in_order = sorted(stats.outcomes, key=lambda row: row[0] == OutcomeKind.UNKNOWN)
        total = sum(count for _, count in stats.outcomes)
        counts = " · ".join(f"{count:,} {kind}" for kind, count in in_order)
        summary += f"\nWhat followed {plural(total, 'telling')}: {counts}"
    output.emit_rows(stats, ["scope", "kind", "status", "memories"], rows, after=summary, if_empty=summary)


def _emit_tokens(sessions: Sequence[Spent]) -> None:
    rows = [
        [session.actor, shorten_id(session.session_id), *(f"{getattr(session, count):,}" for count in TOKEN_COUNTS)]
        for session in sessions
    ]
    columns = ["who", "session", *TOKEN_COUNTS.values()]
    total = sum(session.unasked_tokens + session.asked_tokens for session in sessions)
    again = sum(session.told_before for session in sessions)
    reused_count = sum(session.not_looked_up for session in sessions)
    after = (
        f"{plural(total, 'token')} in {plural(len(rows), 'session')}\n"
        f"{plural(again, 'memory')} had been shown to an earlier session too;"
        f" {reused_count:,} of these came unasked, and the session did not search for them again"
    )
    output.emit_rows(sessions, columns, rows, after=after, if_empty="Nothing was shown yet.")


def _emit_learning(examinations: Sequence[tuple[str, SessionExamined]]) -> None:
    rows = [
        [
            format_minute(at),
            entry.agent,
            shorten_id(entry.session_id),
            f"{entry.characters:,}",
            "failed" if entry.has_failed else f"{entry.proposed:,}",
            f"{entry.dropped:,}",
        ]
        for at, entry in examinations
    ]
    columns = ["when", "agent", "session", "characters", "proposed", "dropped"]
    records = [{"at": at, **to_plain(entry)} for at, entry in examinations]
    output.emit_rows(
        records, columns, rows, if_empty="No session was sent to an agent. 'hivemind learn --with AGENT' does."
    )


@commands.command("doctor")
@click.option("--quick", is_flag=True, help="Skip the slow comparison of all tables with the log.")
def doctor(quick: bool) -> None:
    """Check the installation and the store; say how to fix problems.

    The exit code is 1 if something is wrong.
    """
    with output.progress("Checking"):
        findings = run_doctor(get_store_name(), quick=quick)
    rows = [["ok" if f.is_well else "WRONG", f.what, f.detail, f.remedy] for f in findings]
    output.emit_rows(findings, ["", "check", "result", "what to do"], rows)
    sys.exit(0 if all(finding.is_well for finding in findings) else 1)


class BackupGroup(CommandGroup):
    """Takes the file to write in the place of a command; without either, writes a copy beside the store."""

    def means_default(self, word: str) -> bool:
        """Whether it is no command."""
        return word not in self.commands


@commands.group("backup", cls=BackupGroup, default="create")
def backup() -> None:
    """Back up the store while it is in use, and restore a backup.

    \b
    hivemind backup                        a copy beside the store
    hivemind backup /mnt/usb/memory.db     a copy elsewhere
    hivemind backup list
    hivemind backup restore FILE
    """


@backup.command("create")
@click.argument("file", required=False, default="")
def create_backup(file: str) -> None:
    """Write a backup and check it.

    \b
    hivemind backup create /mnt/usb/memory.db
    """
    with open_mind() as mind, output.progress("Copying"):
        copy = mind.maintenance.backup(file)
    output.emit(copy, f"Backed up {plural(copy.entries, 'log entry')} to {copy.file}")


@backup.command("list")
def list_backups() -> None:
    """List the backups beside the store."""
    backups = recovery.list_backups(get_store_name())
    rows = [
        [Path(copy.file).name, plural(copy.entries, "log entry") if copy.entries else "unreadable"] for copy in backups
    ]
    output.emit_rows(backups, ["file", "content"], rows, if_empty="No backups yet. Make one: hivemind backup")


@backup.command("restore")
@click.argument("file")
@yes_option
def restore_backup(file: str, yes: bool) -> None:
    """Restore a backup, by its path or its name in the list.

    What was erased or rejected since stays out. The current store is kept as a backup, so that this can be undone.

    \b
    hivemind backup restore /mnt/usb/memory.db
    """
    confirm(f"Replace the store with {recovery.find_backup(file, get_store_name())}?", yes=yes)
    with output.progress("Restoring"):
        result = recovery.restore_backup(file, get_store_name())
    exclusions = f"; {result.kept_out:,} newer erasures and rejections kept" if result.kept_out else ""
    before = f"\nThe store as it was before: {result.before}" if result.before else ""
    output.emit(result, f"Restored {plural(result.entries, 'log entry')}{exclusions}.{before}")
    if result.warning:
        output.warn(result.warning)


@commands.command("repair")
@click.option("--rebuild", is_flag=True, help="Rebuild all tables from the log, even if they are in order.")
def repair(rebuild: bool) -> None:
    """Repair a damaged store from what can still be read.

    Tables are rebuilt from the log. If the log itself is damaged, every entry that verifies is saved, the damaged file
    is kept, and what was lost is reported and recorded. The exit code is 1 if something was lost.
    """
    if rebuild:
        with open_mind() as mind, output.progress("Rebuilding") as advance:
            mind.maintenance.rebuild(advance)
        output.emit({"rebuilt": True}, "Rebuilt all tables from the log.")
        return
    with output.progress("Repairing"):
        result = recovery.repair(get_store_name())
    if not result.before:
        output.emit(result, f"{plural(result.entries, 'entry')} in the log, none lost; the tables match the log.")
        return
    output.emit(result, f"Saved {plural(result.entries, 'entry')}. The damaged file is kept: {result.before}")
    if result.has_new_key:
        output.warn(
            "What was erased or rejected is no longer recognised when it comes again. A backup has the key for that."
        )
    if result.lost or result.without_content:
        losses = f"{plural(result.lost, 'entry')}, and the content of {result.without_content:,} others"
        output.warn(f"Lost: {losses}. An older backup may have them: hivemind backup list")
        sys.exit(1)


@commands.command("quarantine")
@click.argument("ids", metavar="[ID]...", nargs=-1)
@click.option("--retry", is_flag=True, help="Read again what hooks left.")
@click.option("--discard", is_flag=True, help="Delete items.")
@click.option("--all", "everything", is_flag=True, help="With --discard: all items.")
def inspect_quarantine(ids: tuple[str, ...], retry: bool, discard: bool, everything: bool) -> None:
    """Inspect, retry or discard unreadable input. Without an id, list it.

    Items come from hooks, transcripts and imports. No agent is ever shown them.

    \b
    hivemind quarantine
    hivemind quarantine 3f9a
    hivemind quarantine --retry            after an upgrade
    hivemind quarantine --discard --all
    """
    if retry and discard:
        raise InvalidInput("--retry and --discard exclude each other; choose one")
    if discard and bool(ids) == everything:
        raise InvalidInput("name items, or use --all; 'hivemind quarantine' has the ids")
    items = quarantine.find(ids)
    if retry:
        _retry_items(items)
    elif discard:
        quarantine.discard(items)
        output.emit({"discarded": len(items)}, f"Discarded {plural(len(items), 'item')}.")
    elif ids:
        output.emit(items, lambda: _print_items(items))
    else:
        value = [{name: getattr(item, name) for name in ("id", "at", "door", "where", "reason")} for item in items]
        rows = [[item.id, format_minute(item.at), item.door, item.where, item.reason] for item in items]
        output.emit_rows(
            value, ["id", "since", "from", "where", "why"], rows,
            if_empty="Empty: all input could be read.", after="Look at one: hivemind quarantine ID",
        )  # fmt: skip


def _retry_items(items: Sequence[quarantine.Item]) -> None:
    pending = {item.id for item in quarantine.retry(items)}
    # Opening the store reads what waits in the spool; what fails again returns to the quarantine.
    with open_mind():
        unreadable = pending & {item.id for item in quarantine.find()}
    result = {"read": len(pending) - len(unreadable), "still_unreadable": len(unreadable)}
    output.emit(result, f"Read {plural(result['read'], 'item')}; {len(unreadable):,} still cannot be read.")


def _print_items(items: Sequence[quarantine.Item]) -> None:
    for item in items:
        output.print_field("id", item.id)
        output.print_field("since", format_minute(item.at))
        output.print_field("from", f"{item.door}: {item.where}")
        output.print_field("why", item.reason)
        output.print_heading("Content" + (", the beginning" if item.is_cut else ""))
        output.print_text(output.indent(item.content))
