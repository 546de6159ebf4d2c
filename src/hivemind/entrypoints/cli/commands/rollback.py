"""``hivemind rollback``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.manners import wants
from hivemind.entrypoints.cli.output import many, tell, tell_rows
from hivemind.model.ids import short
from hivemind.model.memory import Memory
from hivemind.model.rollback import Selection
from hivemind.model.text import first_line


@click.command("rollback")
@click.option("--session", default="", help="What was learned in this session.")
@click.option("--source", default="", metavar="FILE", help="What rests on this file.")
@click.option("--agent", default="", help="What this agent or person said.")
@click.option("--batch", default="", help="One learning run, such as an import.")
@click.option("--since", default="", metavar="WHEN", help="Everything since: 2h, 3d or a date.")
@click.option("--undo", default="", metavar="NAME", help="Undo a rollback.")
@click.option("--reason", default="", help="Why.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(undo: str, reason: str, dry_run: bool, yes: bool, **selected: str) -> None:
    """Undo a whole batch of learning, as if it had never happened.

    \b
    hivemind rollback --since 2h --dry-run
    hivemind rollback --batch import-3f9a2c1e
    hivemind rollback --undo 5b2e91aa04cd
    """
    asked = Selection(**selected)
    with open_mind() as mind:
        if undo:
            count = mind.undo_rollback(undo)
            tell({"undone": count}, f"Undone for {many(count, 'memory')}.")
            return
        name, changes = mind.rollback(asked, dry_run=True)
        if dry_run or not changes or not wants("json"):
            rows = [[short(c.memory_id), _line(c.before), _line(c.after)] for c in changes]
            would = f"{many(len(changes), 'memory')} would change." if dry_run else ""
            tell_rows(changes, ["memory", "now", "after"], rows, after=would, nothing="Nothing to roll back.")
        if dry_run or not changes:
            return
        if not yes and not wants("json"):
            click.confirm(f"Roll back {many(len(changes), 'memory')}?", abort=True)
        name, changes = mind.rollback(asked, reason=reason)
    undoing = f"Undo: hivemind rollback --undo {name}"
    tell({"rollback": name, "changes": changes}, f"Rolled back {many(len(changes), 'memory')}. {undoing}")


def _line(memory: Memory | None) -> str:
    return f"{memory.status}: {first_line(memory.text, 60)}" if memory else "never learned"
