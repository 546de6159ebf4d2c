"""``hivemind review`` and the decisions of a person: approve, reject, verify, forget, restore, roll back, erase."""

import sys
from pathlib import Path
from typing import Any

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import (
    apply_to_memory,
    complete_memory_id,
    confirm,
    dry_run_option,
    everywhere_option,
    limit_option,
    maybe_memory_argument,
    memory_argument,
    open_mind,
    own_memory_argument,
    reason_option,
    yes_option,
)
from hivemind.entrypoints.cli.framework import CommandGroup, wants
from hivemind.entrypoints.cli.output import (
    emit,
    emit_rows,
    note,
    on_terminal,
    print_diff,
    print_heading,
    print_memory,
    print_table,
    progress,
    quote,
    summarise,
)
from hivemind.errors import InvalidInput
from hivemind.formats.timestamps import format_date
from hivemind.model.erasure import Erasure
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Memory
from hivemind.model.reports import Mention, Mentions, MentionSort
from hivemind.model.review import ReviewItem, Selection
from hivemind.model.scope import Scope
from hivemind.text.clean import first_line, plural

commands = click.Group()

MAX_MENTIONS_SHOWN = 20
"""Lines of each sort; --json has all."""
ENTRY_ID_LENGTH = 18
"""Enough to tell entries of the log apart, whose ids begin with their time."""


SINGLE_CHOICES = "a approve · e edit · r reject · s skip · q quit"
CONFLICT_CHOICES = "a approve · o approve over it · e edit · m merge · r reject · s skip · q quit"
"""For a memory that contradicts others."""


@commands.group("review", cls=CommandGroup, invoke_without_command=True)
@click.option("--list", "only_list", is_flag=True, help="List pending memories and exit.")
@limit_option(50, "Maximum number of results.")
@click.pass_context
def review(ctx: click.Context, only_list: bool, limit: int) -> None:
    """Review pending memories: proposals, disputes, changed code.

    For scripts: 'hivemind review --json', then 'hivemind approve', 'reject' or 'forget'.

    \b
    hivemind review
    hivemind review --list
    """
    if ctx.invoked_subcommand:
        return
    with open_mind() as mind:
        queue = mind.review.queue(limit=limit)
        if only_list or not queue or wants("json") or not on_terminal():
            rows = [[shorten_id(item.memory.id), item.why, first_line(item.memory.text, 90)] for item in queue]
            emit_rows(queue, ["id", "why", "text"], rows, if_empty="Nothing to review.")
            return
        for place, item in enumerate(queue, start=1):
            if not _decide(mind, item, f"{place} of {len(queue)}"):
                break


def _decide(mind: Hivemind, item: ReviewItem, place: str) -> bool:
    """Show a memory and apply the person's decision; false if they quit."""
    print_heading(f"{place}: {item.why}")
    print_memory(item.memory)
    for other in item.against:
        print_heading("contradicts")
        click.echo(quote(other.text, ""))
        note(summarise(other))
    memory = item.memory
    choices = CONFLICT_CHOICES if item.against else SINGLE_CHOICES
    keys = click.Choice([choice[0] for choice in choices.split(" · ")])
    match click.prompt(choices, type=keys, show_choices=False, default="s"):
        case "a" if item.reason.asks_for_verification:
            mind.review.verify(memory.id)
        case "a":
            mind.approve(memory.id)
        case "o":
            mind.approve(memory.id, over=True)
        case "e" | "m" as choice:
            wording = click.edit(memory.text) or memory.text
            replaces = [memory.id, *(other.id for other in item.against if choice == "m")]
            mind.remember(
                wording.strip(), scope=memory.scope, kind=memory.kind, tags=memory.tags, subject=memory.subject,
                replaces=replaces, metadata=memory.metadata,
            )  # fmt: skip
        case "r":
            mind.reject(memory.id, reason=click.prompt("Why", default="", show_default=False))
        case "q":
            return False
    return True


@review.command("dispute")
@memory_argument
@click.argument("other", metavar="OTHER_ID", shell_complete=complete_memory_id)
@click.option("--reason", default="", help="Why they cannot both be true.")
def dispute(memory: str, other: str, **options: Any) -> None:
    """Mark two memories as contradictory, to be settled in review.

    \b
    hivemind review dispute 3f9a2c1e 5b2e91aa --reason "the port cannot be both"
    """
    apply_to_memory(lambda mind, *ids, **more: mind.review.dispute(*ids, **more), "Disputed", memory, other, **options)


@review.command("promote")
@own_memory_argument
@click.option("--to", "file", default="AGENTS.md", show_default=True, metavar="FILE", help="The rules file.")
@yes_option
def promote(memory: str, file: str, yes: bool) -> None:
    """Write a reviewed memory into a rules file, as a diff you confirm.

    \b
    hivemind review promote 3f9a2c1e --to AGENTS.md
    """
    with open_mind() as mind:
        path, before, after = mind.review.promote(memory, file)
    if before == after:
        note(f"{file} has it already.")
        return
    if not wants("json"):
        print_diff(before, after, file, file)
    if not yes:
        click.confirm(f"Write {file}?", abort=True, err=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(after)
    emit({"file": str(path), "before": before, "after": after}, f"Wrote {file}.")


@commands.command("approve")
@memory_argument
@click.option("--over", is_flag=True, help="Supersede what contradicts it.")
@reason_option
def approve(**options: Any) -> None:
    """Approve a proposal; --over settles a dispute in its favour.

    \b
    hivemind approve 3f9a2c1e
    hivemind approve 3f9a2c1e --over
    """
    apply_to_memory(Hivemind.approve, "Approved", **options)


@commands.command("reject")
@memory_argument
@reason_option
def reject(**options: Any) -> None:
    """Reject a memory and keep its value out; 'restore' undoes that.

    \b
    hivemind reject 3f9a2c1e --reason "that was one machine only"
    """
    apply_to_memory(Hivemind.reject, "Rejected", **options)


@commands.command("verify")
@memory_argument
@reason_option
def verify(**options: Any) -> None:
    """Mark a memory as still correct.

    \b
    hivemind verify 3f9a2c1e
    """
    apply_to_memory(lambda mind, **more: mind.review.verify(**more), "Verified", **options)


@commands.command("forget")
@memory_argument
@reason_option
def forget(**options: Any) -> None:
    """Forget a memory until 'restore' brings it back.

    It stays in the history; 'erase' deletes it for good.

    \b
    hivemind forget 3f9a2c1e --reason "no longer so"
    """
    apply_to_memory(Hivemind.forget, "Forgot", **options)


@commands.command("restore")
@memory_argument
@reason_option
def restore(memory: str, **options: Any) -> None:
    """Restore a forgotten, rejected or superseded memory.

    \b
    hivemind restore 3f9a2c1e
    """
    if Path(memory).is_file():
        raise InvalidInput(f"{memory} is a file; to restore a backup: hivemind backup restore {memory}")
    apply_to_memory(Hivemind.restore, "Restored", memory, **options)


@commands.command("rollback")
@click.option("--session", default="", help="What was learned in this session.")
@click.option("--source", default="", metavar="FILE", help="What has this file as its source.")
@click.option("--agent", default="", help="What this agent or person stored.")
@click.option("--batch", default="", help="One batch, such as an import.")
@click.option("--since", default="", metavar="WHEN", help="Everything since: 2h, 3d or a date.")
@click.option("--undo", default="", metavar="NAME", help="Undo a rollback.")
@reason_option
@dry_run_option
@yes_option
def rollback(undo: str, reason: str, dry_run: bool, yes: bool, **filters: str) -> None:
    """Undo a batch of learning, such as an import or a session.

    \b
    hivemind rollback --since 2h --dry-run
    hivemind rollback --batch import-3f9a2c1e
    hivemind rollback --undo 5b2e91aa04cd
    """
    selection = Selection(**filters)
    with open_mind() as mind:
        if undo:
            count = mind.review.undo_rollback(undo)
            emit({"undone": count}, f"Undid the rollback of {plural(count, 'memory')}.")
            return
        name, changes = mind.review.rollback(selection, dry_run=True)
        if dry_run or not changes or not wants("json"):
            rows = [[shorten_id(c.memory_id), _format_state(c.before), _format_state(c.after)] for c in changes]
            would = f"{plural(len(changes), 'memory')} would change." if dry_run else ""
            emit_rows(changes, ["memory", "now", "after"], rows, after=would, if_empty="Nothing to roll back.")
        if dry_run or not changes:
            return
        confirm(f"Roll back {plural(len(changes), 'memory')}?", yes=yes)
        name, changes = mind.review.rollback(selection, reason=reason)
    undo_hint = f"Undo: hivemind rollback --undo {name}"
    emit({"rollback": name, "changes": changes}, f"Rolled back {plural(len(changes), 'memory')}. {undo_hint}")


def _format_state(memory: Memory | None) -> str:
    return f"{memory.status}: {first_line(memory.text, 60)}" if memory else "not stored"


@commands.command("erase")
@maybe_memory_argument
@everywhere_option
@click.option("--about", default="", metavar="NAME", help="Everything that names a person, customer, ticket or value.")
@click.option(
    "--except", "exclusions", multiple=True, metavar="ID", help="With --about: leave this out; may be repeated."
)
@click.option("--also", multiple=True, metavar="ID", help="Another memory to erase with it; can be repeated.")
@reason_option
@dry_run_option
@yes_option
def erase(
    memory: str, also: tuple[str, ...], about: str, exclusions: tuple[str, ...], reason: str, dry_run: bool, yes: bool,
    everywhere: bool,
) -> None:  # fmt: skip
    """Erase a memory and everything derived from it for good.

    The receipt lists each place: done where nothing is left, pending where it is tried again, remains where something
    still contains it, or out of reach. The exit code is 1 if something is pending or remains. For a memory that is
    erased already, the receipt is shown again. --about erases everything that contains a name: it searches the whole
    store, in every repository, and asks first.

    \b
    hivemind erase 3f9a2c1e --reason "a customer's name"
    hivemind erase 3f9a2c1e --also 5b2e91aa
    hivemind erase --about "ACME Corp" --dry-run
    hivemind erase --about REQ-12 --except 3f9a2c1e
    """
    if bool(memory) == bool(about):
        raise InvalidInput("name what to erase: the id of a memory, or --about with a name")
    if about:
        _erase_about(about, exclusions, reason, dry_run=dry_run, yes=yes)
        return
    if exclusions or dry_run:
        raise InvalidInput("--except and --dry-run go with --about")
    with open_mind() as mind:
        receipt = None if also else mind.erasures.receipt(memory, everywhere=everywhere)
        if receipt is None:
            targets = [mind.show(target, everywhere=everywhere) for target in (memory, *also)]
            texts = "\n".join(quote(target.text, "") for target in targets)
            confirm(f"{texts}\nErase this for good?", yes=yes)
            with progress("Erasing"):
                other_ids = [target.id for target in targets[1:]]
                receipt = mind.erase(targets[0].id, also=other_ids, reason=reason, everywhere=everywhere)
            if any(target.scope is Scope.TEAM for target in targets):
                receipt = mind.team.carry(receipt)
    _show_receipt(receipt)


def _erase_about(about: str, exclusions: tuple[str, ...], reason: str, *, dry_run: bool, yes: bool) -> None:
    if wants("json") and not (dry_run or yes):
        raise InvalidInput("with --json, say --dry-run to see the list or --yes to erase what is in it")
    with open_mind() as mind:
        with progress("Searching") as advance:
            mentions = mind.erasures.find_mentions(about, progress=advance)
        if dry_run or not wants("json"):
            emit(mentions, lambda: _show_mentions(mentions))
        erasable = mentions.excluding(exclusions)
        if dry_run or not erasable:
            return
        confirm(f"Erase {plural(len(erasable), 'entry')} for good?", yes=yes)
        with progress("Erasing") as advance:
            receipt = mind.erasures.erase_mentions(
                about, mentions=mentions, left_out=exclusions, reason=reason, progress=advance
            )  # fmt: skip
        if mind.team.hub:
            receipt = mind.team.carry(receipt)
    _show_receipt(receipt)


def _show_mentions(mentions: Mentions) -> None:
    """Print what contains a name, grouped, with the repository of each."""
    if not mentions.found:
        note(f"Nothing in this store contains {mentions.about!r}.")
        return
    for sort, group in mentions.by_sort():
        count = len(group)
        print_heading(f"{count:,} in quarantine" if sort is MentionSort.QUARANTINE else plural(count, sort.value))
        rows = [
            [_format_id(mention), format_date(mention.at), _format_place(mention), _format_excerpt(mention)]
            for mention in group[:MAX_MENTIONS_SHOWN]
        ]
        print_table(["id", "when", "repository", "text"], rows)
        if len(group) > MAX_MENTIONS_SHOWN:
            note(f"and {len(group) - MAX_MENTIONS_SHOWN:,} more; --json lists all")
    staying = len(mentions.found) - len(mentions.erasable)
    remark = f" {staying:,} stay, because they are not yours or must be kept on record." if staying else ""
    entries = plural(len(mentions.erasable), "entry")
    note(f"All repositories of this store were searched. {entries} can be erased.{remark}")


def _format_excerpt(mention: Mention) -> str:
    return f"{mention.excerpt} ({mention.stays})" if mention.stays else mention.excerpt


def _format_place(mention: Mention) -> str:
    is_memory = mention.sort in (MentionSort.MEMORY, MentionSort.VERSION, MentionSort.TRACE)
    return mention.repo or ("everywhere" if is_memory else "")


def _format_id(mention: Mention) -> str:
    match mention.sort:
        case MentionSort.BACKUP | MentionSort.QUARANTINE | MentionSort.SESSION:
            return mention.id
        case MentionSort.MEMORY | MentionSort.VERSION | MentionSort.TRACE:
            return shorten_id(mention.id)
    return mention.id[:ENTRY_ID_LENGTH]


def _show_receipt(receipt: Erasure) -> None:
    ids = ", ".join(map(shorten_id, receipt.memories))
    rows = [[place.name, place.state, place.detail] for place in receipt.places]
    emit_rows(receipt, [f"erased {ids}", "state", ""], rows)
    sys.exit(0 if receipt.is_complete else 1)
