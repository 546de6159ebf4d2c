"""``hivemind config`` and ``completion``."""

import json
from collections.abc import Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from hivemind.cli.arguments import open_mind
from hivemind.cli.framework import CommandGroup
from hivemind.cli.output import emit, emit_rows, indent, note, print_text, progress, warn
from hivemind.maintenance import configuration
from hivemind.model.status import ModelState
from hivemind.settings import Origin, Setting, list_settings
from hivemind.text.clean import neutralise, plural

commands = click.Group()


def _complete_setting(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [
        CompletionItem(setting.name, help=setting.meaning)
        for setting in list_settings()
        if setting.name.startswith(incomplete)
    ]


name_argument = click.argument("name", shell_complete=_complete_setting)


@commands.group("config", cls=CommandGroup, default="list")
def config() -> None:
    """Show and change settings and the embedding model. Without a command, list the settings.

    The environment overrides the file, the file overrides the default. A repository can only turn memory off.

    \b
    hivemind config
    hivemind config set recall_limit 8
    HIVEMIND_RECALL_LIMIT=8 hivemind recall "how do we deploy?"
    """


@config.command("list")
def print_settings() -> None:
    """List every setting with its value, its source and its meaning."""
    settings = list_settings()
    rows = [[setting.name, _format_value(setting.value), setting.origin, setting.meaning] for setting in settings]
    hint = "Change one: hivemind config set NAME VALUE"
    columns = ["setting", "value", "from", "meaning"]
    emit_rows(settings, columns, rows, after=hint, on_screen=lambda: _print_settings(settings))


def _print_settings(settings: Sequence[Setting]) -> None:
    for setting in settings:
        origin = "" if setting.origin is Origin.DEFAULT else f"  (from the {setting.origin})"
        line = neutralise(f"{setting.name} = {json.dumps(setting.value, ensure_ascii=False)}")
        click.echo(click.style(line, bold=True) + origin)
        print_text(indent(setting.meaning.replace("``", "'")))


@config.command("get")
@name_argument
def print_setting(name: str) -> None:
    """Print the value of a setting.

    \b
    hivemind config get recall_limit
    """
    setting = configuration.get(name)
    emit(setting, lambda: print_text(_format_value(setting.value)))


@config.command("set")
@name_argument
@click.argument("value")
def change_setting(name: str, value: str) -> None:
    """Change a setting.

    \b
    hivemind config set person "Ada Lovelace"
    """
    setting = configuration.change(name, value)
    emit(setting, f"{name} is set to {value}.")
    if setting.origin is Origin.ENVIRONMENT:
        warn(
            f"The environment overrides it: {setting.variable} is {_format_value(setting.value)}. Unset that variable."
        )


@config.command("unset")
@name_argument
def reset_setting(name: str) -> None:
    """Reset a setting to its default.

    \b
    hivemind config unset recall_limit
    """
    configuration.unset(name)
    emit({"unset": name}, f"{name} has its default again.")


@config.command("path")
def print_path() -> None:
    """Print the path of the settings file.

    \b
    $EDITOR "$(hivemind config path)"
    """
    file = configuration.file()
    emit({"path": str(file), "exists": file.exists()}, lambda: print_text(str(file)))
    if not file.exists():
        note("It does not exist yet; 'hivemind config set' creates it.")


def _format_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@config.group("model", cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def model(ctx: click.Context) -> None:
    """Show or choose the embedding model.

    \b
    hivemind config model
    hivemind config model use https://host/v1#name     an OpenAI-compatible endpoint
    hivemind config model use built-in
    """
    if ctx.invoked_subcommand is None:
        with open_mind() as mind:
            _emit_model(mind.maintenance.model())


@model.command("use")
@click.argument("name")
def use(name: str) -> None:
    """Choose the embedding model: a URL, built-in or none.

    \b
    hivemind config model use none
    """
    with open_mind() as mind:
        _emit_model(mind.maintenance.use_model("" if name == "built-in" else name))


@model.command("catch-up")
@click.option("--background", is_flag=True, help="At lowest priority, one process at a time.")
def catch_up(background: bool) -> None:
    """Compute all missing vectors now, of memories and sessions."""
    with open_mind() as mind, progress("Embedding") as advance:
        if background:
            count = mind.maintenance.catch_up_politely()
        else:
            count = mind.maintenance.catch_up(advance, include_sessions=True)
    emit({"embedded": count}, f"Embedded {plural(count, 'passage')}.")


def _emit_model(state: ModelState) -> None:
    if state.without:
        summary = f"No model: {state.without}. Recall searches by words only."
    else:
        vectors = f"{plural(state.embedded, 'passage')} embedded, {state.waiting:,} waiting"
        summary = f"{state.name}, {state.dimension} dimensions: {vectors}"
    emit(state, lambda: print_text(summary))


@commands.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that makes your shell complete commands and ids.

    \b
    echo 'eval "$(hivemind completion bash)"' >> ~/.bashrc
    echo 'eval "$(hivemind completion zsh)"' >> ~/.zshrc
    hivemind completion fish > ~/.config/fish/completions/hivemind.fish
    """
    completer_class = get_completion_class(shell)
    assert completer_class is not None
    completer = completer_class(ctx.find_root().command, {}, "hivemind", "_HIVEMIND_COMPLETE")
    click.echo(completer.source_template % completer.source_vars())
