"""``hivemind review`` and the decisions of a person: approve, reject, verify, forget, restore, roll back, erase."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import click

from hivemind.cli import arguments, output
from hivemind.cli.arguments import open_mind
from hivemind.cli.framework import CommandGroup, wants
from hivemind.cli.review_prompt import ReviewPrompt
from hivemind.errors import AccessRevoked, InvalidInput, NotFound, Refused, Unavailable
from hivemind.hivemind import Hivemind
from hivemind.model.erasure import Erasure, Mention, Mentions, MentionSort
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Memory
from hivemind.model.review import MemoryChange, ReviewItem, Selection
from hivemind.model.scope import Scope
from hivemind.model.timestamps import format_date
from hivemind.text.clean import first_line, plural

commands = click.Group()

MAX_MENTIONS_SHOWN = 20
"""Lines of each sort; --json has all."""
ENTRY_ID_LENGTH = 18
"""Enough to tell entries of the log apart, whose ids begin with their time."""


@commands.group("review", cls=CommandGroup, invoke_without_command=True)
@click.option("--list", "only_list", is_flag=True, help="List pending memories and exit.")
@click.option("--all", "older", is_flag=True, help="Also proposals that nobody has looked at for 30 days.")
@arguments.everywhere_option
@arguments.limit_option(100, "Maximum number of results.")
@click.pass_context
def review(ctx: click.Context, only_list: bool, older: bool, limit: int, everywhere: bool) -> None:
    """Review pending memories: proposals, disputes, changed code.

    A key decides one memory, a capital letter all of its origin and kind, and u undoes the last decision. Proposals
    that nobody has looked at for 30 days leave the queue; --all lists them. For scripts: 'hivemind review --json', then
    'hivemind approve', 'reject' or 'forget'.

    \b
    hivemind review
    hivemind review --list --everywhere
    """
    if ctx.invoked_subcommand:
        return
    with open_mind() as mind:
        queue = mind.review.queue(limit=limit, everywhere=everywhere, older=older)
        older_count = 0 if older else mind.review.count_older(everywhere=everywhere)
        if only_list or not queue or wants("json") or not output.on_terminal():
            rows = [[shorten_id(item.memory.id), item.why, first_line(item.memory.text, 90)] for item in queue]
            output.emit_rows(
                queue, ["id", "why", "text"], rows, if_empty="Nothing to review.", on_screen=lambda: _print_queue(queue)
            )
        else:
            ReviewPrompt(mind, queue, everywhere=everywhere).run()
    if older_count:
        output.note(f"{plural(older_count, 'older proposal')} left the queue: hivemind review --all")


def _print_queue(queue: Sequence[ReviewItem]) -> None:
    """Print the queue as a table in which the other sides of a dispute stand below its newest."""
    rows = []
    for item in queue:
        rows.append([shorten_id(item.memory.id), item.why, first_line(item.memory.text, 90)])
        rows += [[shorten_id(other.id), "the other side", first_line(other.text, 90)] for other in item.against]
    output.print_table(["id", "why", "text"], rows)


@review.command("dispute")
@arguments.memory_argument
@arguments.other_memory_argument
@click.option("--reason", default="", help="Why they cannot both be true.")
def dispute(memory: str, other: str, **options: Any) -> None:
    """Mark two memories as contradictory; review settles them.

    \b
    hivemind review dispute 3f9a2c1e 5b2e91aa --reason "the port cannot be both"
    """
    arguments.apply_to_memory(lambda mind: mind.review.dispute, "Disputed", memory, other, **options)


@review.command("settle")
@arguments.memory_argument
@arguments.other_memory_argument
@arguments.reason_option
def settle(memory: str, other: str, **options: Any) -> None:
    """End the dispute of two memories that are both true.

    If only one of them is true: 'hivemind approve' the one that is.

    \b
    hivemind review settle 3f9a2c1e 5b2e91aa
    """
    arguments.apply_to_memory(lambda mind: mind.review.settle, "Settled", memory, other, **options)


@review.command("promote")
@arguments.own_memory_argument
@click.option("--to", "file", default="AGENTS.md", show_default=True, metavar="FILE", help="The rules file.")
@click.option("--skill", is_flag=True, help="Write a procedure as a skill of this repository instead.")
@arguments.yes_option
def promote(memory: str, file: str, skill: bool, yes: bool) -> None:
    """Write a reviewed memory into a rules file or a skill.

    With --skill, a procedure becomes a skill for Claude Code and one for the other agents; 'hivemind doctor' says when
    it no longer matches its memory or the code.

    \b
    hivemind review promote 3f9a2c1e --to AGENTS.md
    hivemind review promote 3f9a2c1e --skill
    """
    with open_mind() as mind:
        changes = mind.review.promote_as_skill(memory) if skill else mind.review.promote(memory, file)
        if not changes:
            output.note("The skill is there already." if skill else f"{file} has it already.")
            return
        root = mind.checkout.root.resolve()
        names = [str(change.path.resolve().relative_to(root)) for change in changes]
        if not wants("json"):
            for change, name in zip(changes, names, strict=True):
                output.print_diff(change.before or "", change.after or "", name, name)
        if not yes:
            click.confirm(f"Write {' and '.join(names)}?", abort=True, err=True)
        mind.review.write(changes)
    files = [{"file": str(c.path), "before": c.before or "", "after": c.after} for c in changes]
    output.emit(files if skill else files[0], f"Wrote {' and '.join(names)}.")


all_from_option = click.option(
    "--all-from", default="", metavar="NAME",
    help="All proposals of a detector, a session or a batch; those that contradict a memory stay.",
)  # fmt: skip


def _select_proposals(
    memories: tuple[str, ...], all_from: str, question: str, *, everywhere: bool, yes: bool
) -> list[str]:
    """Return the ids that were named, or after a confirmation those of all proposals from one origin."""
    if bool(memories) == bool(all_from):
        raise InvalidInput("name ids of memories, or --all-from with a detector, a session or a batch")
    if not all_from:
        return list(memories)
    with open_mind() as mind:
        items = mind.review.proposals_from(all_from, everywhere=everywhere)
    if not items:
        raise InvalidInput(f"all proposals from {all_from} contradict a memory; decide them in 'hivemind review'")
    if not wants("json") and not yes:
        output.print_table(
            ["id", "text"], [[shorten_id(item.memory.id), first_line(item.memory.text, 100)] for item in items]
        )
    arguments.confirm(f"{question} {plural(len(items), 'proposal')}?", yes=yes)
    return [item.memory.id for item in items]


@commands.command("approve")
@arguments.memories_argument
@arguments.everywhere_option
@all_from_option
@arguments.reason_option
@arguments.yes_option
def approve(memories: tuple[str, ...], all_from: str, yes: bool, everywhere: bool, reason: str) -> None:
    """Approve proposals, or the side of a dispute that is right.

    What contradicts an approved memory is superseded; 'restore' brings it back. If both are true: 'hivemind review
    settle'.

    \b
    hivemind approve 3f9a2c1e 5b2e91aa
    hivemind approve --all-from commands
    """
    ids = _select_proposals(memories, all_from, "Approve", everywhere=everywhere, yes=yes)
    with open_mind() as mind:
        superseded_memories = mind.review.find_superseded_by(ids, everywhere=everywhere)
    arguments.apply_to_memories(lambda mind: mind.approve, "Approved", ids, everywhere=everywhere, reason=reason)
    for memory in superseded_memories:
        remedy = f"Bring it back: hivemind restore {shorten_id(memory.id)}"
        output.warn_about_memory(f"superseded {shorten_id(memory.id)}", first_line(memory.text), remedy)


@commands.command("reject")
@arguments.memories_argument
@arguments.everywhere_option
@all_from_option
@arguments.reason_option
@arguments.yes_option
def reject(memories: tuple[str, ...], all_from: str, yes: bool, everywhere: bool, **options: Any) -> None:
    """Reject memories and keep their values out; 'restore' undoes that.

    \b
    hivemind reject 3f9a2c1e --reason "that was one machine only"
    hivemind reject --all-from learn-5b2e91aa
    """
    ids = _select_proposals(memories, all_from, "Reject", everywhere=everywhere, yes=yes)
    arguments.apply_to_memories(lambda mind: mind.reject, "Rejected", ids, everywhere=everywhere, **options)


@commands.command("verify")
@arguments.memories_argument
@arguments.everywhere_option
@arguments.reason_option
def verify(memories: tuple[str, ...], **options: Any) -> None:
    """Mark memories as still correct.

    \b
    hivemind verify 3f9a2c1e
    """
    arguments.apply_to_memories(lambda mind: mind.review.verify, "Verified", memories, **options)


@commands.command("forget")
@arguments.memories_argument
@arguments.everywhere_option
@arguments.reason_option
def forget(memories: tuple[str, ...], **options: Any) -> None:
    """Forget memories until 'restore' brings them back.

    They stay in the history; 'erase' deletes a memory for good. A conclusion of a session is never told again.

    \b
    hivemind forget 3f9a2c1e --reason "no longer so"
    """
    _forget_or_restore(memories, is_forgetting=True, **options)


@commands.command("restore")
@arguments.restored_memories_argument
@arguments.everywhere_option
@arguments.reason_option
def restore(memories: tuple[str, ...], **options: Any) -> None:
    """Restore forgotten, rejected or superseded memories.

    \b
    hivemind restore 3f9a2c1e
    """
    _forget_or_restore(memories, is_forgetting=False, **options)


def _forget_or_restore(ids: Sequence[str], *, is_forgetting: bool, **options: Any) -> None:
    """Forget or restore memories; an id that no memory has may be that of a conclusion."""
    report = "Forgot" if is_forgetting else "Restored"
    try:
        arguments.apply_to_memories(lambda mind: mind.forget if is_forgetting else mind.restore, report, ids, **options)
    except NotFound:
        with open_mind() as mind:
            decide = mind.sessions.forget_conclusion if is_forgetting else mind.sessions.restore_conclusion
            conclusion = decide(ids[0], **options) if len(ids) == 1 else None
        if conclusion is None:
            raise
        line = conclusion.line
        output.emit(conclusion, f"{report} conclusion {shorten_id(line.event)}: {first_line(line.text, 80)}")


@commands.command("rollback")
@click.option("--session", default="", help="What was learned in this session.")
@click.option("--source", default="", metavar="FILE", help="What has this file as its source.")
@click.option("--agent", default="", help="What this agent or person stored.")
@click.option("--batch", default="", help="One batch, such as an import.")
@click.option("--since", default="", metavar="WHEN", help="Everything since: 2h, 3d or a date.")
@arguments.everywhere_option
@click.option("--also-approved", "include_approved", is_flag=True, help="Also what a person approved since.")
@click.option("--undo", default="", metavar="NAME", help="Undo a rollback.")
@arguments.reason_option
@arguments.dry_run_option
@arguments.yes_option
def rollback(
    undo: str, reason: str, dry_run: bool, yes: bool, include_approved: bool, everywhere: bool, **filters: str
) -> None:
    """Undo a batch of learning, such as an import or a session.

    It undoes memories of this repository, and of scope user, except those from sessions elsewhere; --batch undoes a
    whole batch. Memories that a person approved since stay, unless you add --also-approved.

    \b
    hivemind rollback --since 2h --dry-run
    hivemind rollback --since 2h --everywhere
    hivemind rollback --batch import-3f9a2c1e
    hivemind rollback --undo 5b2e91aa04cd
    """
    selection = Selection(**filters)
    with open_mind() as mind:
        if undo:
            count = mind.review.undo_rollback(undo)
            output.emit({"undone": count}, f"Undid the rollback of {plural(count, 'memory')}.")
            return
        roll_back = partial(mind.review.rollback, selection, include_approved=include_approved, everywhere=everywhere)
        name, changes = roll_back(dry_run=True)
        approved_count, elsewhere_count = mind.review.count_kept_by_rollback(selection, everywhere=everywhere)
        if approved_count and not include_approved:
            kept = plural(approved_count, "memory")
            output.note(f"{kept} stay because a person approved them; --also-approved includes them.")
        if elsewhere_count:
            output.note(f"{plural(elsewhere_count, 'memory')} of other repositories stay; --everywhere includes them.")
        if dry_run or not changes or not wants("json"):
            would = f"{plural(len(changes), 'memory')} would change." if dry_run else ""
            columns, rows = _list_changes(changes)
            output.emit_rows(changes, columns, rows, after=would, if_empty="Nothing to roll back here.")
        if dry_run or not changes:
            return
        arguments.confirm(f"Roll back {plural(len(changes), 'memory')}?", yes=yes)
        name, changes = roll_back(reason=reason)
    undo_hint = f"Undo: hivemind rollback --undo {name}"
    output.emit({"rollback": name, "changes": changes}, f"Rolled back {plural(len(changes), 'memory')}. {undo_hint}")


def _list_changes(changes: Sequence[MemoryChange]) -> tuple[list[str], list[list[str]]]:
    """Return the columns and rows of a preview; the repository is named where there are several."""
    places = [memory.repo or "everywhere" if (memory := c.before or c.after) else "" for c in changes]
    rows = [[shorten_id(c.memory_id), _format_state(c.before), _format_state(c.after)] for c in changes]
    if len(set(places)) < 2:
        return ["memory", "now", "after"], rows
    return ["memory", "repository", "now", "after"], [
        [memory_id, place, *states] for (memory_id, *states), place in zip(rows, places, strict=True)
    ]


def _format_state(memory: Memory | None) -> str:
    return f"{memory.status}: {first_line(memory.text, 60)}" if memory else "not stored"


@commands.command("erase")
@arguments.maybe_memory_argument
@arguments.everywhere_option
@click.option("--about", default="", metavar="NAME", help="Everything that names a person, customer, ticket or value.")
@click.option(
    "--except", "exclusions", multiple=True, metavar="ID", help="With --about: leave this out; may be repeated."
)
@arguments.memories_option("--also", "Another memory to erase with it; may be repeated.")
@arguments.reason_option
@arguments.dry_run_option
@arguments.yes_option
def erase(
    memory: str, also: tuple[str, ...], about: str, exclusions: tuple[str, ...], reason: str, dry_run: bool, yes: bool,
    everywhere: bool,
) -> None:  # fmt: skip
    """Erase a memory and everything derived from it for good.

    The receipt says for each place: done, pending (tried again later), remains (something still contains it) or out of
    reach. The exit code is 1 if something remains, or is pending on this machine. Other machines erase it when they
    sync. Give the id of an erased memory to see its receipt again; machines that have not confirmed are asked first.
    --about erases everything that contains a name, in every repository; it asks first.

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
        receipt, is_done_here = None if also else mind.erasures.receipt(memory, everywhere=everywhere), True
        if receipt is None:
            targets = [mind.show(target, everywhere=everywhere) for target in (memory, *also)]
            texts = "\n".join(output.quote(target.text, "") for target in targets)
            arguments.confirm(f"{texts}\nErase this for good?", yes=yes)
            with output.progress("Erasing"):
                other_ids = [target.id for target in targets[1:]]
                receipt = mind.erase(targets[0].id, also=other_ids, reason=reason, everywhere=everywhere)
            is_done_here = receipt.is_complete
            is_shared = any(target.scope is Scope.TEAM for target in targets)
            receipt = mind.devices.carry(mind.team.carry(receipt) if is_shared else receipt)
        elif any(place.state == "pending" for place in receipt.places):
            _ask_others(mind)
            receipt = mind.erasures.receipt(memory, everywhere=everywhere) or receipt
    _show_receipt(receipt, is_done_here=is_done_here)


def _ask_others(mind: Hivemind) -> None:
    """Exchange with other machines and the team, which tells who has carried out an erasure since."""
    for others, is_joined in ((mind.devices, mind.devices.is_set_up), (mind.team, mind.team.is_logged_in)):
        try:
            if is_joined:
                with output.progress("Asking the others"):
                    others.sync()
        except AccessRevoked:
            raise
        except (Unavailable, Refused) as error:
            output.warn(f"this may be out of date: {error}")


def _erase_about(about: str, exclusions: tuple[str, ...], reason: str, *, dry_run: bool, yes: bool) -> None:
    if wants("json") and not (dry_run or yes):
        raise InvalidInput("with --json, say --dry-run to see the list or --yes to erase what is in it")
    with open_mind() as mind:
        with output.progress("Searching") as advance:
            mentions = mind.erasures.find_mentions(about, progress=advance)
        if dry_run or not wants("json"):
            output.emit(mentions, lambda: _show_mentions(mentions))
        erasable = mentions.exclude(exclusions)
        if dry_run or not erasable:
            return
        arguments.confirm(f"Erase {plural(len(erasable), 'entry')} for good?", yes=yes)
        with output.progress("Erasing") as advance:
            receipt = mind.erasures.erase_mentions(
                about, mentions=mentions, left_out=exclusions, reason=reason, progress=advance
            )  # fmt: skip
        is_done_here = receipt.is_complete
        receipt = mind.devices.carry(mind.team.carry(receipt))
    _show_receipt(receipt, is_done_here=is_done_here)


def _show_mentions(mentions: Mentions) -> None:
    """Print what contains a name, grouped, with the repository of each."""
    if not mentions.found:
        output.note(f"Nothing in this store contains {mentions.about!r}.")
        return
    for sort, group in mentions.group_by_sort():
        count = len(group)
        output.print_heading(
            f"{count:,} in quarantine" if sort is MentionSort.QUARANTINE else plural(count, sort.value)
        )
        rows = list(map(_describe_mention, group[:MAX_MENTIONS_SHOWN]))
        output.print_table(["id", "when", "repository", "text"], rows)
        if len(group) > MAX_MENTIONS_SHOWN:
            output.note(f"and {len(group) - MAX_MENTIONS_SHOWN:,} more; --json lists all")
    staying = len(mentions.found) - len(mentions.erasable)
    remark = f" {staying:,} stay, because they are not yours or must be kept on record." if staying else ""
    entries = plural(len(mentions.erasable), "entry")
    output.note(f"All repositories of this store were searched. {entries} can be erased.{remark}")


def _describe_mention(mention: Mention) -> list[str]:
    """Return the id, date, repository and text of what contains a name."""
    mention_id, place = mention.id[:ENTRY_ID_LENGTH], mention.repo
    match mention.sort:
        case MentionSort.BACKUP | MentionSort.QUARANTINE | MentionSort.SESSION:
            mention_id = mention.id
        case MentionSort.MEMORY | MentionSort.VERSION | MentionSort.TRACE:
            mention_id, place = shorten_id(mention.id), mention.repo or "everywhere"
    text = f"{mention.excerpt} ({mention.stays})" if mention.stays else mention.excerpt
    return [mention_id, format_date(mention.at), place, text]


def _show_receipt(receipt: Erasure, *, is_done_here: bool) -> None:
    ids = ", ".join(map(shorten_id, receipt.memories))
    rows = [[place.name, place.state, place.detail] for place in receipt.places]
    output.emit_rows(receipt, [f"erased {ids}", "state", ""], rows)
    sys.exit(0 if is_done_here and not receipt.has_failed else 1)
