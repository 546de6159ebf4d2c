"""The command line: ``hivemind COMMAND``. A command's module in ``commands/`` is imported when the command is used."""

import importlib
from typing import Any, cast

import click

from hivemind import __version__
from hivemind.cli import framework

GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "Memories": {
        "remember": ("memory", "Store a memory"),
        "recall": ("memory", "Search memories, then past sessions"),
        "list": ("memory", "List memories, newest first"),
        "show": ("memory", "Show a memory with all its fields"),
        "edit": ("memory", "Edit a memory: text, kind, tags, dates or metadata"),
        "explain": ("history", "Explain a memory: sources, versions, changed code, who saw it"),
        "log": ("history", "Show what happened: here, to a memory, or to a subject"),
    },
    "Review and undo": {
        "review": ("review", "Review pending memories: proposals, disputes, changed code"),
        "approve": ("review", "Approve proposals, or the side of a dispute that is right"),
        "reject": ("review", "Reject memories and keep their values out"),
        "verify": ("review", "Mark memories as still correct"),
        "forget": ("review", "Forget memories until 'restore' brings them back"),
        "restore": ("review", "Restore forgotten, rejected or superseded memories"),
        "guard": ("guard", "Let a reviewed memory ask or refuse before an agent acts"),
        "rollback": ("review", "Undo a batch of learning, such as an import or a session"),
        "erase": ("review", "Erase a memory and everything derived from it for good"),
    },
    "Agents and code": {
        "install": ("agents", "Connect coding agents: all on this machine, or those named"),
        "uninstall": ("agents", "Disconnect coding agents, all or those named"),
        "statusline": ("agents", "Print a line for the status bar of an agent"),
        "off": ("switch", "Turn memory off in this repository"),
        "on": ("switch", "Turn memory on again in this repository"),
        "brief": ("sessions", "Print what an agent is given at the start of a session here"),
        "learn": ("sessions", "Learn from a session, or all since last time"),
        "session": ("sessions", "List, search, show, replay or resume sessions of agents"),
        "trace": ("sessions", "Store and search traces of past work"),
        "code": ("code", "Link memories to code, find stale ones, search by file or symbol"),
        "diff": ("branch", "Show what a branch taught and which memories it makes stale"),
        "mcp": ("mcp", "Serve agents over the Model Context Protocol (MCP)"),
    },
    "Team and transfer": {
        "sync": ("sync", "Exchange with your other machines and with the team's hub"),
        "team": ("team", "Join, leave or share with a team"),
        "hub": ("hub", "Run and administer a team's hub on Postgres"),
        "import": ("transfer", "Import transcripts, commits, rules, reviews, notes or memories"),
        "export": ("transfer", "Export memories as lines of JSON or a folder of Markdown files"),
    },
    "Maintenance": {
        "status": ("maintenance", "Show memories, agents and pending reviews, and what to do next"),
        "doctor": ("maintenance", "Check the installation and the store"),
        "backup": ("maintenance", "Back up the store while it is in use, and restore a backup"),
        "repair": ("maintenance", "Repair a damaged store from what can still be read"),
        "quarantine": ("maintenance", "Inspect, retry or discard unreadable input"),
        "config": ("settings", "Show and change settings and the embedding model"),
        "completion": ("settings", "Print a script that makes your shell complete commands and ids"),
        "sql": ("history", "Query memories with SQL, read-only"),
        "ui": ("ui", "Browse memories, sessions and reviews in a browser"),
        "demo": ("demo", "Make a project with memories and sessions to try things on"),
    },
}
"""The commands as help groups them, each with its module in ``commands/`` and its summary.

The summaries are repeated here, because importing every module for the list of commands takes longer than a recall.
"""
MODULES = {name: module for group in GROUPS.values() for name, (module, _) in group.items()}


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
            self.add_command(framework.add_common_options(command, f"hivemind {cmd_name}"), cmd_name)
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in their groups."""
        for title, group in GROUPS.items():
            self.write_section(ctx, formatter, title, {name: summary for name, (_, summary) in group.items()})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; a typing error is reported in one line."""
        return cast(list[str], framework.report_errors(ctx, lambda: super(Commands, self).parse_args(ctx, args)))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error is reported in one line, without a stack trace."""
        return framework.report_errors(ctx, lambda: super(Commands, self).invoke(ctx))


@click.group(
    cls=Commands,
    params=framework.make_common_options(hidden=False),
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
