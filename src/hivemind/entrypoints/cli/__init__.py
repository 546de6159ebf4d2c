"""The command line: ``hivemind COMMAND``. A command is a file in ``commands/``, loaded when it is asked for."""

import importlib
from pathlib import Path
from typing import Any, cast

import click

from hivemind import __version__
from hivemind.entrypoints.cli import manners

COMMANDS = Path(__file__).parent / "commands"
CHAPTERS = {
    "Every day": "status remember recall list show revise tag brief review ui",
    "Decide and undo": "approve reject dispute verify retract restore rollback erase",
    "Look into it": "explain history diff log audit receipts stats sql",
    "Code": "link stale related symbols index watch",
    "Agents and sessions": "install uninstall mcp backfill distil sessions session trace sync-files promote eval",
    "Team": "login logout sync publish team hub",
    "Look after it": "config doctor backup repair rebuild prune export import model completion",
}
"""How help groups the commands."""


class Commands(manners.Family):
    """Finds commands by their file names and imports only the one that is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command there is."""
        files = (file.stem for file in COMMANDS.glob("*.py") if file.stem != "__init__")
        return sorted(name.rstrip("_").replace("_", "-") for name in files)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name not in self.list_commands(ctx):
            return None
        module = cmd_name.replace("-", "_")
        if not (COMMANDS / f"{module}.py").exists():
            module += "_"
        loaded = importlib.import_module(f"{__name__}.commands.{module}")
        self.add_command(manners.taught(loaded.command), cmd_name)
        return self.commands[cmd_name]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are for."""
        for title, names in CHAPTERS.items():
            self.write_chapter(ctx, formatter, title, names.split())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, but what is mistyped gets one line."""
        return cast(list[str], manners.calmly(ctx, lambda: super(Commands, self).parse_args(ctx, args)))

    def invoke(self, ctx: click.Context) -> Any:
        """As click does, but nothing that goes wrong reaches a person as a stack trace."""
        return manners.calmly(ctx, lambda: super(Commands, self).invoke(ctx))


@click.group(
    cls=Commands,
    params=manners.common(hidden=False),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="hivemind")
@click.option("--store", "store_name", metavar="NAME", help="Use a named store, such as your-org/coding-memory.")
@click.pass_context
def hivemind(ctx: click.Context, store_name: str | None) -> None:
    """Memory for AI coding agents that a team can trust. Without a command: where you stand and what to do next.

    \b
    hivemind remember "Deploys run from main only" --tags deploy
    hivemind recall "how do we deploy?"
    """
    ctx.obj = store_name
    ctx.color = manners.colour_wanted() if ctx.color is None else ctx.color
    if ctx.invoked_subcommand is None:
        from hivemind.entrypoints.cli.commands import status

        ctx.invoke(status.command)
