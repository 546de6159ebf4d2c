"""What a person decides, undoes and destroys."""

import sys
from pathlib import Path
from typing import Any

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import (
    act,
    dry_run_option,
    make_sure,
    memory_argument,
    memory_ids,
    open_mind,
    reason_option,
    yes_option,
)
from hivemind.entrypoints.cli.manners import wants
from hivemind.entrypoints.cli.output import many, progress, tell, tell_rows
from hivemind.errors import InvalidInput
from hivemind.model.ids import short
from hivemind.model.memory import Memory
from hivemind.model.rollback import Selection
from hivemind.model.scope import Scope
from hivemind.model.text import first_line, neutral

chapter = click.Group()


@chapter.command("approve")
@memory_argument
@click.option("--over", is_flag=True, help="In place of what contradicts it.")
@reason_option
def approve(**given: Any) -> None:
    """Confirm a proposal, or settle a dispute in its favour with --over.

    \b
    hivemind approve 3f9a2c1e
    hivemind approve 3f9a2c1e --over
    """
    act(Hivemind.approve, "Approved", **given)


@chapter.command("reject")
@memory_argument
@reason_option
def reject(**given: Any) -> None:
    """Say no to a memory: it leaves recall and its value stays out. 'restore' lifts that.

    \b
    hivemind reject 3f9a2c1e --reason "that was one machine only"
    """
    act(Hivemind.reject, "Rejected", **given)


@chapter.command("dispute")
@memory_argument
@click.argument("other", metavar="OTHER_ID", shell_complete=memory_ids)
@click.option("--reason", default="", help="Why they cannot both hold.")
def dispute(memory: str, other: str, reason: str) -> None:
    """Say that two memories cannot both hold; review settles it.

    \b
    hivemind dispute 3f9a2c1e 5b2e91aa --reason "the port cannot be both"
    """
    act(Hivemind.dispute, "Disputed", memory, other, reason=reason)


@chapter.command("verify")
@memory_argument
@reason_option
def verify(**given: Any) -> None:
    """Say that a memory was looked at and still holds.

    \b
    hivemind verify 3f9a2c1e
    """
    act(Hivemind.verify, "Verified", **given)


@chapter.command("retract")
@memory_argument
@reason_option
def retract(**given: Any) -> None:
    """Take a memory back. 'restore' brings it again.

    \b
    hivemind retract 3f9a2c1e --reason "no longer so"
    """
    act(Hivemind.retract, "Retracted", **given)


@chapter.command("restore")
@memory_argument
@reason_option
def restore(memory: str, reason: str) -> None:
    """Let a memory stand again that was taken back, rejected or replaced.

    \b
    hivemind restore 3f9a2c1e
    """
    if Path(memory).is_file():
        raise InvalidInput(f"{memory} is a file; to go back to a backup: hivemind backup restore {memory}")
    act(Hivemind.restore, "Restored", memory, reason=reason)


@chapter.command("rollback")
@click.option("--session", default="", help="What was learned in this session.")
@click.option("--source", default="", metavar="FILE", help="What rests on this file.")
@click.option("--agent", default="", help="What this agent or person said.")
@click.option("--batch", default="", help="One learning run, such as an import.")
@click.option("--since", default="", metavar="WHEN", help="Everything since: 2h, 3d or a date.")
@click.option("--undo", default="", metavar="NAME", help="Undo a rollback.")
@reason_option
@dry_run_option
@yes_option
def rollback(undo: str, reason: str, dry_run: bool, yes: bool, **selected: str) -> None:
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
        make_sure(f"Roll back {many(len(changes), 'memory')}?", yes=yes)
        name, changes = mind.rollback(asked, reason=reason)
    undoing = f"Undo: hivemind rollback --undo {name}"
    tell({"rollback": name, "changes": changes}, f"Rolled back {many(len(changes), 'memory')}. {undoing}")


def _line(memory: Memory | None) -> str:
    return f"{memory.status}: {first_line(memory.text, 60)}" if memory else "never learned"


@chapter.command("erase")
@memory_argument
@click.option("--also", multiple=True, metavar="ID", help="Another memory to erase with it; can be repeated.")
@reason_option
@yes_option
def erase(memory: str, also: tuple[str, ...], reason: str, yes: bool) -> None:
    """Destroy a memory and all that came of it, for good.

    The receipt names each place where it was: done where nothing was found, pending where it is tried again, remains
    where something still says it, or outside our reach. The exit code is 1 if something is pending or remains. Of a
    memory that is erased already, the receipt is shown again.

    \b
    hivemind erase 3f9a2c1e --reason "a customer's name"
    hivemind erase 3f9a2c1e --also 5b2e91aa
    """
    with open_mind() as mind:
        receipt = None if also else mind.erasure(memory)
        if receipt is None:
            known = [mind.show(one) for one in (memory, *also)]
            told = "\n".join(neutral(one.text) for one in known)
            make_sure(f"{told}\nDestroy this for good?", yes=yes)
            with progress("Erasing"):
                receipt = mind.erase(known[0].id, also=[one.id for one in known[1:]], reason=reason)
            if any(one.scope is Scope.TEAM for one in known):
                receipt = mind.carry(receipt)
    erased = ", ".join(short(one) for one in receipt.memories)
    rows = [[place.name, place.state, place.detail] for place in receipt.places]
    tell_rows(receipt, [f"erased {erased}", "state", ""], rows)
    sys.exit(0 if receipt.is_complete else 1)
