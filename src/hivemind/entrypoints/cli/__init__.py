"""The command line: ``hivemind COMMAND``. A command's module in ``commands/`` is imported when the command is used."""

import importlib
from typing import Any, cast

import click

from hivemind import __version__
from hivemind.entrypoints.cli import framework

GROUPS = {
    "Memories": {"memory": "remember recall list show edit", "history": "explain log"},
    "Review and undo": {"review": "review approve reject verify forget restore rollback erase"},
    "Agents and code": {
        "agents": "install uninstall statusline",
        "sessions": "brief learn session trace",
        "code": "code",
        "mcp": "mcp",
        "eval": "eval",
    },
    "Team and transfer": {"sync": "sync", "team": "team", "hub": "hub", "transfer": "import export"},
    "Maintenance": {
        "maintenance": "status doctor backup repair quarantine",
        "settings": "config completion",
        "history": "sql",
        "ui": "ui",
        "demo": "demo",
    },
}
"""The commands as help groups them, and the module in ``commands/`` that has each."""
MODULES = {name: module for group in GROUPS.values() for module, names in group.items() for name in names.split()}


class Commands(framework.CommandGroup):
    """The top level: imports only the module of the command that is used, because each has its own start-up cost."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of all commands."""
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name in MODULES and cmd_name not in self.commands:
            module = importlib.import_module(f"{__name__}.commands.{MODULES[cmd_name]}")
            command = module.commands.commands[cmd_name]
            self.add_command(framework.with_common_options(command, f"hivemind {cmd_name}"), cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups."""
        for title, modules in GROUPS.items():
            self.write_section(ctx, formatter, title, " ".join(modules.values()).split())

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; a typing error is reported in one line."""
        return cast(list[str], framework.report_errors(ctx, lambda: super(Commands, self).parse_args(ctx, args)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error is reported in one line, without a stack trace."""
        return framework.report_errors(ctx, lambda: super(Commands, self).invoke(ctx))


@click.group(
    cls=Commands,
    params=framework.common_options(hidden=False),
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="hivemind")
@click.option("--store", "store_name", metavar="NAME", help="Use a named store, such as your-org/coding-memory.")
@click.pass_context
def hivemind(ctx: click.Context, store_name: str | None) -> None:
    """Memory for AI coding agents. Without a command: the status and what to do next.

    \b
    hivemind remember "Deploys run from main only" --tags deploy
    hivemind recall "how do we deploy?"
    """
    ctx.obj = store_name
    ctx.color = framework.read_colour_wish() if ctx.color is None else ctx.color
    if ctx.invoked_subcommand is None:
        status = hivemind.get_command(ctx, "status")
        assert status is not None
        ctx.invoke(status)
