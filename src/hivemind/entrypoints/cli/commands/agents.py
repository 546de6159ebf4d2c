"""``hivemind install`` and ``uninstall``: connect coding agents, and undo that."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from hivemind.app.agent_setup import Connection
from hivemind.entrypoints.cli.arguments import combine, dry_run_option, open_mind, yes_option
from hivemind.entrypoints.cli.framework import wants
from hivemind.entrypoints.cli.output import emit, note, print_heading, print_json, print_patch, print_table, warn

commands = click.Group()
connection_options = combine(
    click.argument("agents", nargs=-1),
    click.option(
        "--project", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
        help="For this repository only, instead of everywhere.",
    ),
    dry_run_option,
    yes_option,
)  # fmt: skip
PURPOSES = {
    "server": "MCP server: ask and remember",
    "hooks": "hooks: capture and brief",
    "instructions": "rule: when to ask",
    "trust": "your trust in our hooks",
}


@commands.command("install")
@connection_options
@click.option(
    "--trust-codex-hooks", is_flag=True, help="Also tell Codex that you have looked at our hooks; else do so in /hooks."
)
@click.option(
    "--plugin", type=click.Path(path_type=Path), metavar="DIR",
    help="Connect nothing; write a plugin for Claude Code, Codex and Copilot, a Gemini extension and an OpenCode module"
    " there, for a team to publish.",
)  # fmt: skip
def install(
    agents: tuple[str, ...], project: Path | None, dry_run: bool, yes: bool, trust_codex_hooks: bool,
    plugin: Path | None,
) -> None:  # fmt: skip
    """Connect coding agents: all on this machine, or those named.

    \b
    hivemind install --dry-run
    hivemind install claude-code codex
    hivemind install --plugin hivemind-plugin
    """
    with open_mind() as mind:
        if plugin:
            paths = mind.agents.write_plugin(plugin)
            emit([str(path) for path in paths], "\n".join(["Written:", *(f"  {path}" for path in paths)]))
            return
        connections = mind.agents.plan_install(agents, project=project, trust_codex_hooks=trust_codex_hooks)
        _show_plan(connections, if_empty="is connected already", is_exact=dry_run)
        if not dry_run and _confirm_plan(connections, "Make these changes?", yes=yes):
            mind.agents.apply(connections)
            note("Connected. Check with 'hivemind doctor'.")


@commands.command("uninstall")
@connection_options
def uninstall(agents: tuple[str, ...], project: Path | None, dry_run: bool, yes: bool) -> None:
    """Disconnect coding agents, all or those named; memories stay.

    \b
    hivemind uninstall --dry-run
    hivemind uninstall codex
    """
    with open_mind() as mind:
        connections = mind.agents.plan_uninstall(agents, project=project)
        _show_plan(connections, if_empty="is not connected", is_exact=dry_run)
        if not connections:
            note("No agent is connected.")
        if not dry_run and _confirm_plan(connections, "Remove this?", yes=yes):
            mind.agents.apply(connections)


def _show_plan(connections: Sequence[Connection], *, if_empty: str, is_exact: bool) -> None:
    """Print which files would change, in summary or line by line, and what to know about it."""
    if wants("json"):
        print_json(
            [
                {"agent": connection.agent, "diffs": connection.diffs, "notes": connection.plan.notes}
                for connection in connections
            ]
        )
        return
    if is_exact:
        _show_diffs(connections)
    else:
        rows = [row for connection in connections for row in _summarise_changes(connection)]
        print_table(["agent", "file", "lines", "what"], rows)
    for connection in connections:
        if not connection.plan.changes:
            note(f"{connection.title} {if_empty}.")
        for remark in connection.plan.notes:
            warn(remark)


def _show_diffs(connections: Sequence[Connection]) -> None:
    for connection in connections:
        if connection.diffs:
            print_heading(connection.title)
        for diff in connection.diffs:
            print_patch(diff.splitlines())


def _confirm_plan(connections: Sequence[Connection], question: str, *, yes: bool) -> bool:
    """Whether there is something to change and the person agrees; they may look at every line first."""
    if not any(connection.plan.changes for connection in connections):
        return False
    if yes:
        return True
    while (reply := click.prompt(f"{question} (y yes, n no, d details)", default="y", err=True)[:1].lower()) == "d":
        _show_diffs(connections)
    if reply != "y":
        raise click.Abort
    return True


def _summarise_changes(connection: Connection) -> Iterator[list[str]]:
    for change, diff in zip(connection.plan.changes, connection.diffs, strict=True):
        lines = diff.splitlines()[2:]
        counts = [(sign, sum(line.startswith(sign) for line in lines)) for sign in "+-"]
        size = " ".join(f"{sign}{count}" for sign, count in counts if count)
        yield [connection.title, _shorten_path(change.path), size, "; ".join(PURPOSES[what] for what in change.what)]


def _shorten_path(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
