"""The command line: ``hivemind COMMAND``. A command is a file in ``commands/``, loaded when it is asked for."""

import importlib
import sys
from pathlib import Path
from typing import Any

import click

from hivemind import __version__
from hivemind.errors import HivemindError, InvalidInput, NotFound, Refused, StoreError, Unavailable
from hivemind.model.text import neutral

EXIT_CODES: dict[type[HivemindError], int] = {
    InvalidInput: 2,
    NotFound: 3,
    Refused: 4,
    StoreError: 5,
    Unavailable: 6,
}
"""What a script can tell from how a command ended; 1 is a plain "no" (nothing found, not well)."""

COMMANDS = Path(__file__).parent / "commands"


class Commands(click.Group):
    """Finds commands by their file names and imports only the one that is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command there is."""
        files = (file.stem for file in COMMANDS.glob("*.py") if file.stem != "__init__")
        return sorted(name.rstrip("_").replace("_", "-") for name in files)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = cmd_name.replace("-", "_")
        if not (COMMANDS / f"{module}.py").exists():
            module += "_"
        loaded: click.Command = importlib.import_module(f"{__name__}.commands.{module}").command
        return loaded

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """As click does, but an error of ours becomes one line and an exit code."""
        try:
            return super().main(*args, **kwargs)
        except HivemindError as error:
            click.echo(neutral(f"hivemind: {error}"), err=True)
            sys.exit(exit_code(error))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click does, but a mistyped name gets a suggestion."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            hint = _did_you_mean(args[0], self.list_commands(ctx))
            raise click.UsageError(error.message + hint, ctx) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="hivemind")
@click.option("--store", "store_name", metavar="NAME", help="Use a named store, such as your-org/coding-memory.")
@click.pass_context
def hivemind(ctx: click.Context, store_name: str | None) -> None:
    """Memory for AI coding agents that a team can trust.

    \b
    hivemind remember "Deploys run from main only" --tags deploy
    hivemind recall "how do we deploy?"
    """
    ctx.obj = store_name


def main() -> None:
    """Run the command that was typed."""
    hivemind(prog_name="hivemind")


def exit_code(error: HivemindError) -> int:
    """The exit code for an error, by its nearest kind."""
    return next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))


def _did_you_mean(name: str, known: list[str]) -> str:
    import difflib  # only a mistyped command pays for it

    close = difflib.get_close_matches(name, known, n=2)
    return f" Did you mean {' or '.join(close)}?" if close else " See 'hivemind --help'."
