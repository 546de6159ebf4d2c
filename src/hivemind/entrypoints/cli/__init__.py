"""The command line: ``hivemind COMMAND``. ``commands/`` has them by chapters, loaded when asked for."""

import importlib
from typing import Any, cast

import click

from hivemind import __version__
from hivemind.entrypoints.cli import framework

CHAPTERS = {
    "Every day": ("memory", "status remember recall list show revise tag brief review ui"),
    "Review and undo": ("review", "approve reject dispute verify retract restore rollback erase"),
    "Inspect": ("history", "explain history diff log audit receipts stats sql"),
    "Code": ("code", "link stale related symbols index watch"),
    "Agents and sessions": (
        "agents",
        "install uninstall mcp backfill distil sessions session trace sync-files promote eval",
    ),
    "Team": ("team", "login logout sync publish team hub"),
    "Maintenance": (
        "maintenance",
        "config doctor quarantine backup repair rebuild prune export import model completion",
    ),
}
"""How help groups the commands, and the module in ``commands/`` that has a group's."""
ALONE = ("eval", "hub", "mcp", "ui")
"""Commands in modules of their own names: what they load is heavy and nobody else's."""
MODULES = {name: name if name in ALONE else module for module, names in CHAPTERS.values() for name in names.split()}


class Commands(framework.Family):
    """Finds commands by their chapters and imports only the one that holds what is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command there is."""
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name in MODULES and cmd_name not in self.commands:
            chapter = importlib.import_module(f"{__name__}.commands.{MODULES[cmd_name]}").chapter
            self.add_command(framework.taught(chapter.commands[cmd_name], f"hivemind {cmd_name}"), cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by what they are for."""
        for title, (_, names) in CHAPTERS.items():
            self.write_chapter(ctx, formatter, title, names.split())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does, but what is mistyped gets one line."""
        return cast(list[str], framework.calmly(ctx, lambda: super(Commands, self).parse_args(ctx, args)))

    def invoke(self, ctx: click.Context) -> Any:
        """As click does, but nothing that goes wrong reaches a person as a stack trace."""
        return framework.calmly(ctx, lambda: super(Commands, self).invoke(ctx))


@click.group(
    cls=Commands,
    params=framework.common(hidden=False),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="hivemind")
@click.option("--store", "store_name", metavar="NAME", help="Use a named store, such as your-org/coding-memory.")
@click.pass_context
def hivemind(ctx: click.Context, store_name: str | None) -> None:
    """Memory for AI coding agents that a team can trust. Without a command: the status, and what to do next.

    \b
    hivemind remember "Deploys run from main only" --tags deploy
    hivemind recall "how do we deploy?"
    """
    ctx.obj = store_name
    ctx.color = framework.colour_wanted() if ctx.color is None else ctx.color
    if ctx.invoked_subcommand is None:
        status = hivemind.get_command(ctx, "status")
        assert status is not None
        ctx.invoke(status)
