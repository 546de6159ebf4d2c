"""``hivemind backup``."""

from pathlib import Path

import click

from hivemind.app.mending import restore_backup
from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.manners import Family, wants
from hivemind.entrypoints.cli.output import progress, tell, tell_rows, warn


class FileOrCommand(Family):
    """What names no subcommand is the file to write; nothing at all is a copy beside the store."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, with ``create`` where nothing else is asked."""
        first = next((word for word in args if not word.startswith("-")), "")
        if first not in self.commands and not {"-h", "--help"} & set(args):
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
def create(file: str) -> None:
    """Write a copy and check it.

    \b
    hivemind backup create /mnt/usb/memory.db
    """
    with open_mind() as mind, progress("Copying"):
        made = mind.backup(file)
    tell(made, f"Backed up {made.entries:,} entries to {made.file}")


@command.command("list")
def listed() -> None:
    """The copies that lie beside the store.

    \b
    hivemind backup list
    """
    with open_mind() as mind:
        found = mind.backups()
    rows = [[Path(one.file).name, f"{one.entries:,} entries" if one.entries else "unreadable"] for one in found]
    tell_rows(found, ["file", "holds"], rows, nothing="No backup yet; 'hivemind backup' makes one.")


@command.command("restore")
@click.argument("file")
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(file: str, yes: bool) -> None:
    """Go back to a copy, by its path or its name in the list.

    What was erased or rejected since stays out. What stands now is kept as a backup, so that this can be undone.

    \b
    hivemind backup restore /mnt/usb/memory.db
    """
    if not yes and not wants("json"):
        click.confirm(f"Replace everything by what {file} holds?", abort=True)
    with progress("Restoring"):
        done = restore_backup(file, click.get_current_context().find_root().obj)
    kept = f"; {done.kept_out:,} erasures and rejections were carried over" if done.kept_out else ""
    before = f"\nWhat stood here before: {done.before}" if done.before else ""
    tell(done, f"Restored {done.entries:,} entries{kept}.{before}")
    if done.warning:
        warn(done.warning)
