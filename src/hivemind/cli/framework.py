"""What all commands share: the common options, suggestions, one-line errors and exit codes."""

import difflib
import inspect
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from itertools import takewhile
from typing import Any, Literal

import click

from hivemind import __version__
from hivemind.agents.callers import is_agent_calling
from hivemind.errors import HivemindError, InvalidInput, NotFound, Refused, StoreError, Unavailable, did_you_mean
from hivemind.text.clean import neutralise
from hivemind.text.fence import format_error_for_agent

EXIT_CODES: dict[type[HivemindError], int] = {
    InvalidInput: 2,
    NotFound: 3,
    Refused: 4,
    StoreError: 5,
    Unavailable: 6,
}
CHECK_FAILED, UNEXPECTED_ERROR, INTERRUPTED, PIPE_CLOSED = 1, 70, 130, 141
OTHER_CODES = {
    0: "Done.",
    CHECK_FAILED: "No: a check failed, something is stale, or you declined.",
    UNEXPECTED_ERROR: "Unexpected error; the message says where the details are.",
    INTERRUPTED: "Interrupted by Ctrl-C.",
    PIPE_CLOSED: "The reader of our output closed the pipe.",
}
"""Exit codes beside those of the errors; 130 and 141 as shells number signals, 70 as sysexits.h numbers a bug."""
SUMMARY_END = re.compile(r"[.;](?:\s|$)")
"""Where the summary of a command ends, which a list of commands shows."""
MEANINGS = {
    "approve": "accept confirm", "brief": "context", "config": "configure options preferences settings",
    "doctor": "check diagnose health", "edit": "amend change correct modify replace revise update",
    "edit --tags": "tag", "erase": "destroy purge wipe", "explain": "blame describe inspect why", "export": "dump",
    "forget": "retract", "forget, erase": "del delete drop remove rm", "--help": "help manual usage",
    "hub serve": "host server",
    "import": "ingest load", "import rules": "sync-files", "import transcripts": "backfill",
    "install": "connect init setup", "learn": "distil", "list": "ls", "log": "changes events history timeline versions",
    "log --audit": "audit", "log --receipts": "receipts",
    "off": "disable mute pause", "on": "enable",
    "recall": "ask find get grep lookup query search", "reject": "decline deny",
    "remember": "add create new note save store write", "repair": "fix recover reindex", "repair --rebuild": "rebuild",
    "restore, rollback": "reset revert undo", "review": "inbox pending proposals queue",
    "session list": "sessions", "session resume": "continue handover", "show": "cat display open print read view",
    "status --counts": "stats", "sync": "exchange pull push", "team login": "join", "team publish": "share",
    "ui": "browse dashboard gui serve viewer web", "uninstall": "disconnect",
}  # fmt: skip
"""Commands, and the words that people may type when they mean them: synonyms, and the names that they had earlier."""
SYNONYMS = {word: commands.split(", ") for commands, words in MEANINGS.items() for word in words.split()}


MIN_WIDTH = 40


class CommandError(click.ClickException):
    """An error as a person sees it: one line, and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.exit_code = code  # type: ignore[misc]  # click reads it from whatever it catches

    def show(self, file: Any = None) -> None:
        """Print it, on a terminal without breaking words."""
        lines = f"hivemind: {neutralise(self.message)}".split("\n")
        if sys.stderr.isatty():
            width = max(shutil.get_terminal_size().columns, MIN_WIDTH)
            lines = [textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False) for line in lines]
        click.echo("\n".join(lines), err=True)


class SuggestingChoice(click.Choice[str]):
    """A choice that suggests the value with a similar spelling."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """The error message, with a suggestion."""
        return super().get_invalid_choice_message(value, ctx) + did_you_mean(str(value), self.choices)

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        """The choices in one line."""
        return f"Choose {', '.join(self.choices[:-1])} or {self.choices[-1]}."


class CommandGroup(click.Group):
    """Commands under one name, which suggest a command for a word that is none."""

    noun = "command"
    """What may stand in the place of a command, for the error message."""

    def __init__(self, *args: Any, default: str = "", **options: Any) -> None:
        """``default`` is the command that is meant where none is named."""
        super().__init__(*args, **{"invoke_without_command": bool(default), **options})
        self.default = default

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, with the default command where none is named."""
        # A shell that completes a line wants the commands.
        if self.default and not ctx.resilient_parsing:
            flags = {name for param in self.get_params(ctx) for name in param.opts}
            own_args = [*takewhile(flags.__contains__, args)]
            other_args = args[len(own_args) :]
            if self.means_default(other_args[0] if other_args else "") and not {"-h", "--help"} & {*own_args}:
                args = [*own_args, self.default, *other_args]
        return super().parse_args(ctx, args)

    def means_default(self, word: str) -> bool:
        """Whether what stands in the place of a command, if anything does, is for the default command."""
        return not word or word.startswith("-")

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command as click does; an unknown one gets a suggestion."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            names = self._suggest_commands(ctx, args[0])
            hint = f"Did you mean {' or '.join(map(repr, names))}?" if names else f"See '{ctx.command_path} --help'."
            raise CommandError(f"There is no {self.noun} {args[0]!r}. {hint}", EXIT_CODES[InvalidInput]) from error

    def _suggest_commands(self, ctx: click.Context, word: str) -> list[str]:
        """What to type for a word that is no command: by its meaning, its group, or a similar spelling."""
        synonyms, names = SYNONYMS.get(word.lower(), []), self.list_commands(ctx)
        # In this order, because 'delete' is spelled like 'related' and means 'forget'.
        matches = (
            [name for name in synonyms if name.split()[0] in names]
            or [f"{name} {word}" for name in names if word in getattr(self.get_command(ctx, name), "commands", ())]
            or difflib.get_close_matches(word, names, n=2)
        )
        # Without a match in this group, the word may mean a command outside of it.
        path = ctx.command_path if matches else ctx.find_root().command_path
        misspelt = difflib.get_close_matches(word.lower(), SYNONYMS, n=1)
        return [f"{path} {name}" for name in matches or synonyms or SYNONYMS.get("".join(misspelt), [])]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries."""
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        summaries = {name: summarise_command(command) for name, command in commands.items() if command}
        self.write_section(ctx, formatter, "Commands", summaries)

    def write_section(
        self, ctx: click.Context, formatter: click.HelpFormatter, title: str, summaries: Mapping[str, str]
    ) -> None:
        """Write some of the commands under a title; all sections align with the longest name of the group."""
        width = max(map(len, self.list_commands(ctx)))
        with formatter.section(title):
            formatter.write_dl([(f"{name:<{width}}", summary) for name, summary in summaries.items()])


def summarise_command(command: click.Command) -> str:
    """The first sentence of a command's help, or less, as a list of commands shows it."""
    return SUMMARY_END.split(command.help or "")[0]


def wants(name: Literal["json", "quiet"]) -> bool:
    """Whether --json or --quiet was given, before the command or after it."""
    ctx = click.get_current_context(silent=True)
    return bool(ctx and ctx.meta.get(name))


def get_store_name() -> str | None:
    """The value of ``--store``."""
    name: str | None = click.get_current_context().find_root().obj
    return name


def _set_common_option(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and param.name == "no_color":
        ctx.color = False
    elif value and param.name:
        ctx.meta[param.name] = True


def _make_flag(*names: str, meaning: str, hidden: bool = False) -> click.Option:
    return click.Option(
        names, is_flag=True, is_eager=True, expose_value=False, callback=_set_common_option, help=meaning, hidden=hidden
    )


def make_common_options(*, hidden: bool) -> list[click.Parameter]:
    """The options that every command takes, before its name and after it; after it, the rarer ones are not listed."""
    return [
        _make_flag("--json", meaning="Print JSON."),
        _make_flag("-q", "--quiet", meaning="Print only results: no confirmations, notes or progress."),
        _make_flag("--no-color", meaning="Print without colours, as NO_COLOR does.", hidden=hidden),
        _make_flag("--debug", meaning="Show the whole trace of an error.", hidden=hidden),
    ]


def add_common_options(command: click.Command, path: str) -> click.Command:
    """The command and its subcommands with the common options; one without an example gets its bare name as one."""
    is_runnable = not isinstance(command, click.Group) or command.invoke_without_command
    if is_runnable and "\b" not in (command.help or ""):
        # A docstring keeps its margin, which an added line without one would turn into visible indentation.
        command.help = f"{inspect.cleandoc(command.help or '')}\n\n\b\n{path}"
    for param in command.params:
        if isinstance(param.type, click.Choice):
            param.type = SuggestingChoice(param.type.choices)
    command.params += make_common_options(hidden=True)
    for name, subcommand in getattr(command, "commands", {}).items():
        add_common_options(subcommand, f"{path} {name}")
    return command


def read_colour_wish() -> bool | None:
    """Whether the environment asks for colours or for none; None leaves it to the kind of output."""
    if os.environ.get("NO_COLOR"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def report_errors(ctx: click.Context, work: Callable[[], Any]) -> Any:
    """Do some work; an error becomes one line and an exit code."""
    try:
        try:
            return work()
        finally:
            # A closed pipe is noticed here; when Python ends, it would print a message of its own.
            sys.stdout.flush()
    except HivemindError as error:
        code = next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
        # Memories may be quoted in it.
        raise CommandError(format_error_for_agent(error) if is_agent_calling() else str(error), code) from error
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        ctx.exit(PIPE_CLOSED)
    except click.Abort as error:
        raise CommandError("stopped; nothing more was done", CHECK_FAILED) from error
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else ctx.command_path
        message = error.format_message()
        stop = "" if message.endswith((".", "?", "?)")) else "."
        raise CommandError(f"{message}{stop} See '{where} --help'.", EXIT_CODES[InvalidInput]) from error
    except (click.ClickException, click.exceptions.Exit):
        raise
    except OSError as error:
        # A full disk, a folder in the place of a file, a file of somebody else: the person can mend it, no bug.
        # A missing file without a name is the current folder, which somebody deleted.
        where = error.filename or ("the current folder" if isinstance(error, FileNotFoundError) else "")
        raise CommandError(f"{where}: {error.strerror or error}".removeprefix(": "), EXIT_CODES[StoreError]) from error
    except Exception as error:  # a person gets a line, not a stack trace
        if damage := _find_damage(ctx):
            raise CommandError(f"{damage}; run 'hivemind doctor'", EXIT_CODES[StoreError]) from error
        raise CommandError(_describe_unexpected(ctx, error), UNEXPECTED_ERROR) from error


def _find_damage(ctx: click.Context) -> str | None:
    """What is wrong with the store, where that may be why something failed; None if nothing is."""
    # Not at the top: only a failure needs it, and it takes 50 ms.
    from hivemind.maintenance import recovery

    name = ctx.find_root().obj
    return recovery.find_damage(name if isinstance(name, str) else None)


def _describe_unexpected(ctx: click.Context, error: Exception) -> str:
    # Not at the top: only a failure needs it, and it takes 6 ms.
    from hivemind.maintenance import crash_report

    if ctx.meta.get("debug"):
        click.echo(neutralise(crash_report.format_details(error, __version__)), err=True)
    elif file := crash_report.save(error, __version__):
        return f"unexpected error ({type(error).__name__}). The details are in {file}"
    return f"unexpected error ({type(error).__name__}: {error}). --debug shows the details"
