"""What the commands have in common: opening the store and reading what people type."""

import json
import sys
from collections.abc import Callable
from enum import StrEnum
from functools import reduce
from typing import Any

import click
from click.shell_completion import CompletionItem

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.framework import store_name, wants
from hivemind.entrypoints.cli.output import origin, tell
from hivemind.errors import HivemindError, InvalidInput
from hivemind.model.ids import shorten_id
from hivemind.model.memory import Kind, Memory
from hivemind.model.metadata import MetadataValue, is_valid_value
from hivemind.model.scope import Scope
from hivemind.text.clean import decode_text, first_line, neutralise

COMPLETED_FROM = 200
"""How many memories a shell may offer; older ids are typed or copied."""


def choice(*names: str, among: type[StrEnum], **more: Any) -> Callable[[Any], Any]:
    """An option for one or several values of an enumeration."""

    def chosen(_ctx: click.Context, _param: click.Parameter, value: Any) -> Any:
        return tuple(map(among, value)) if isinstance(value, tuple) else value and among(value)

    return click.option(*names, type=click.Choice([one.value for one in among]), callback=chosen, **more)


def labels(meaning: str) -> Callable[[Any], Any]:
    """An option for tags."""
    return click.option(
        "--tags", default="", metavar="A,B", help=meaning, callback=lambda _ctx, _param, written: written.split(",")
    )


def metadata_option(name: str, meaning: str, variable: str = "metadata") -> Callable[[Any], Any]:
    """A repeatable option for metadata, written ``language=Python``."""
    return click.option(
        name, variable, multiple=True, metavar="KEY=VALUE", help=meaning,
        callback=lambda _ctx, _param, written: dict(map(metadata_pair, written)),
    )  # fmt: skip


def metadata_pair(written: str) -> tuple[str, MetadataValue]:
    """A key and its value from ``language=Python``."""
    key, equals, value = written.partition("=")
    if not equals:
        raise InvalidInput(f"{written!r} has no value; write it like language=Python")
    return key.strip(), _typed(value.strip())


def _typed(written: str) -> MetadataValue:
    """True, false and numbers by their types; what is in quotes, or would be printed differently, is text."""
    if len(written) > 1 and written[0] == written[-1] and written[0] in "'\"":
        return written[1:-1]
    try:
        value = json.loads(written)
    except ValueError:
        return written
    is_same = is_valid_value(value) and not isinstance(value, str) and json.dumps(value) == written
    return value if is_same and not written.endswith(".0") else written


scope_option = choice("--scope", among=Scope, default=Scope.PROJECT.value, help="Scope: user, project or team.")
tags_option = labels("Labels, separated by commas.")
reason_option = click.option("--reason", default="", help="Why.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
dry_run_option = click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
everywhere_option = click.option("--everywhere", is_flag=True, help="Also what was learned in other repositories.")


def memory_ids(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest memories whose ids begin like this, for a shell to complete."""
    try:
        with Hivemind.open(ctx.find_root().params.get("store_name")) as mind:
            page = mind.list(limit=COMPLETED_FROM)
    except HivemindError:
        return []  # completing is no place to tell of it
    fitting = [one for one in page if one.id.startswith(incomplete.lower())]
    return [CompletionItem(shorten_id(one.id), help=neutralise(first_line(one.text, 60))) for one in fitting]


own_memory_argument = click.argument("memory", metavar="ID", shell_complete=memory_ids)
maybe_memory_argument = click.argument("memory", metavar="[ID]", required=False, default="", shell_complete=memory_ids)


def open_mind() -> Hivemind:
    """The memory as seen from the current directory."""
    return Hivemind.open(store_name())


def text_or_standard_input(text: str | None, what: str = "the text") -> str:
    """Text from the argument, or from a pipe when there is none."""
    if text is not None and text != "-":
        return text
    if sys.stdin.isatty():
        raise InvalidInput(f"{what} is missing; give it as an argument or pipe it in")
    return decode_text(sys.stdin.buffer.read(), what)


def limit_option(default: int | None, meaning: str) -> Callable[[Any], Any]:
    """An option for how many there may be."""
    return click.option("--limit", type=int, default=default, show_default=default is not None, help=meaning)


def options(*decorators: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Several options as one."""
    return lambda function: reduce(lambda made, decorate: decorate(made), reversed(decorators), function)


across_option = click.option("--everywhere", is_flag=True, help="Also look in other repositories.")
memory_argument = options(own_memory_argument, across_option)

filters = options(
    choice("--scope", among=Scope, help="Only this scope."),
    choice("--kind", "kinds", multiple=True, among=Kind, help="Only this kind."),
    labels("Only with one of these tags."),
    metadata_option("--where", "Only with this metadata.", "where"),
    everywhere_option,
)


when_options = options(
    click.option("--expires", default="", metavar="WHEN", help="Expires then: 28d, 6w or a date."),
    click.option("--verify-by", default="", metavar="WHEN", help="Check it again by then: 28d, 6w or a date."),
    click.option("--valid-from", default="", metavar="DATE", help="Valid from this date."),
    click.option("--valid-to", default="", metavar="DATE", help="Valid until this date."),
)


def make_sure(question: str, *, yes: bool) -> None:
    """Go on only if the person wants it; a script that asked for JSON has said so."""
    if not yes and not wants("json"):
        click.confirm(question, abort=True)


def act(verb: Callable[..., Memory], done: str, *given: Any, **named: Any) -> None:
    """Ask one verb about one memory, and say that it was done."""
    with open_mind() as mind:
        known = verb(mind, *given, **named)
        elsewhere = mind.checkout.is_elsewhere(known.repo)
    tell(known, f"{done} {origin(known, elsewhere=elsewhere)}")
