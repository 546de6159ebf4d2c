"""``hivemind config list``, ``get``, ``set``, ``unset`` and ``path``."""

import json
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from hivemind.app import configuring
from hivemind.entrypoints.cli.manners import Family
from hivemind.entrypoints.cli.output import indented, note, on_terminal, say, tell, tell_rows, warn
from hivemind.model.text import neutral
from hivemind.settings import Setting


def _names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    fitting = [one for one in configuring.every() if one.name.startswith(incomplete)]
    return [CompletionItem(one.name, help=one.meaning) for one in fitting]


name_argument = click.argument("name", shell_complete=_names)


@click.group("config", cls=Family, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Settings: what they mean, where they come from, and how to change them. Alone, lists them.

    The environment counts before the file, the file before the default. Nothing is read from a repository.

    \b
    hivemind config
    hivemind config set recall_limit 8
    HIVEMIND_RECALL_LIMIT=8 hivemind recall "how do we deploy?"
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_)


@command.command("list")
def list_() -> None:
    """Every setting with its value, where that comes from, and what it means.

    \b
    hivemind config list
    """
    found = configuring.every()
    if on_terminal():
        tell(found, lambda: _listed(found))
        return
    rows = [[one.name, _shown(one.value), one.origin, one.meaning] for one in found]
    tell_rows(found, ["setting", "value", "from", "meaning"], rows)


def _listed(found: Sequence[Setting]) -> None:
    for one in found:
        origin = "" if one.origin == "default" else f"  (from the {one.origin})"
        said = neutral(f"{one.name} = {json.dumps(one.value, ensure_ascii=False)}")
        click.echo(click.style(said, bold=True) + origin)
        say(indented(one.meaning.replace("``", "'")))
    note("\nChange one: hivemind config set NAME VALUE")


@command.command("get")
@name_argument
def get(name: str) -> None:
    """The value of a setting.

    \b
    hivemind config get recall_limit
    """
    found = configuring.one(name)
    tell(found, lambda: say(_shown(found.value)))


@command.command("set")
@name_argument
@click.argument("value")
def set_(name: str, value: str) -> None:
    """Change a setting.

    \b
    hivemind config set person "Ada Lovelace"
    """
    found = configuring.change(name, value)
    tell(found, f"{name} is set to {value}.")
    if found.origin == "environment":
        warn(f"{found.variable} in the environment says {_shown(found.value)}, and counts before the file")


@command.command("unset")
@name_argument
def unset(name: str) -> None:
    """Let the default of a setting hold again.

    \b
    hivemind config unset recall_limit
    """
    configuring.unset(name)
    tell({"unset": name}, f"{name} is no longer set in {configuring.file()}.")


@command.command("path")
def path() -> None:
    """The file that settings are kept in.

    \b
    $EDITOR "$(hivemind config path)"
    """
    file = configuring.file()
    tell({"path": str(file), "exists": file.exists()}, lambda: say(str(file)))
    if not file.exists():
        note("It does not exist yet; 'hivemind config set' makes it.")


def _shown(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
