"""``hivemind rollback``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, note, say, say_json, table
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
@as_json_option
def command(
    session: str,
    source: str,
    agent: str,
    batch: str,
    since: str,
    undo: str,
    reason: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Undo a whole batch of learning, as if it had never happened.

    \b
    hivemind rollback --since 2h --dry-run
    hivemind rollback --batch import-3f9a2c1e
    hivemind rollback --undo 5b2e91aa04cd
    """
    asked = Selection(session=session, source=source, agent=agent, batch=batch, since=since)
    with open_mind() as mind:
        if undo:
            say(f"Undone for {mind.undo_rollback(undo)} memories.")
            return
        name, changes = mind.rollback(asked, dry_run=True)
        if as_json and dry_run:
            say_json(changes)
            return
        if not as_json:
            table(["memory", "now", "after"], [[short(c.memory_id), _line(c.before), _line(c.after)] for c in changes])
        if dry_run or not changes:
            note(f"{len(changes)} memories would change." if changes else "Nothing to roll back.")
            return
        if not yes and not as_json:
            click.confirm(f"Roll back {len(changes)} memories?", abort=True)
        name, changes = mind.rollback(asked, reason=reason)
    if as_json:
        say_json({"rollback": name, "changes": changes})
    else:
        say(f"Rolled back {len(changes)} memories. Undo: hivemind rollback --undo {name}")


def _line(memory: Memory | None) -> str:
    return f"{memory.status}: {first_line(memory.text, 60)}" if memory else "never learned"
