"""Settings, copies, and a store that stays well."""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import click
from click.shell_completion import CompletionItem, get_completion_class

from hivemind.app import configuration, quarantine, recovery
from hivemind.entrypoints.cli.arguments import (
    dry_run_option,
    everywhere_option,
    make_sure,
    open_mind,
    yes_option,
)
from hivemind.entrypoints.cli.framework import Family, store_name
from hivemind.entrypoints.cli.output import (
    heading,
    indented,
    label,
    note,
    progress,
    say,
    tell,
    tell_rows,
    warn,
)
from hivemind.formats.timestamps import format_minute
from hivemind.formats.untrusted import read_text_lines
from hivemind.model.reports import ModelState
from hivemind.settings import Setting
from hivemind.text.clean import neutralise, plural

LINES_NAMED = 10

chapter = click.Group()


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    fitting = [one for one in configuration.list_all() if one.name.startswith(incomplete)]
    return [CompletionItem(one.name, help=one.meaning) for one in fitting]


name_argument = click.argument("name", shell_complete=_names)


@chapter.group("config", cls=Family, invoke_without_command=True)
@click.pass_context
def config(ctx: click.Context) -> None:
    """Show and change settings. Without a command, list them.

    The environment counts before the file, the file before the default. Nothing is read from a repository.

    \b
    hivemind config
    hivemind config set recall_limit 8
    HIVEMIND_RECALL_LIMIT=8 hivemind recall "how do we deploy?"
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@config.command("list")
def list_() -> None:
    """List every setting with its value, its source and its meaning."""
    found = configuration.list_all()
    rows = [[one.name, _written(one.value), one.origin, one.meaning] for one in found]
    change = "Change one: hivemind config set NAME VALUE"
    tell_rows(found, ["setting", "value", "from", "meaning"], rows, after=change, seen=lambda: _listed(found))


def _listed(found: Sequence[Setting]) -> None:
    for one in found:
        origin = "" if one.origin == "default" else f"  (from the {one.origin})"
        said = neutralise(f"{one.name} = {json.dumps(one.value, ensure_ascii=False)}")
        click.echo(click.style(said, bold=True) + origin)
        say(indented(one.meaning.replace("``", "'")))


@config.command("get")
@name_argument
def get(name: str) -> None:
    """Print the value of a setting.

    \b
    hivemind config get recall_limit
    """
    found = configuration.get(name)
    tell(found, lambda: say(_written(found.value)))


@config.command("set")
@name_argument
@click.argument("value")
def set_(name: str, value: str) -> None:
    """Change a setting.

    \b
    hivemind config set person "Ada Lovelace"
    """
    found = configuration.change(name, value)
    tell(found, f"{name} is set to {value}.")
    if found.origin == "environment":
        warn(f"{found.variable} in the environment says {_written(found.value)}, and counts before the file")


@config.command("unset")
@name_argument
def unset(name: str) -> None:
    """Reset a setting to its default.

    \b
    hivemind config unset recall_limit
    """
    configuration.unset(name)
    tell({"unset": name}, f"{name} is no longer set in {configuration.file()}.")


@config.command("path")
def config_path() -> None:
    """Print the path of the settings file.

    \b
    $EDITOR "$(hivemind config path)"
    """
    file = configuration.file()
    tell({"path": str(file), "exists": file.exists()}, lambda: say(str(file)))
    if not file.exists():
        note("It does not exist yet; 'hivemind config set' makes it.")


def _written(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@chapter.command("doctor")
@click.option("--quick", is_flag=True, help="Skip the slow comparison of all tables with the log.")
def doctor(quick: bool) -> None:
    """Check the installation, and say what to do about problems.

    The exit code is 1 if something is wrong.
    """
    with progress("Looking"):
        findings = recovery.doctor(store_name(), quick=quick)
    rows = [["ok" if f.is_well else "WRONG", f.what, f.detail, f.remedy] for f in findings]
    tell_rows(findings, ["", "what", "found", "remedy"], rows)
    sys.exit(0 if all(finding.is_well for finding in findings) else 1)


@chapter.group("quarantine", cls=Family, invoke_without_command=True)
@click.pass_context
def quarantine_(ctx: click.Context) -> None:
    """Inspect, retry or discard input that could not be read. Without a command, list it.

    Items come from hooks, transcripts and imports. No agent is ever shown them.

    \b
    hivemind quarantine
    hivemind quarantine show 3f9a
    hivemind quarantine retry
    hivemind quarantine discard --all
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(quarantine_list)


item_ids = click.argument("ids", metavar="[ID]...", nargs=-1)


@quarantine_.command("list")
def quarantine_list() -> None:
    """List the items: when each was set aside, where it came from, and why it could not be read."""
    found = quarantine.items()
    listed = [{name: getattr(item, name) for name in ("id", "at", "door", "where", "reason")} for item in found]
    rows = [[item.id, format_minute(item.at), item.door, item.where, item.reason] for item in found]
    tell_rows(
        listed, ["id", "since", "from", "where", "why"], rows,
        nothing="Empty: everything that came in could be read.", after="Look at one: hivemind quarantine show ID",
    )  # fmt: skip


@quarantine_.command("show")
@click.argument("id")
def quarantine_show(id: str) -> None:
    """Print an item, without secrets and without control characters.

    \b
    hivemind quarantine show 3f9a
    """
    item = quarantine.show(id)
    tell(replace(item, content=neutralise(item.content)), lambda: _item(item))


def _item(item: quarantine.Item) -> None:
    label("id", item.id)
    label("since", format_minute(item.at))
    label("from", f"{item.door}: {item.where}")
    label("why", item.reason)
    heading("What it says" + (", the beginning" if item.is_cut else ""))
    say(indented(item.content))


@quarantine_.command("discard")
@item_ids
@click.option("--all", "everything", is_flag=True, help="All of them.")
def quarantine_discard(ids: tuple[str, ...], everything: bool) -> None:
    """Delete items.

    \b
    hivemind quarantine discard 3f9a
    hivemind quarantine discard --all
    """
    count = quarantine.discard(ids, everything=everything)
    tell({"discarded": count}, f"Discarded {plural(count, 'item')}.")


@quarantine_.command("retry")
@item_ids
def quarantine_retry(ids: tuple[str, ...]) -> None:
    """Read items from hooks again, for example after an upgrade; what still cannot be read stays.

    \b
    hivemind quarantine retry
    hivemind quarantine retry 3f9a
    """
    again = {item.id for item in quarantine.retry(ids)}
    with open_mind():
        back = again & {item.id for item in quarantine.items()}
    done = {"read": len(again) - len(back), "still_unreadable": len(back)}
    tell(done, f"Read {plural(done['read'], 'item')}; {len(back):,} still cannot be read.")


class FileOrCommand(Family):
    """What names no subcommand is the file to write; nothing at all is a copy beside the store."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, with ``create`` where nothing else is asked."""
        first = next((word for word in args if not word.startswith("-")), "")
        if first not in self.commands and not {"-h", "--help"} & set(args):
            args = ["create", *args]
        return super().parse_args(ctx, args)


@chapter.group("backup", cls=FileOrCommand)
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
def create(file: str) -> None:
    """Write a backup and check it.

    \b
    hivemind backup create /mnt/usb/memory.db
    """
    with open_mind() as mind, progress("Copying"):
        made = mind.maintenance.backup(file)
    tell(made, f"Backed up {made.entries:,} entries to {made.file}")


@backup.command("list")
def listed() -> None:
    """List the backups beside the store."""
    with open_mind() as mind:
        found = mind.maintenance.backups()
    rows = [[Path(one.file).name, f"{one.entries:,} entries" if one.entries else "unreadable"] for one in found]
    tell_rows(found, ["file", "holds"], rows, nothing="No backup yet; 'hivemind backup' makes one.")


@backup.command("restore")
@click.argument("file")
@yes_option
def restore(file: str, yes: bool) -> None:
    """Restore a backup, by its path or its name in the list.

    What was erased or rejected since stays out. What stands now is kept as a backup, so that this can be undone.

    \b
    hivemind backup restore /mnt/usb/memory.db
    """
    make_sure(f"Replace everything by what {file} holds?", yes=yes)
    with progress("Restoring"):
        done = recovery.restore_backup(file, store_name())
    kept = f"; {done.kept_out:,} erasures and rejections were carried over" if done.kept_out else ""
    before = f"\nWhat stood here before: {done.before}" if done.before else ""
    tell(done, f"Restored {done.entries:,} entries{kept}.{before}")
    if done.warning:
        warn(done.warning)


@chapter.command("repair")
def repair() -> None:
    """Repair a damaged store from what can still be read.

    What is derived is derived again. If the log itself is damaged, every entry that verifies is saved, the damaged
    file is kept, and what was lost is told and recorded. The exit code is 1 if something was lost.
    """
    with progress("Repairing"):
        done = recovery.repair(store_name())
    if not done.before:
        tell(done, f"All {done.entries:,} entries are there, and the tables say what the log says.")
        return
    tell(done, f"Saved {done.entries:,} entries. The damaged file is kept: {done.before}")
    if done.lost or done.without_content:
        lost = f"Lost: {done.lost:,} entries, and the content of {done.without_content:,} others."
        warn(f"{lost} An older backup may hold them: hivemind backup list")
        sys.exit(1)


@chapter.command("rebuild")
def rebuild() -> None:
    """Rebuild all tables from the log. No answer changes."""
    with open_mind() as mind, progress("Rebuilding") as advance:
        mind.maintenance.rebuild(advance)
    tell({"rebuilt": True}, "Rebuilt.")


@chapter.command("prune")
@dry_run_option
def prune(dry_run: bool) -> None:
    """Delete observations beyond the settings keep_days and keep_megabytes; sources of memories stay.

    \b
    hivemind prune --dry-run
    """
    with open_mind() as mind:
        done = mind.sessions.prune(dry_run=dry_run)
    went = f"{plural(done.observations, 'observation')}, {done.bytes / 1e6:.1f} MB"
    tell(done, f"{'Would let' if dry_run else 'Let'} go of {went}.")


@chapter.command("export")
@click.argument("file", type=click.File("wb"), default="-")
@click.option("--markdown", type=click.Path(file_okay=False, path_type=Path), help="A folder for one file a memory.")
@click.option("--session", default="", help="Only what was learned in this session.")
@click.option("--owner", default="", help="Only what belongs to this person.")
@everywhere_option
def export(file: BinaryIO, markdown: Path | None, **chosen: Any) -> None:
    """Export memories as lines of JSON, or as a folder of Markdown files.

    \b
    hivemind export memories.jsonl
    hivemind export --markdown docs/memory
    """
    with open_mind() as mind:
        if markdown:
            place = str(markdown)
            count = sum(_page(markdown / name, content) for name, content in mind.files.export_pages(**chosen))
        else:
            place = getattr(file, "name", "-")
            lines = mind.files.export_lines(**chosen)
            count = sum(bool(file.write(line.encode() + b"\n")) for line in lines)
    if place not in ("-", "<stdout>"):
        note(f"Wrote {plural(count, 'memory')} to {place}.")


def _page(file: Path, content: str) -> bool:
    file.parent.mkdir(parents=True, exist_ok=True)
    return bool(file.write_text(content))


@chapter.command("import")
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--approve", is_flag=True, help="Trust the file; without this, memories arrive as proposals.")
def import_(file: BinaryIO, approve: bool) -> None:
    """Import memories that 'hivemind export' wrote.

    A line that cannot be read costs no other: it is named, kept in the quarantine, and the exit code is 1. Where no
    line can be read, nothing is taken in.

    \b
    hivemind import memories.jsonl
    hivemind import --approve < memories.jsonl
    """
    with open_mind() as mind, progress("Importing"):
        done = mind.files.import_lines(read_text_lines(file), approve=approve, name=getattr(file, "name", ""))
    tell(done, f"Imported {plural(done.new, 'memory')}; {done.known:,} known already.")
    for line in done.unreadable[:LINES_NAMED]:
        warn(line)
    if done.unreadable:
        more = f", {len(done.unreadable) - LINES_NAMED:,} more" if len(done.unreadable) > LINES_NAMED else ""
        count = plural(len(done.unreadable), "line")
        warn(f"{count} could not be read{more}; kept in the quarantine: hivemind quarantine")
    if done.refused:
        note(f"{done.refused:,} stayed out: their values were rejected or erased here.")
    if done.new and not approve:
        note("They are proposals until a person approves them: hivemind review.")
        note(f"Undo: hivemind rollback --batch {done.batch}")
    sys.exit(1 if done.unreadable else 0)


@chapter.group("model", cls=Family, invoke_without_command=True)
@click.pass_context
def model(ctx: click.Context) -> None:
    """Show the embedding model and how many passages have vectors.

    \b
    hivemind model
    hivemind model use /models/all-minilm       a folder with model.onnx and tokenizer.json
    hivemind model use https://host/v1#name     an OpenAI-compatible endpoint
    hivemind model use built-in
    """
    if ctx.invoked_subcommand is None:
        with open_mind() as mind:
            _model_state(mind.maintenance.model())


@model.command("use")
@click.argument("name")
def use(name: str) -> None:
    """Choose the embedding model: a folder, an address, built-in, or none.

    \b
    hivemind model use none
    """
    with open_mind() as mind:
        _model_state(mind.maintenance.use_model(_named(name)))


@model.command("catch-up")
def catch_up() -> None:
    """Make all missing vectors now instead of little by little."""
    with open_mind() as mind, progress("Embedding") as advance:
        done = mind.maintenance.catch_up(advance)
    tell({"embedded": done}, f"Embedded {done:,} passages.")


@model.command("compare")
@click.argument("names", nargs=-1, required=True)
def compare(names: tuple[str, ...]) -> None:
    """Compare embedding models on your own memories: quality and cost.

    \b
    hivemind model compare built-in /models/all-minilm
    """
    with open_mind() as mind, progress("Comparing"):
        compared = mind.maintenance.compare_models([_named(name) for name in names])
    rows = [[one.name, f"{one.found:.3f}", f"{one.milliseconds:.1f}"] for one in compared]
    tell_rows(compared, ["model", "finds (MRR)", "ms a text"], rows)


def _named(name: str) -> str:
    return "" if name == "built-in" else name


def _model_state(state: ModelState) -> None:
    told = f"{state.embedded:,} passages embedded, {state.waiting:,} waiting"
    without = f"No model: {state.without}. Recall goes by words alone."
    tell(state, lambda: say(without if state.without else f"{state.name}, {state.dimension} dimensions: {told}"))


@chapter.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a shell script that completes commands, options and memory ids.

    \b
    echo 'eval "$(hivemind completion bash)"' >> ~/.bashrc
    echo 'eval "$(hivemind completion zsh)"' >> ~/.zshrc
    hivemind completion fish > ~/.config/fish/completions/hivemind.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    asked = kind(ctx.find_root().command, {}, "hivemind", "_HIVEMIND_COMPLETE")
    click.echo(asked.source_template % asked.source_vars())
