"""What one does every day: keep, ask, look, correct."""

from typing import Any

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.arguments import (
    act,
    choice,
    filters,
    limit_option,
    memory_argument,
    memory_ids,
    metadata_option,
    open_mind,
    scope_option,
    tags_option,
    text_or_standard_input,
    when_options,
)
from hivemind.entrypoints.cli.framework import wants
from hivemind.entrypoints.cli.output import (
    answer,
    block,
    described,
    heading,
    label,
    note,
    on_terminal,
    origin,
    progress,
    say,
    tell,
    tell_rows,
    warn,
    warn_of,
)
from hivemind.formats.codec import to_plain
from hivemind.formats.timestamps import format_date, format_minute
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Kind, Memory, Status
from hivemind.model.recall import Detail
from hivemind.model.reports import StatusReport
from hivemind.model.review import ReviewItem
from hivemind.text.clean import first_line

chapter = click.Group()


@chapter.command("status")
def status() -> None:
    """Show what is remembered here, which agents are connected, what needs review, and what to do next.

    \b
    hivemind
    hivemind status --json
    """
    with open_mind() as mind, progress("Looking"):
        stands = mind.maintenance.status()
    tell(stands, lambda: _standing(stands))


def _standing(stands: StatusReport) -> None:
    counted = " · ".join(f"{count:,} {status}" for status, count in stands.memories)
    elsewhere = f"{stands.elsewhere:,} in other repositories" if stands.elsewhere else ""
    label("store", f"{stands.store}  {stands.bytes / 1e6:.1f} MB")
    label("repository", stands.repository)
    label("memories", " · ".join(filter(None, [counted or "none here yet", elsewhere])))
    label("agents", ", ".join(stands.connected) or "none connected")
    if last := stands.last_session:
        label("last session", f"{last.agent}, {format_minute(last.last_seen_at)}: {first_line(last.task, 60)}")
    label("waiting", f"{stands.waiting:,} for review" if stands.waiting else "nothing for review")
    label("in doubt", f"{stands.doubted:,} by what the code says now" if stands.doubted else "nothing")
    if stands.quarantined:
        label("quarantine", f"{stands.quarantined:,} could not be read")
    heading("Next")
    for step in stands.next:
        say(f"  {step.command:<30}{step.why}")


@chapter.command("remember")
@click.argument("text", required=False)
@scope_option
@choice("--kind", among=Kind, default=Kind.FACT.value, help="Kind of memory.")
@tags_option
@click.option("--subject", default="", help="What it is the current value of, such as deploy-target or REQ-12.")
@click.option("--replaces", multiple=True, metavar="ID", shell_complete=memory_ids, help="Memory that it replaces.")
@when_options
@click.option(
    "--link", "links", multiple=True, metavar="CODE", help="Code it is about: a path, PATH::SYMBOL or module.name."
)
@click.option("--source", "sources", multiple=True, metavar="FILE[:LINES]", help="Where it is written.")
@click.option("--confidence", type=float, default=1.0, show_default=True, help="From 0 to 1.")
@metadata_option("--meta", "Metadata: text, a number, true or false; in quotes always text.")
@click.option("--propose", is_flag=True, help="Store it as a proposal for review.")
def remember(text: str | None, **given: Any) -> None:
    """Store a memory.

    TEXT is taken from standard input when it is left out.

    \b
    hivemind remember "Tests need a running Redis" --tags testing
    hivemind remember "Deploy target is Coolify" --subject deploy-target --kind decision
    hivemind remember "Class for managing user authentication." --meta language=Python --meta purpose=security
    git log -1 --format=%B | hivemind remember --kind decision
    """
    with open_mind() as mind:
        memory = mind.remember(text_or_standard_input(text), **given)
        possible = mind.review.possible_conflicts(memory)
        tell(to_plain(memory) | {"may_conflict": [other.id for other in possible]}, f"Remembered {origin(memory)}")
        for other in mind.browse.get_all(memory.contradicts):
            warn_of(f"contradicts {origin(other)}", first_line(other.text), "settle it: hivemind review")
        for other in possible:
            warn_of(f"may conflict with {origin(other)}", first_line(other.text), _to_settle(memory, other))
        for problem in mind.checkout.link_problems(memory):
            warn(problem)
        if sharing := mind.browse.sharing_note(memory):
            note(sharing)


def _to_settle(memory: Memory, other: Memory) -> str:
    """What to do about two memories that may disagree."""
    return f"only one is true? hivemind dispute {shorten_id(memory.id)} {shorten_id(other.id)}, then hivemind review"


@chapter.command("recall")
@click.argument("question", required=False)
@filters
@limit_option(None, "Maximum number of memories.")
@click.option("--budget", "max_tokens", type=int, metavar="TOKENS", help="Maximum number of tokens.")
@click.option("--as-of", default="", metavar="DATE", help="Show what was believed on this date.")
@click.option("--true-at", default="", metavar="DATE", help="Show what was true on this date, as known today.")
@choice("--detail", among=Detail, default="standard", help="The first line, what answers, or all of each memory.")
@click.option("--why", is_flag=True, help="Explain the ranking.")
def recall(question: str | None, why: bool, **given: Any) -> None:
    """Search memories.

    \b
    hivemind recall "how do we run the tests?"
    hivemind recall "redirect loop" --everywhere --kind fix
    hivemind recall "deploy target" --as-of 2026-03-31
    hivemind recall "user login" --where language=Python
    """
    with open_mind() as mind:
        found = mind.recall(text_or_standard_input(question, "the question"), **given)
        caveat = mind.browse.search_caveat()
    if caveat:
        note(caveat)
    tell(found, lambda: answer(found, why=why), is_fenced=True)


@chapter.command("list")
@filters
@choice("--status", "statuses", multiple=True, among=Status, help="Only with this status.")
@limit_option(20, "Memories on a page.")
@click.option(
    "--before",
    default="",
    metavar="ID",
    shell_complete=memory_ids,
    help="Continue after this memory of an earlier page.",
)
def list_(**given: Any) -> None:
    """List memories, newest first.

    \b
    hivemind list --kind decision --tags deploy
    hivemind list --status proposed --everywhere
    """
    with open_mind() as mind:
        page = mind.list(**given)
    standings = ["" if one.status is Status.ACTIVE else f"({one.status}) " for one in page]
    rows = [
        [
            shorten_id(one.id),
            format_date(one.revised_at),
            one.scope.value,
            one.kind.value,
            standing + first_line(one.text, 90),
        ]
        for one, standing in zip(page, standings, strict=True)
    ]
    more = f"more: hivemind list --before {shorten_id(page[-1].id)}" if len(page) == given["limit"] else ""
    nothing = "" if given["before"] else 'Nothing remembered here yet. Try: hivemind remember "…"'
    tell_rows(page, ["id", "date", "scope", "kind", "text"], rows, after=more, nothing=nothing)


@chapter.command("show")
@memory_argument
def show(memory: str, everywhere: bool) -> None:
    """Show a memory with all its details.

    \b
    hivemind show 3f9a2c1e
    """
    with open_mind() as mind:
        known = mind.show(memory, everywhere=everywhere)
        elsewhere = mind.checkout.is_elsewhere(known.repo)
    tell(known, lambda: described(known, elsewhere=elsewhere))


@chapter.command("revise")
@memory_argument
@click.argument("text", required=False, default="")
@choice("--kind", among=Kind, help="Kind of memory.")
@click.option("--subject", default="", help="What it is the current value of.")
@when_options
@click.option("--confidence", type=float, help="From 0 to 1.")
@click.option("--reason", default="", help="Why it changed.")
@metadata_option("--meta", "Metadata to set.")
@click.option("--unset-meta", "unset", multiple=True, metavar="KEY", help="Metadata to remove.")
def revise(metadata: dict[str, Any], unset: tuple[str, ...], **given: Any) -> None:
    """Edit a memory; earlier versions stay in its history.

    \b
    hivemind revise 3f9a2c1e "Deploys run from release branches"
    hivemind revise 3f9a2c1e --expires 6w
    hivemind revise 3f9a2c1e --meta language=Go --unset-meta purpose
    """
    with open_mind() as mind:
        known = mind.edit(**given, metadata=metadata | dict.fromkeys(unset))
        elsewhere = mind.checkout.is_elsewhere(known.repo)
    tell(known, f"Revised {origin(known, elsewhere=elsewhere)} (version {known.version})")


@chapter.command("tag")
@memory_argument
@click.argument("labels", nargs=-1)
@click.option("--remove", multiple=True, metavar="TAG", help="Tag to remove.")
def tag(memory: str, labels: tuple[str, ...], remove: tuple[str, ...], everywhere: bool) -> None:
    """Add tags to a memory, or remove them.

    \b
    hivemind tag 3f9a2c1e auth backend
    hivemind tag 3f9a2c1e --remove draft
    """
    act(Hivemind.tag, "Tagged", memory, _apart(labels), _apart(remove), everywhere=everywhere)


def _apart(labels: tuple[str, ...]) -> list[str]:
    """Tags may stand apart or with commas between them, as everywhere else."""
    return [tag for label in labels for tag in label.split(",") if tag]


@chapter.command("brief")
@click.option("--prompt", default="", metavar="TEXT", help="Print what would be given for this prompt instead.")
def brief(prompt: str) -> None:
    """Print what an agent is given at the start of a session here.

    \b
    hivemind brief
    hivemind brief --prompt "add a second factor to the login"
    """
    with open_mind() as mind:
        said = mind.on_prompt(prompt) if prompt else mind.brief()
    why = "no memory bears on it" if prompt else "nothing is remembered here yet"
    tell(said, lambda: say(said.text) if said.text else note(f"Nothing would be said: {why}."), is_fenced=True)


ALONE = "a approve · e edit · r reject · s skip · q quit"
AGAINST = "a approve · o approve over it · e edit · m merge · r reject · s skip · q quit"
"""With something it contradicts."""


@chapter.command("review")
@click.option("--list", "only_list", is_flag=True, help="List pending memories and exit.")
@limit_option(50, "Maximum number of results.")
def review(only_list: bool, limit: int) -> None:
    """Review pending memories: disputes, changed code, overdue checks, proposals.

    For scripts: 'hivemind review --json', then 'hivemind approve', 'reject' or 'retract'.

    \b
    hivemind review
    hivemind review --list
    """
    with open_mind() as mind:
        queue = mind.review.queue(limit=limit)
        if only_list or not queue or wants("json") or not on_terminal():
            rows = [[shorten_id(item.memory.id), item.why, first_line(item.memory.text, 90)] for item in queue]
            tell_rows(queue, ["id", "why", "text"], rows, nothing="Nothing waits for you.")
            return
        for place, item in enumerate(queue, start=1):
            if not _decide(mind, item, f"{place} of {len(queue)}"):
                break


def _decide(mind: Hivemind, item: ReviewItem, place: str) -> bool:
    """Show one and do what the person says; false when they have had enough."""
    heading(f"{place}: {item.why}")
    described(item.memory)
    for other in item.against:
        heading("against")
        click.echo(block(other.text, ""))
        note(origin(other))
    memory = item.memory
    choices = AGAINST if item.against else ALONE
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
            replaced = [memory.id, *(other.id for other in item.against if choice == "m")]
            mind.remember(
                wording.strip(), scope=memory.scope, kind=memory.kind, tags=memory.tags, subject=memory.subject,
                replaces=replaced, metadata=memory.metadata,
            )  # fmt: skip
        case "r":
            mind.reject(memory.id, reason=click.prompt("Why", default="", show_default=False))
        case "q":
            return False
    return True
