"""``hivemind remember``, ``recall``, ``list``, ``show`` and ``edit``."""

from typing import Any

import click

from hivemind.cli import arguments, output
from hivemind.cli.arguments import open_mind
from hivemind.model.codec import to_plain
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Kind, Status
from hivemind.model.recall import Detail
from hivemind.model.timestamps import format_date
from hivemind.text.clean import first_line

commands = click.Group()


@commands.command("remember")
@arguments.words_argument("text", required=False)
@arguments.scope_option
@arguments.enum_option("--kind", among=Kind, help="Kind of memory; by default guessed from TEXT.")
@arguments.tags_option
@click.option("--subject", default="", help="Topic whose current value this is, such as deploy-target or REQ-12.")
@arguments.memories_option("--replaces", "Memory it replaces; may be repeated.")
@arguments.when_options
@click.option(
    "--link", "links", multiple=True, metavar="CODE", help="Code it is about: a path, PATH::SYMBOL or module.name."
)
@click.option("--source", "sources", multiple=True, metavar="FILE[:LINES]", help="Where it is written.")
@click.option("--confidence", type=float, default=1.0, show_default=True, help="How sure it is, from 0 to 1.")
@arguments.metadata_option("--meta", "Metadata: text, a number, true or false; in quotes always text.")
@click.option("--propose", is_flag=True, help="Store it as a proposal for review.")
@click.option("--said", default="", metavar="WORDS", help="For agents: what the person typed, word for word.")
def remember(text: str | None, **options: Any) -> None:
    """Store a memory.

    TEXT is taken from standard input when it is left out.

    \b
    hivemind remember "Tests need a running Redis" --tags testing
    hivemind remember "Deploy target is Coolify" --subject deploy-target --kind decision
    hivemind remember "Class for managing user authentication." --meta language=Python --meta purpose=security
    git log -1 --format=%B | hivemind remember --kind decision
    """
    with open_mind() as mind:
        memory = mind.remember(arguments.read_text(text), **options)
        conflicts = mind.browse.possible_conflicts(memory)
        more = {"may_conflict": [other.id for other in conflicts], "redacted": memory.redacted}
        output.emit(to_plain(memory) | more, f"Remembered {output.summarise(memory)}")
        if redaction := mind.browse.redaction_note(memory):
            output.warn(redaction)
        if not options["kind"] and memory.kind is not Kind.FACT:
            output.note(
                f"a {memory.kind} by its words; to change that: hivemind edit {shorten_id(memory.id)} --kind fact"
            )
        for other in mind.browse.get_all(memory.contradicts):
            output.warn_about_memory(
                f"contradicts {output.summarise(other)}", first_line(other.text), "Settle it: hivemind review"
            )
        for other in conflicts:
            ids = f"{shorten_id(memory.id)} {shorten_id(other.id)}"
            remedy = f"Only one is true? hivemind review dispute {ids}, then hivemind review"
            output.warn_about_memory(f"may conflict with {output.summarise(other)}", first_line(other.text), remedy)
        if links := mind.checkout.describe_links(memory):
            output.note(links)
        for problem in mind.checkout.explain_broken_links(memory):
            output.warn(problem)
        if sharing := mind.browse.sharing_note(memory):
            output.note(sharing)


@commands.command("recall")
@arguments.words_argument("question", required=False)
@arguments.filters
@arguments.limit_option(None, "Maximum number of memories.")
@click.option("--budget", "max_tokens", type=int, metavar="TOKENS", help="Maximum number of tokens.")
@click.option("--as-of", default="", metavar="DATE", help="Show what was believed on this date.")
@click.option("--true-at", default="", metavar="DATE", help="Show what was true on this date, as known today.")
@arguments.enum_option(
    "--detail", among=Detail, default="standard", help="The first line, what answers, or all of each memory."
)
@click.option("--why", is_flag=True, help="Explain the ranking.")
def recall(question: str | None, why: bool, **options: Any) -> None:
    """Search memories, then past sessions.

    \b
    hivemind recall how do we run the tests
    hivemind recall "redirect loop" --everywhere --kind fix
    hivemind recall "deploy target" --as-of 2026-03-31
    hivemind recall "user login" --where language=Python
    """
    with open_mind() as mind:
        result = mind.recall(arguments.read_text(question, "the question"), **options)
        caveat = mind.browse.search_caveat()
    if caveat:
        output.note(caveat)
    output.emit(result, lambda: output.print_recall(result, why=why), is_fenced=True)


@commands.command("list")
@arguments.filters
@arguments.enum_option("--status", "statuses", multiple=True, among=Status, help="Only with this status.")
@arguments.limit_option(20, "Memories on a page.")
@click.option(
    "--before",
    default="",
    metavar="ID",
    shell_complete=arguments.complete_memory_id,
    help="Continue after this memory of an earlier page.",
)
def list_memories(**options: Any) -> None:
    """List memories, newest first.

    \b
    hivemind list --kind decision --tags deploy
    hivemind list --status proposed --everywhere
    """
    filters = {name: value for name, value in options.items() if name not in ("limit", "before")}
    with open_mind() as mind:
        page = mind.list(**options)
        if_empty = "" if page or options["before"] else mind.browse.explain_empty_list(**filters)
    rows = [
        [
            shorten_id(memory.id),
            format_date(memory.stated_at),
            memory.scope.value,
            memory.kind.value,
            "" if memory.status is Status.ACTIVE else memory.status.value,
            first_line(memory.text, 90),
        ]
        for memory in page
    ]
    more = f"more: hivemind list --before {shorten_id(page[-1].id)}" if len(page) == options["limit"] else ""
    output.emit_rows(page, ["id", "date", "scope", "kind", "status", "text"], rows, after=more, if_empty=if_empty)


@commands.command("show")
@arguments.memory_argument
def show(memory: str, everywhere: bool) -> None:
    """Show a memory with all its fields.

    \b
    hivemind show 3f9a2c1e
    """
    with open_mind() as mind:
        result = mind.show(memory, everywhere=everywhere)
        place = mind.checkout.label_elsewhere(result.repo)
    output.emit(result, lambda: output.print_memory(result, place))


@commands.command("edit")
@arguments.memory_argument
@click.argument("text", required=False, default="")
@arguments.enum_option("--kind", among=Kind, help="Kind of memory.")
@click.option("--subject", default="", help="Topic whose current value this is.")
@arguments.when_options
@click.option("--confidence", type=float, help="How sure it is, from 0 to 1.")
@click.option("--reason", default="", help="Why it changed.")
@arguments.tags_option_with("Tags to add.")
@arguments.tags_option_with("Tags to remove.", "--remove-tags")
@arguments.metadata_option("--meta", "Metadata to set.")
@click.option("--unset-meta", "unset", multiple=True, metavar="KEY", help="Metadata to remove.")
def edit(
    memory: str, tags: list[str], remove_tags: list[str], metadata: dict[str, Any], unset: tuple[str, ...],
    everywhere: bool, **fields: Any,
) -> None:  # fmt: skip
    """Edit a memory: text, kind, tags, dates or metadata; earlier versions stay in its history.

    \b
    hivemind edit 3f9a2c1e "Deploys run from release branches"
    hivemind edit 3f9a2c1e --expires 6w
    hivemind edit 3f9a2c1e --tags deploy,release --remove-tags draft
    hivemind edit 3f9a2c1e --meta language=Go --unset-meta purpose
    """
    metadata |= dict.fromkeys(unset)
    has_tags = any(tags + remove_tags)
    changes = {name: value for name, value in fields.items() if value not in ("", None)}
    with open_mind() as mind:
        # Tags are a fact of their own in the log. Without any change, 'edit' says what could be changed.
        if metadata or changes.keys() - {"reason"} or not has_tags:
            result = mind.edit(memory, metadata=metadata, everywhere=everywhere, **changes)
        if has_tags:
            result = mind.tag(memory, [*filter(None, tags)], [*filter(None, remove_tags)], everywhere=everywhere)
        place = mind.checkout.label_elsewhere(result.repo)
        redaction = mind.browse.redaction_note(result) if changes.get("text") else ""
    output.emit(result, f"Edited {output.summarise(result, place)} (version {result.version})")
    if redaction:
        output.warn(redaction)
