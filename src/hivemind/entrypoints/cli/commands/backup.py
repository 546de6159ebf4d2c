"""``hivemind backup``."""

from pathlib import Path

import click

from hivemind.app.mending import restore_backup
from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, say, say_json, table, warn


class FileOrCommand(click.Group):
    """What names no subcommand is the file to write; nothing at all is a copy beside the store."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, with ``create`` where nothing else is asked."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["create", *args]
        return super().parse_args(ctx, args)


@click.group("backup", cls=FileOrCommand)
def command() -> None:
    """Copy the store while others go on writing, and go back to a copy.

    \b
    hivemind backup                        a copy beside the store
    hivemind backup /mnt/usb/memory.db     a copy elsewhere
    hivemind backup list
    hivemind backup restore FILE
    """


@command.command("create")
@click.argument("file", required=False, default="")
@as_json_option
def create(file: str, as_json: bool) -> None:
    """Write a copy and check it."""
    with open_mind() as mind:
        made = mind.backup(file)
    if as_json:
        say_json(made)
    else:
        say(f"Backed up {made.entries:,} entries to {made.file}")


@command.command("list")
@as_json_option
def listed(as_json: bool) -> None:
    """The copies that lie beside the store."""
    with open_mind() as mind:
        found = mind.backups()
    if as_json:
        say_json(found)
    else:
        rows = [[Path(one.file).name, f"{one.entries:,} entries" if one.entries else "unreadable"] for one in found]
        table(["file", "holds"], rows)


@command.command("restore")
@click.argument("file")
@click.option("--yes", is_flag=True, help="Do not ask.")
@as_json_option
def restore(file: str, yes: bool, as_json: bool) -> None:
    """Go back to a copy, by its path or its name in the list.

    What was erased or rejected since stays out. What stands now is kept as a backup, so that this can be undone.
    """
    if not yes and not as_json:
        click.confirm(f"Replace everything by what {file} holds?", abort=True)
    done = restore_backup(file, click.get_current_context().find_root().obj)
    if as_json:
        say_json(done)
        return
    kept = f"; {done.kept_out:,} erasures and rejections were carried over" if done.kept_out else ""
    say(f"Restored {done.entries:,} entries{kept}.")
    if done.before:
        say(f"What stood here before: {done.before}")
    if done.warning:
        warn(done.warning)
