"""What a person decides, undoes and destroys."""

import sys
from pathlib import Path
from typing import Any

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import (
    across_option,
    act,
    dry_run_option,
    make_sure,
    maybe_memory_argument,
    memory_argument,
    memory_ids,
    open_mind,
    reason_option,
    yes_option,
)
from hivemind.entrypoints.cli.framework import wants
from hivemind.entrypoints.cli.output import block, heading, note, progress, table, tell, tell_rows
from hivemind.errors import InvalidInput
from hivemind.formats.timestamps import format_date
from hivemind.model.erasure import Erasure
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Memory
from hivemind.model.reports import Mention, Mentions, MentionSort
from hivemind.model.review import Selection
from hivemind.model.scope import Scope
from hivemind.text.clean import first_line, plural

chapter = click.Group()

SHOWN = 20
"""Lines of each sort; who wants to see thousands asks for JSON."""
ENTRY_ID = 18
"""Enough to tell entries of the log apart, whose ids begin with their time."""


@chapter.command("approve")
@memory_argument
@click.option("--over", is_flag=True, help="Supersede what contradicts it.")
@reason_option
def approve(**given: Any) -> None:
    """Approve a proposal, or settle a dispute in its favour with --over.

    \b
    hivemind approve 3f9a2c1e
    hivemind approve 3f9a2c1e --over
    """
    act(Hivemind.approve, "Approved", **given)


@chapter.command("reject")
@memory_argument
@reason_option
def reject(**given: Any) -> None:
    """Reject a memory and keep its value out; 'restore' undoes that.

    \b
    hivemind reject 3f9a2c1e --reason "that was one machine only"
    """
    act(Hivemind.reject, "Rejected", **given)


@chapter.command("dispute")
@memory_argument
@click.argument("other", metavar="OTHER_ID", shell_complete=memory_ids)
@click.option("--reason", default="", help="Why they cannot both hold.")
def dispute(memory: str, other: str, **given: Any) -> None:
    """Mark two memories as contradictory, to be settled in review.

    \b
    hivemind dispute 3f9a2c1e 5b2e91aa --reason "the port cannot be both"
    """
    act(lambda mind, *ids, **more: mind.review.dispute(*ids, **more), "Disputed", memory, other, **given)


@chapter.command("verify")
@memory_argument
@reason_option
def verify(**given: Any) -> None:
    """Mark a memory as still correct.

    \b
    hivemind verify 3f9a2c1e
    """
    act(lambda mind, **more: mind.review.verify(**more), "Verified", **given)


@chapter.command("retract")
@memory_argument
@reason_option
def retract(**given: Any) -> None:
    """Retract a memory; 'restore' brings it back.

    \b
    hivemind retract 3f9a2c1e --reason "no longer so"
    """
    act(Hivemind.forget, "Retracted", **given)


@chapter.command("restore")
@memory_argument
@reason_option
def restore(memory: str, **given: Any) -> None:
    """Restore a retracted, rejected or superseded memory.

    \b
    hivemind restore 3f9a2c1e
    """
    if Path(memory).is_file():
        raise InvalidInput(f"{memory} is a file; to go back to a backup: hivemind backup restore {memory}")
    act(Hivemind.restore, "Restored", memory, **given)


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
    """Undo a batch of learning, such as an import or a session.

    \b
    hivemind rollback --since 2h --dry-run
    hivemind rollback --batch import-3f9a2c1e
    hivemind rollback --undo 5b2e91aa04cd
    """
    asked = Selection(**selected)
    with open_mind() as mind:
        if undo:
            count = mind.review.undo_rollback(undo)
            tell({"undone": count}, f"Undone for {plural(count, 'memory')}.")
            return
        name, changes = mind.review.rollback(asked, dry_run=True)
        if dry_run or not changes or not wants("json"):
            rows = [[shorten_id(c.memory_id), _line(c.before), _line(c.after)] for c in changes]
            would = f"{plural(len(changes), 'memory')} would change." if dry_run else ""
            tell_rows(changes, ["memory", "now", "after"], rows, after=would, nothing="Nothing to roll back.")
        if dry_run or not changes:
            return
        make_sure(f"Roll back {plural(len(changes), 'memory')}?", yes=yes)
        name, changes = mind.review.rollback(asked, reason=reason)
    undoing = f"Undo: hivemind rollback --undo {name}"
    tell({"rollback": name, "changes": changes}, f"Rolled back {plural(len(changes), 'memory')}. {undoing}")


def _line(memory: Memory | None) -> str:
    return f"{memory.status}: {first_line(memory.text, 60)}" if memory else "never learned"


@chapter.command("erase")
@maybe_memory_argument
@across_option
@click.option("--about", default="", metavar="NAME", help="Everything that names a person, customer, ticket or value.")
@click.option(
    "--except", "left_out", multiple=True, metavar="ID", help="With --about: leave this out; may be repeated."
)
@click.option("--also", multiple=True, metavar="ID", help="Another memory to erase with it; can be repeated.")
@reason_option
@dry_run_option
@yes_option
def erase(
    memory: str, also: tuple[str, ...], about: str, left_out: tuple[str, ...], reason: str, dry_run: bool, yes: bool,
    everywhere: bool,
) -> None:  # fmt: skip
    """Erase a memory and everything derived from it, or everything that names something, for good.

    The receipt names each place where it was: done where nothing was found, pending where it is tried again, remains
    where something still says it, or outside our reach. The exit code is 1 if something is pending or remains. Of a
    memory that is erased already, the receipt is shown again. --about looks through the whole store, in every
    repository, and asks first.

    \b
    hivemind erase 3f9a2c1e --reason "a customer's name"
    hivemind erase 3f9a2c1e --also 5b2e91aa
    hivemind erase --about "ACME Corp" --dry-run
    hivemind erase --about REQ-12 --except 3f9a2c1e
    """
    if bool(memory) == bool(about):
        raise InvalidInput("name what to erase: the id of a memory, or --about with a name")
    if about:
        _erase_about(about, left_out, reason, dry_run=dry_run, yes=yes)
        return
    if left_out or dry_run:
        raise InvalidInput("--except and --dry-run go with --about")
    with open_mind() as mind:
        receipt = None if also else mind.erasures.receipt(memory, everywhere=everywhere)
        if receipt is None:
            chosen = [mind.show(written, everywhere=everywhere) for written in (memory, *also)]
            texts = "\n".join(block(target.text, "") for target in chosen)
            make_sure(f"{texts}\nDestroy this for good?", yes=yes)
            with progress("Erasing"):
                others = [target.id for target in chosen[1:]]
                receipt = mind.erase(chosen[0].id, also=others, reason=reason, everywhere=everywhere)
            if any(target.scope is Scope.TEAM for target in chosen):
                receipt = mind.team.carry(receipt)
    _show_receipt(receipt)


def _erase_about(about: str, left_out: tuple[str, ...], reason: str, *, dry_run: bool, yes: bool) -> None:
    if wants("json") and not (dry_run or yes):
        raise InvalidInput("with --json, say --dry-run to see the list or --yes to erase what is in it")
    with open_mind() as mind:
        with progress("Searching") as advance:
            mentions = mind.erasures.find_mentions(about, progress=advance)
        if dry_run or not wants("json"):
            tell(mentions, lambda: _show_mentions(mentions))
        going = mentions.excluding(left_out)
        if dry_run or not going:
            return
        make_sure(f"Destroy {plural(len(going), 'entry')} for good?", yes=yes)
        with progress("Erasing") as advance:
            receipt = mind.erasures.erase_mentions(
                about, mentions=mentions, left_out=left_out, reason=reason, progress=advance
            )  # fmt: skip
        if mind.team.hub:
            receipt = mind.team.carry(receipt)
    _show_receipt(receipt)


def _show_mentions(mentions: Mentions) -> None:
    """What names something, by sort, with the repository beside each."""
    if not mentions.found:
        note(f"Nothing in this store names {mentions.about}.")
        return
    for sort, group in mentions.by_sort():
        heading(plural(len(group), sort.value) if sort is not MentionSort.QUARANTINE else f"{len(group)} in quarantine")
        rows = [[_shown_id(one), format_date(one.at), _shown_place(one), _shown(one)] for one in group[:SHOWN]]
        table(["id", "when", "repository", "says"], rows)
        if len(group) > SHOWN:
            note(f"and {len(group) - SHOWN:,} more; --json lists all")
    staying = len(mentions.found) - len(mentions.erasable)
    kept = f" {staying:,} stay: they are not yours, or records that cannot go." if staying else ""
    note(
        f"All repositories of this store were searched. {plural(len(mentions.erasable), 'entry')} can be erased.{kept}"
    )


def _shown(mention: Mention) -> str:
    return f"{mention.excerpt} ({mention.stays})" if mention.stays else mention.excerpt


def _shown_place(mention: Mention) -> str:
    is_memory = mention.sort in (MentionSort.MEMORY, MentionSort.VERSION, MentionSort.TRACE)
    return mention.repo or ("everywhere" if is_memory else "")


def _shown_id(mention: Mention) -> str:
    if mention.sort in (MentionSort.BACKUP, MentionSort.QUARANTINE, MentionSort.SESSION):
        return mention.id
    return (
        shorten_id(mention.id)
        if mention.sort in (MentionSort.MEMORY, MentionSort.VERSION, MentionSort.TRACE)
        else mention.id[:ENTRY_ID]
    )


def _show_receipt(receipt: Erasure) -> None:
    erased = ", ".join(shorten_id(one) for one in receipt.memories)
    rows = [[place.name, place.state, place.detail] for place in receipt.places]
    tell_rows(receipt, [f"erased {erased}", "state", ""], rows)
    sys.exit(0 if receipt.is_complete else 1)
