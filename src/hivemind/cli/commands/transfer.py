"""``hivemind import`` and ``export``: what comes in from elsewhere, and what goes out as files."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import click

from hivemind.cli.arguments import dry_run_option, everywhere_option, open_mind
from hivemind.cli.framework import CommandGroup, wants
from hivemind.cli.output import emit, emit_rows, note, print_json, print_text, progress, warn
from hivemind.errors import HivemindError, InvalidInput
from hivemind.model.code import CommitReport
from hivemind.model.session import BackfillReport
from hivemind.system import open_private
from hivemind.text.clean import first_line, plural
from hivemind.text.untrusted import read_text_lines
from hivemind.transfer.imports import FileSyncReport, NoteReport
from hivemind.transfer.other_tools import TOOLS

commands = click.Group()
Report = BackfillReport | CommitReport | FileSyncReport | NoteReport
MAX_LINES_SHOWN = 10
LARGEST_REVIEWS_BYTES = 256 << 20
NOTHING = "nothing, because none were found"
since_option = click.option(
    "--since", default="", metavar="WHEN", help="Only what happened after: a date, or a span such as 6w."
)


class ImportGroup(CommandGroup):
    """Takes an existing file, or ``-`` for standard input, in the place of a command."""

    noun = "command or file"

    def means_default(self, word: str) -> bool:
        """Whether it is a file, or an option of the import of memories."""
        return word.startswith("-") or bool(word and word not in self.commands and Path(word).exists())


@commands.group("import", cls=ImportGroup, default="memories")
@click.pass_context
def import_group(ctx: click.Context) -> None:
    """Import transcripts, commits, rules, reviews, notes or memories. Without a command, list what there is.

    \b
    hivemind import                        what could be imported; changes nothing
    hivemind import transcripts            past sessions of all agents on this machine
    hivemind import git                    the reasons in this repository's commits
    hivemind import rules                  AGENTS.md, CLAUDE.md and the like
    hivemind import notes                  what agents have noted on their own
    hivemind import reviews                rules that reviewers stated, by gh or glab
    hivemind import memories.jsonl         what 'hivemind export' wrote
    hivemind import --from mem0 FILE       the store or an export of another memory tool
    """
    if ctx.invoked_subcommand is None:
        _preview()


def _preview() -> None:
    """List what each source would bring."""
    with open_mind() as mind, progress("Reading") as advance:
        reports: dict[str, Report] = {
            "transcripts": mind.sessions.import_transcripts(dry_run=True, progress=advance),
            "rules": mind.files.sync_instructions(dry_run=True),
            "notes": mind.files.sync_notes(dry_run=True),
        }
        # Outside a git repository there are no commits to offer.
        with suppress(HivemindError):
            reports["git"] = mind.code.index_commits(dry_run=True)
    rows = [[f"hivemind import {source}", _summarise(report)] for source, report in reports.items()]
    rows.append(["hivemind import reviews", "rules that reviewers of pull requests stated, by gh or glab"])
    rows.append(["hivemind import FILE", "memories that 'hivemind export' wrote; - reads standard input"])
    rows.append(["hivemind import --from TOOL PATH", f"the store of another memory tool: {', '.join(TOOLS)}"])
    emit_rows(reports, ["command", "imports"], rows, after="This only lists; each command imports what is new.")


def _summarise(report: Report) -> str:
    """What an import brought or would bring."""
    if isinstance(report, NoteReport):
        origins = ", ".join(f"{count:,} of {origin}" for origin, count in report.by_origin)
        return f"{plural(report.notes, 'note')} ({origins}): {report.new:,} new" if report.notes else NOTHING
    if isinstance(report, FileSyncReport):
        return f"{plural(report.said, 'point')} in rules files: {report.new:,} new, {report.gone:,} gone"
    if isinstance(report, CommitReport):
        return f"{plural(report.commits, 'commit')}, {report.reasons:,} with a reason"
    if not report.transcripts:
        return NOTHING
    return (
        f"{plural(report.transcripts, 'transcript')}: {plural(report.sessions, 'session')} with"
        f" {plural(report.observations, 'observation')}, {report.new:,} new"
    )


@import_group.command("transcripts")
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@since_option
@click.option("--project", is_flag=True, help="Only sessions in this repository.")
@dry_run_option
def import_transcripts(agents: tuple[str, ...], since: str, project: bool, dry_run: bool) -> None:
    """Import past transcripts of the agents named, or of all agents.

    What they teach arrives as proposals.

    \b
    hivemind import transcripts --dry-run
    hivemind import transcripts claude-code codex --since 6w
    """
    with _explain_interruption(), open_mind() as mind, progress("Reading") as advance:
        report = mind.sessions.import_transcripts(agents, since=since, here=project, dry_run=dry_run, progress=advance)
        if not dry_run:
            mind.maintenance.start_catching_up()
    _report(report, dry_run=dry_run)


@import_group.command("git")
@since_option
@dry_run_option
def import_git(since: str, dry_run: bool) -> None:
    """Index this repository's commits that give a reason.

    Agents are told the reason before they change the lines that a commit made, and 'hivemind recall' finds it. New
    commits are read in the background.

    \b
    hivemind import git --since 6w
    """
    with open_mind() as mind, progress("Reading") as advance:
        report = mind.code.index_commits(since=since, dry_run=dry_run, progress=advance)
    emit(report, f"{'Would read' if dry_run else 'Read'} {_summarise(report)}.")
    if report.reasons and not dry_run:
        note("Agents are told a reason before they change its lines; 'hivemind recall' finds it.")


def _report(report: BackfillReport, *, dry_run: bool) -> None:
    # What transcripts teach is known only once they are read.
    proposals = f"; {plural(report.learned, 'new proposal')}" if report.transcripts and not dry_run else ""
    emit(report, f"{'Would import' if dry_run else 'Imported'} {_summarise(report)}{proposals}.")
    if report.sessions_off:
        note(f"{plural(report.sessions_off, 'session')} skipped: memory is off in their repository")
    for reason, count in report.skipped:
        note(f"{count:,} skipped: {reason}")
    if report.quarantined:
        note(f"{plural(report.quarantined, 'line')} could not be read. Inspect: hivemind quarantine")
    if report.transcripts and not dry_run:
        # Most transcripts are of other folders than the one where this is typed, and nothing of them is seen here.
        note('Search the sessions: hivemind session search "…"; those of other folders: --everywhere')
    _note_next_steps(report.batch if report.learned and not dry_run else "")


@import_group.command("rules")
@dry_run_option
def import_rules(dry_run: bool) -> None:
    """Import rules files, such as AGENTS.md and CLAUDE.md.

    Also GEMINI.md, QWEN.md, the rules of Cursor, Claude Code, Windsurf, Antigravity, Cline and Continue, and Copilot's
    instructions. Each point becomes a convention with file and line as its source. What a file no longer says is
    retracted.
    """
    with open_mind() as mind:
        report = mind.files.sync_instructions(dry_run=dry_run)
    emit(report, f"{_summarise(report)}.")
    if not wants("json"):
        for point in report.kept_out:
            text = f": {first_line(point.text, 60)}" if point.text else ""
            note(f"{point.file}:{point.lines} was {point.why} earlier and stays out{text}")


@import_group.command("notes")
@click.argument("agents", metavar="[AGENT]...", nargs=-1)
@dry_run_option
def import_notes(agents: tuple[str, ...], dry_run: bool) -> None:
    """Import what agents have noted on their own.

    Each note becomes a proposal with its file and line. Reads the notes of Claude Code, Codex, Gemini CLI, Qwen Code,
    Copilot in VS Code and Serena, and Windsurf's global rules, about repositories that Hivemind has seen. 'hivemind
    learn' reads them again and withdraws proposals whose note is gone.

    \b
    hivemind import notes --dry-run
    hivemind import notes claude-code
    """
    with open_mind() as mind:
        report = mind.files.sync_notes(agents, dry_run=dry_run)
    _report_notes(report, dry_run=dry_run)


def _report_notes(report: NoteReport, *, dry_run: bool = False, approve: bool = False) -> None:
    emit(report, f"{'Would import' if dry_run else 'Imported'} {_summarise(report)}.")
    if report.gone:
        note(f"{report.gone:,} withdrawn, because the note is gone.")
    for reason, count in report.skipped:
        note(f"{count:,} skipped: {reason}")
    _note_next_steps(report.batch if report.new and not dry_run else "", report.refused, approve=approve)


def _note_next_steps(batch: str, refused: int = 0, *, approve: bool = False) -> None:
    """Say what was left out, and what can be done about a batch of new memories."""
    if refused:
        note(f"{refused:,} left out, because they were rejected or erased here.")
    if batch and not approve:
        note("Review the proposals: hivemind review")
    if batch:
        note(f"Undo: hivemind rollback --batch {batch}")


@import_group.command("reviews")
@click.argument("sources", metavar="[NUMBER|FILE]...", nargs=-1)
@since_option
@click.option("--with", "agent", metavar="AGENT", help="Ask your own agent: claude, codex, gemini or opencode.")
@dry_run_option
def import_reviews(sources: tuple[str, ...], since: str, agent: str | None, dry_run: bool) -> None:
    """Import rules that reviewers of pull requests stated.

    Each becomes a proposal, linked to today's code at that place. Questions, praise, remarks on one line and comments
    of bots are left out. --with sends the comments to your own agent, which sends them to the provider of its model;
    it finds many more rules.

    NUMBER is a pull or merge request of this repository; without one, the newest are read. gh or glab gets the
    comments, as you are signed in there. FILE has their JSON; - reads standard input.

    \b
    hivemind import reviews --since 6w --dry-run
    hivemind import reviews 128 131 --with claude
    gh api --paginate repos/acme/shop/pulls/128/comments | hivemind import reviews -
    glab api projects/:id/merge_requests/7/discussions | hivemind import reviews -
    """
    pulls = [source.lstrip("#!") for source in sources if source.lstrip("#!").isdigit()]
    files = [source for source in sources if not source.lstrip("#!").isdigit()]
    if pulls and files:
        raise click.UsageError("give numbers of pull requests or files, not both")
    pages = [_read_reviews(file) for file in files]
    with _explain_interruption(), open_mind() as mind, progress("Reading comments") as advance:
        report = mind.learning.import_reviews(
            pages, pulls=pulls, since=since, agent=agent or "", announce=_announce_comments, dry_run=dry_run,
            progress=advance,
        )  # fmt: skip
    verb = "Would propose" if dry_run else "Proposed"
    emit(report, f"{verb} {plural(report.new, 'rule')} from {plural(report.comments, 'comment')}.")
    if not wants("json"):
        for text in report.texts:
            print_text(f"  {first_line(text)}")
    for reason, count in report.skipped:
        note(f"{count:,} skipped: {reason}")
    if known_count := report.rules - report.new - report.refused:
        note(f"{plural(known_count, 'rule')} known already.")
    _note_next_steps(report.batch if report.new and not dry_run else "", report.refused)


def _announce_comments(title: str, size: int) -> None:
    note(f"Sending {size:,} characters of review comments to {title} and its provider.")


def _read_reviews(file: str) -> bytes:
    if file != "-" and not Path(file).is_file():
        raise InvalidInput(f"{file!r} is neither a number of a pull request nor a file")
    with click.open_file(file, "rb") as stream:
        content = cast(BinaryIO, stream).read(LARGEST_REVIEWS_BYTES + 1)
    if len(content) > LARGEST_REVIEWS_BYTES:
        raise InvalidInput(f"{file} has more than {LARGEST_REVIEWS_BYTES:,} bytes; import fewer pull requests at once")
    return content


@import_group.command("memories")
@click.argument("path", metavar="[FILE]", type=click.Path(exists=True, allow_dash=True, path_type=Path), required=False)
@click.option("--from", "tool", type=click.Choice(list(TOOLS)), help="The other memory tool that wrote it.")
@click.option("--approve", is_flag=True, help="Trust the file; without this, memories arrive as proposals.")
def import_memories(path: Path | None, tool: str | None, approve: bool) -> None:
    """Import exported memories, or another tool's store.

    FILE is what 'hivemind export' wrote; - reads standard input.
    With --from, FILE is the store or an export of that tool; without a file, its store in the usual place.

    A line that cannot be read is reported and kept in the quarantine; the others are imported, and the exit code is 1.

    \b
    hivemind import memories.jsonl
    hivemind import memories --approve - < memories.jsonl
    hivemind import --from claude-mem
    hivemind import --from basic-memory ~/notes
    """
    if tool:
        with _explain_interruption(), open_mind() as mind, progress("Importing"):
            notes = mind.files.import_from(tool, path, approve=approve)
        _report_notes(notes, approve=approve)
        return
    if path is None:
        raise click.UsageError("name the file to import; - reads standard input")
    if path.is_dir():
        raise InvalidInput(f"{path} is a folder; name the file that 'hivemind export' wrote, or the tool with --from")
    with _explain_interruption(), open_mind() as mind, progress("Importing"), click.open_file(str(path), "rb") as file:
        lines = read_text_lines(cast(BinaryIO, file))
        report = mind.files.import_lines(lines, approve=approve, name="" if str(path) == "-" else str(path))
    emit(report, f"Imported {plural(report.new, 'memory')}; {report.known:,} already known.")
    for line in report.unreadable[:MAX_LINES_SHOWN]:
        warn(line)
    if report.unreadable:
        rest_count = len(report.unreadable) - MAX_LINES_SHOWN
        more = f", {rest_count:,} more than shown" if rest_count > 0 else ""
        warn(f"{plural(len(report.unreadable), 'line')} could not be read{more}. Inspect: hivemind quarantine")
    _note_next_steps(report.batch if report.new else "", report.refused, approve=approve)
    sys.exit(1 if report.unreadable else 0)


@contextmanager
def _explain_interruption() -> Iterator[None]:
    """Say what became of an import that the person stopped."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        warn("Stopped. What was imported so far is kept; the same command imports the rest.")
        raise


@commands.command("export")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path), default="-")
@click.option("--markdown", type=click.Path(file_okay=False, path_type=Path), help="A folder for one file per memory.")
@click.option("--session", default="", help="Only what was learned in this session.")
@click.option("--owner", default="", help="Only what belongs to this person.")
@click.option("--shared", is_flag=True, help="Only what is in force and shared with the team, for a file in git.")
@everywhere_option
def export(file: Path, markdown: Path | None, **filters: Any) -> None:
    """Export memories as lines of JSON or a folder of Markdown files.

    Only you can read new files; 'chmod' changes that.

    \b
    hivemind export memories.jsonl
    hivemind export --shared .hivemind.jsonl
    hivemind export --markdown docs/memory
    """
    with open_mind() as mind:
        if markdown:
            place = str(markdown)
            markdown.mkdir(parents=True, exist_ok=True, mode=0o700)
            count = sum(_write_page(markdown / name, content) for name, content in mind.files.export_pages(**filters))
        else:
            place = str(file)
            lines = mind.files.export_lines(**filters)
            with _open_for_writing(place) as stream:
                count = sum(bool(stream.write(line.encode() + b"\n")) for line in lines)
    if place != "-" and wants("json"):
        print_json({"memories": count, "file": place})
    elif place != "-":
        note(f"Wrote {plural(count, 'memory')} to {place}.")


def _open_for_writing(place: str) -> AbstractContextManager[BinaryIO]:
    # Closing it must not close standard output.
    return cast(BinaryIO, click.open_file("-", "wb") if place == "-" else open(place, "wb", opener=open_private))


def _write_page(file: Path, content: str) -> bool:
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with open(file, "w", encoding="utf-8", opener=open_private) as stream:
        return bool(stream.write(content))
