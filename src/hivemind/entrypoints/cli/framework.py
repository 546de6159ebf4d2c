"""What every command has in common, said once: JSON, quiet, colour, suggestions, calm errors and exit codes."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from hivemind.errors import HivemindError, InvalidInput, NotFound, Refused, StoreError, Unavailable, did_you_mean
from hivemind.text.clean import neutralise

EXIT_CODES: dict[type[HivemindError], int] = {
    InvalidInput: 2,
    NotFound: 3,
    Refused: 4,
    StoreError: 5,
    Unavailable: 6,
}
NO, UNFORESEEN, INTERRUPTED, READER_LEFT = 1, 70, 130, 141
OTHER_CODES = {
    0: "Done.",
    NO: "No: a check failed, something is stale, or you declined.",
    UNFORESEEN: "Unexpected error; the message says where the details are.",
    INTERRUPTED: "Interrupted by Ctrl-C.",
    READER_LEFT: "The reader of our output closed the pipe.",
}
"""What a script can tell from how a command ended, beside the errors; as shells number them where they do."""


CLAUSE = re.compile(r"[.;:](?:\s|$)|(?<=\?)\s|, (?:and|or|so|from|as|on|until) ")
"""A list of commands says no more than the beginning of what each of them says."""


class Failed(click.ClickException):
    """An error as a person sees it: one calm line, and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc]  # click reads it from whatever it catches

    def show(self, file: Any = None) -> None:
        """Print it."""
        click.echo(f"hivemind: {neutralise(self.message)}", err=True)


class OneOf(click.Choice[str]):
    """A choice that suggests what was meant."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """What is wrong and what would be right."""
        return super().get_invalid_choice_message(value, ctx) + did_you_mean(str(value), self.choices)


class Family(click.Group):
    """Commands under one name, which suggest what was meant."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click does, but a mistyped name gets a suggestion."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = did_you_mean(args[0], self.list_commands(ctx)) or f" See '{ctx.command_path} --help'."
            raise click.UsageError(f"There is no command {args[0]!r}.{hint}", ctx) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, each with the beginning of what it says."""
        self.write_chapter(ctx, formatter, "Commands", self.list_commands(ctx))

    def write_chapter(
        self, ctx: click.Context, formatter: click.HelpFormatter, title: str, names: Sequence[str]
    ) -> None:
        """Some of the commands under a title; every chapter aligns with the longest name there is."""
        width = max(map(len, self.list_commands(ctx)))
        with formatter.section(title):
            known = [(f"{name:<{width}}", self.get_command(ctx, name)) for name in names]
            formatter.write_dl([(name, CLAUSE.split(one.help or "")[0]) for name, one in known if one])


def wants(name: str) -> bool:
    """Whether the person said --json, --quiet or --debug, before the command or after it."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.meta.get(name))


def store_name() -> str | None:
    """The store that was named before the command, if one was."""
    named: str | None = click.get_current_context().find_root().obj
    return named


def _said(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and param.name == "no_color":
        ctx.color = False
    elif value and param.name:
        ctx.meta[param.name] = True


def _option(*names: str, meaning: str, hidden: bool = False) -> click.Option:
    return click.Option(
        names, is_flag=True, is_eager=True, expose_value=False, callback=_said, help=meaning, hidden=hidden
    )


def common(*, hidden: bool) -> list[click.Parameter]:
    """The options that stand behind every command and before it; the rarer ones are listed only before it."""
    return [
        _option("--json", meaning="Print JSON."),
        _option("-q", "--quiet", meaning="Print only results: no confirmations, notes or progress."),
        _option("--no-color", meaning="Print without colours, as NO_COLOR does.", hidden=hidden),
        _option("--debug", meaning="Show the whole trace of an error.", hidden=hidden),
    ]


def taught(command: click.Command, path: str) -> click.Command:
    """The command, and those below it, with what all commands can; one without an example gets the plain one."""
    is_run = not isinstance(command, click.Group) or command.invoke_without_command
    if is_run and "\b" not in (command.help or ""):
        command.help = f"{command.help}\n\n\b\n{path}"
    for param in command.params:
        if isinstance(param.type, click.Choice):
            param.type = OneOf(param.type.choices)
    command.params += common(hidden=True)
    for name, below in getattr(command, "commands", {}).items():
        taught(below, f"{path} {name}")
    return command


def colour_wanted() -> bool | None:
    """Whether the environment asks for colours, asks for none, or leaves it to where we print."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def calmly(ctx: click.Context, work: Callable[[], Any]) -> Any:
    """Do it; whatever goes wrong becomes one line and an exit code."""
    try:
        try:
            return work()
        finally:
            # A reader who left is noticed here and not when Python ends, where it could not be kept quiet.
            sys.stdout.flush()
    except HivemindError as error:
        raise Failed(_message(error), exit_code(error)) from error
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        ctx.exit(READER_LEFT)
    except click.Abort as error:
        raise Failed("stopped; nothing more was done", NO) from error
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else ctx.command_path
        hint = "" if "--help" in error.format_message() else f" See '{where} --help'."
        raise Failed(f"{error.format_message()}{hint}", exit_code(InvalidInput())) from error
    except (click.ClickException, click.exceptions.Exit):
        raise
    except Exception as error:
        raise Failed(_unforeseen(ctx, error), UNFORESEEN) from error


def _message(error: HivemindError) -> str:
    """What an error says; an agent gets the texts that it lists in a fence."""
    # Whatever raised it has loaded the app already; what only prints help must not.
    from hivemind.app.callers import agent_calls
    from hivemind.text.fence import format_error_for_agent

    return format_error_for_agent(error) if agent_calls() else str(error)


def exit_code(error: HivemindError) -> int:
    """The exit code for an error, by its nearest kind."""
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def _unforeseen(ctx: click.Context, error: Exception) -> str:
    from hivemind.app import crash_report

    if ctx.meta.get("debug"):
        click.echo(neutralise(crash_report.details(error)), err=True)
    elif file := crash_report.save(error):
        return f"unexpected error ({type(error).__name__}). The details are in {file}"
    return f"unexpected error ({type(error).__name__}: {error}). --debug shows the details"
