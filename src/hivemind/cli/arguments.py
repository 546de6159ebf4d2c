"""Arguments and options that several commands share, and opening the store."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import reduce, wraps
from typing import Any

import click
from click.shell_completion import CompletionItem

from hivemind.agents.callers import is_agent_calling
from hivemind.cli.framework import get_store_name, wants
from hivemind.cli.output import emit, summarise, warn
from hivemind.cli.picker import resolve_each_memory, resolve_memories, resolve_memory, resolve_session
from hivemind.errors import HivemindError, InvalidInput, Refused
from hivemind.hivemind import Hivemind
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Kind, Memory
from hivemind.model.metadata import MetadataValue, is_valid_value
from hivemind.model.scope import Scope
from hivemind.text import switch
from hivemind.text.clean import decode_text, first_line, neutralise, plural

MAX_COMPLETIONS = 200
"""The newest memories that a shell completes; older ids are typed or copied."""


def enum_option(*names: str, among: type[StrEnum], **more: Any) -> Callable[[Any], Any]:
    """An option whose value, or each of whose values, is a member of an enumeration."""

    def convert(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        return tuple(map(among, value)) if isinstance(value, tuple) else value and among(value)

    return click.option(*names, type=click.Choice([member.value for member in among]), callback=convert, **more)


def tags_option_with(meaning: str, name: str = "--tags") -> Callable[[Any], Any]:
    """An option for tags, separated by commas."""
    return click.option(
        name, default="", metavar="A,B", help=meaning, callback=lambda _ctx, _param, text: text.split(",")
    )


def metadata_option(name: str, meaning: str, variable: str = "metadata") -> Callable[[Any], Any]:
    """A repeatable option for metadata, such as ``language=Python``."""
    return click.option(
        name, variable, multiple=True, metavar="KEY=VALUE", help=meaning,
        callback=lambda _ctx, _param, pairs: dict(map(parse_metadata, pairs)),
    )  # fmt: skip


def parse_metadata(pair: str) -> tuple[str, MetadataValue]:
    """Key and value of ``language=Python``."""
    key, equals, value = pair.partition("=")
    if not equals:
        raise InvalidInput(f"{pair!r} has no value; write it like language=Python")
    return key.strip(), _parse_value(value.strip())


def _parse_value(text: str) -> MetadataValue:
    """True, false and numbers by their types; what is quoted, or would be printed differently, stays text."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    try:
        value = json.loads(text)
    except ValueError:
        return text
    # A version such as 1.10 or a number such as 007 would lose characters as a number.
    is_same = is_valid_value(value) and not isinstance(value, str) and json.dumps(value) == text
    return value if is_same and not text.endswith(".0") else text


scope_option = enum_option("--scope", among=Scope, default=Scope.PROJECT.value, help="Scope: user, project or team.")
tags_option = tags_option_with("Labels, separated by commas.")
reason_option = click.option("--reason", default="", help="Why.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
everywhere_option = click.option("--everywhere", is_flag=True, help="Include other repositories.")


def complete_memory_id(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest memories whose ids begin like this, for a shell to offer."""
    try:
        with Hivemind.open(ctx.find_root().params.get("store_name")) as mind:
            page = mind.list(limit=MAX_COMPLETIONS)
    except HivemindError:
        return []  # a shell has no place to show an error
    return [
        CompletionItem(shorten_id(memory.id), help=neutralise(first_line(memory.text, 60)))
        for memory in page
        if memory.id.startswith(incomplete.lower())
    ]


def _resolve_with(resolve: Callable[..., Any], name: str, declare: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """An argument or option that is resolved before the command runs: words let a person pick; see ``picker``."""

    def decorate(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def call(*args: Any, **values: Any) -> Any:
            values[name] = resolve(values[name], everywhere=values.get("everywhere", False))
            return function(*args, **values)

        return declare(call)

    return decorate


def _memory_argument(name: str, **options: Any) -> Callable[[Any], Any]:
    resolve = resolve_memories if options.get("nargs") else resolve_memory
    return _resolve_with(resolve, name, click.argument(name, shell_complete=complete_memory_id, **options))


def memories_option(option: str, meaning: str) -> Callable[[Any], Any]:
    """A repeatable option for memories."""
    name = option.removeprefix("--")
    declare = click.option(option, multiple=True, metavar="ID", shell_complete=complete_memory_id, help=meaning)
    return _resolve_with(resolve_each_memory, name, declare)


def _refuse_backups(_ctx: click.Context, _param: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if os.path.isfile(name):
            raise InvalidInput(f"{name} is a file; to restore a backup: hivemind backup restore {name}")
    return names


own_memory_argument = _memory_argument("memory", metavar="ID")
other_memory_argument = _memory_argument("other", metavar="OTHER_ID")
maybe_memory_argument = _memory_argument("memory", metavar="[ID]", required=False, default="")
memories_argument = _memory_argument("memories", metavar="[ID]...", nargs=-1)
restored_memories_argument = _memory_argument("memories", metavar="[ID]...", nargs=-1, callback=_refuse_backups)
one_or_more_memories_argument = _memory_argument("memories", metavar="ID...", nargs=-1, required=True)


def open_mind() -> Hivemind:
    """Open the store, as seen from the current directory; for an agent only where memory is on."""
    if is_agent_calling() and switch.is_off(os.curdir):
        raise Refused(switch.NOTICE)
    mind = Hivemind.open(get_store_name())
    if problem := mind.repository.problem:
        warn(f"git cannot identify this repository; what you store belongs to its path meanwhile: {problem}")
    return mind


def read_text(text: str | None, what: str = "the text") -> str:
    """The argument, or standard input where there is none."""
    if text is not None and text != "-":
        return text
    if sys.stdin.isatty():
        raise InvalidInput(f"{what} is missing; give it as an argument or pipe it in")
    return decode_text(sys.stdin.buffer.read(), what)


def words_argument(name: str, *, required: bool = True, metavar: str | None = None) -> Callable[[Any], Any]:
    """An argument of one or more words, joined by spaces; None where it is left out."""
    # Few people quote a question, and no command that takes one has an argument after it.
    return click.argument(
        name, nargs=-1, required=required, metavar=metavar,
        callback=lambda _ctx, _param, words: " ".join(words) if words else None,
    )  # fmt: skip


def combine(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one decorator."""
    return lambda function: reduce(lambda inner, decorate: decorate(inner), reversed(decorators), function)


session_argument = combine(
    _resolve_with(resolve_session, "session", words_argument("session", required=False, metavar="[SESSION]")),
    everywhere_option,
)


def limit_option(default: int | None, meaning: str) -> Callable[[Any], Any]:
    """An option for the maximum number of results."""
    return click.option("--limit", type=int, default=default, show_default=default is not None, help=meaning)


memory_argument = combine(own_memory_argument, everywhere_option)

filters = combine(
    enum_option("--scope", among=Scope, help="Only this scope."),
    enum_option("--kind", "kinds", multiple=True, among=Kind, help="Only this kind."),
    tags_option_with("Only with one of these tags."),
    metadata_option("--where", "Only with this metadata.", "where"),
    everywhere_option,
)


when_options = combine(
    click.option("--expires", default="", metavar="WHEN", help="Expires then: 28d, 6w or a date."),
    click.option("--verify-by", default="", metavar="WHEN", help="Check it again by then: 28d, 6w or a date."),
    click.option("--valid-from", default="", metavar="DATE", help="Valid from this date."),
    click.option("--valid-to", default="", metavar="DATE", help="Valid until this date."),
)


def confirm(question: str, *, yes: bool) -> None:
    """Ask before going on; a script that wants JSON has nobody to answer, and calling it is its consent."""
    if yes or wants("json"):
        return
    with expecting_an_answer():
        is_confirmed = click.confirm(question, err=True)
    if not is_confirmed:
        raise click.Abort


@contextmanager
def expecting_an_answer() -> Iterator[None]:
    """Ask a person meanwhile; a script, which cannot answer, is told the option that answers."""
    try:
        yield
    except click.Abort as error:
        if sys.stdin.isatty():
            raise
        raise InvalidInput("nobody answered; add --yes if you agree") from error


Verb = Callable[[Hivemind], Callable[..., Memory]]
"""Finds a verb about a memory."""


def apply_to_memories(verb: Verb, report: str, ids: Sequence[str], *, everywhere: bool, **options: Any) -> None:
    """Call a verb about each of these memories, as one batch that a rollback undoes, and report it."""
    if not ids:
        raise InvalidInput("name at least one memory by its id; 'hivemind list' shows them")
    if len(ids) == 1:
        apply_to_memory(verb, report, ids[0], everywhere=everywhere, **options)
        return
    with open_mind() as mind:
        # All ids are looked up before the first change, so that a wrong one changes nothing. One memory may be named
        # twice, by a shorter and a longer id.
        targets = list(dict.fromkeys(mind.show(memory_id, everywhere=everywhere).id for memory_id in ids))
        with mind.review.batch(report.lower()) as batch:
            memories = [verb(mind)(memory_id, everywhere=everywhere, **options) for memory_id in targets]
    undo = f"Undo: hivemind rollback --batch {batch}"
    emit({"batch": batch, "memories": memories}, f"{report} {plural(len(memories), 'memory')}. {undo}")


def apply_to_memory(verb: Verb, report: str, *args: Any, **options: Any) -> None:
    """Call a verb about one memory, and report it."""
    with open_mind() as mind:
        memory = verb(mind)(*args, **options)
        emit(memory, f"{report} {summarise(memory, mind.checkout.label_elsewhere(memory.repo))}")
