"""``hivemind install`` and ``uninstall``: connect coding agents, and undo that."""

import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import click

from hivemind.agents.file_changes import Purpose
from hivemind.agents.install import Connection
from hivemind.cli.arguments import combine, dry_run_option, expecting_an_answer, open_mind, yes_option
from hivemind.cli.framework import CHECK_FAILED, wants
from hivemind.cli.output import emit, note, print_heading, print_json, print_patch, print_table, warn
from hivemind.statusline import MAX_PAYLOAD_CHARACTERS, describe

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
    Purpose.SERVER: "MCP server: ask and remember",
    Purpose.HOOKS: "hooks: capture and brief",
    Purpose.INSTRUCTIONS: "rule: when to ask",
    Purpose.COMMANDS: "commands: /remember, /recall, …",
    Purpose.STATUS_LINE: "status line",
    Purpose.TRUST: "your trust in our hooks",
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
    is_new = False
    with open_mind() as mind:
        if plugin:
            paths = mind.agents.write_plugin(plugin)
            emit([str(path) for path in paths], "\n".join(["Written:", *(f"  {path}" for path in paths)]))
            return
        connections = mind.agents.plan_install(agents, project=project, trust_codex_hooks=trust_codex_hooks)
        _show_plan(connections, if_empty="is connected already", is_exact=dry_run, is_asked=not yes)
        if not dry_run:
            _confirm_plan(connections, "Make these changes?", yes=yes)
            is_new = any(connection.plan.changes for connection in connections)
            connections = mind.agents.check(mind.agents.apply(connections), project=project)
        works = "" if dry_run else "is connected: hook and server were tried and work"
        _report(connections, works, "is not connected")
        if works and connections:
            note("To learn from past sessions and commits, run: hivemind import")
            if is_new and (offer := mind.agents.describe_learning(connections)):
                note(offer)


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
        _show_plan(connections, if_empty="is not connected", is_exact=dry_run, is_asked=not yes)
        if not connections:
            note("No agent is connected.")
        if not dry_run:
            _confirm_plan(connections, "Remove this?", yes=yes)
            connections = mind.agents.apply(connections)
            for connection in connections:
                if connection.plan.changes and not connection.plan.problems:
                    note(f"{connection.title} is disconnected.")
        _report(connections, "", "is still connected")


@commands.command("statusline")
def statusline() -> None:
    """Print a line for the status bar of an agent.

    It counts memories here, those told in this session, those of them in doubt, and those that wait for review. It
    reads Claude Code's JSON from standard input, if there is any. 'hivemind install' sets it up, unless you have a
    status line of your own.

    \b
    hivemind statusline
    """
    payload = "" if sys.stdin.isatty() else sys.stdin.read(MAX_PAYLOAD_CHARACTERS)
    line = describe(payload, os.getcwd())
    emit({"line": line}, line)


def _show_plan(connections: Sequence[Connection], *, if_empty: str, is_exact: bool, is_asked: bool) -> None:
    """Print which files would change, in summary or line by line, and what to know about it."""
    # Who is asked a question must see what it is about, also with --quiet.
    if wants("json") or (wants("quiet") and not is_exact and not is_asked):
        return
    if is_exact:
        _show_diffs(connections)
    else:
        rows = [row for connection in connections for row in _summarise_changes(connection)]
        print_table(["agent", "file", "lines", "what"], rows)
    for connection in connections:
        if not connection.plan.changes and not connection.plan.problems:
            note(f"{connection.title} {if_empty}.")


def _report(connections: Sequence[Connection], well: str, ill: str) -> None:
    """Print what works and what does not, per agent; exit with an error if something does not."""
    if wants("json"):
        print_json([_as_json(connection) for connection in connections])
    for connection in connections:
        if connection.plan.problems:
            lines = "\n".join(f"  {problem}" for problem in connection.plan.problems)
            warn(f"{connection.title} {ill}:\n{lines}")
        elif well:
            note(f"{connection.title} {well}.")
        for remark in () if wants("quiet") else connection.plan.notes:
            warn(remark)
    if any(connection.plan.problems for connection in connections):
        click.get_current_context().exit(CHECK_FAILED)


def _as_json(connection: Connection) -> dict[str, object]:
    plan = connection.plan
    return {"agent": connection.agent, "diffs": connection.diffs, "notes": plan.notes, "problems": plan.problems}


def _show_diffs(connections: Sequence[Connection]) -> None:
    for connection in connections:
        if connection.diffs:
            print_heading(connection.title)
        for diff in connection.diffs:
            print_patch(diff.splitlines())


def _confirm_plan(connections: Sequence[Connection], question: str, *, yes: bool) -> None:
    """Stop unless the person agrees or there is nothing to change; they may look at every line first."""
    if yes or not any(connection.plan.changes for connection in connections):
        return
    with expecting_an_answer():
        while (reply := click.prompt(f"{question} (y yes, n no, d details)", default="y", err=True)[:1].lower()) == "d":
            _show_diffs(connections)
    if reply != "y":
        raise click.Abort


def _summarise_changes(connection: Connection) -> Iterator[list[str]]:
    """A row for each file; files that serve one purpose, such as the commands, share a row."""
    changes = zip(connection.plan.changes, connection.diffs, strict=True)
    for purposes, group in groupby(changes, key=lambda pair: "; ".join(PURPOSES[name] for name in pair[0].purposes)):
        paths, diffs = zip(*((change.path, diff) for change, diff in group), strict=True)
        lines = [line for diff in diffs for line in diff.splitlines()[2:]]
        counts = [(sign, sum(line.startswith(sign) for line in lines)) for sign in "+-"]
        size = " ".join(f"{sign}{count}" for sign, count in counts if count)
        place = _shorten_path(Path(os.path.commonpath(paths)))
        yield [connection.title, place if len(paths) == 1 else f"{place}/ ({len(paths)} files)", size, purposes]


def _shorten_path(path: Path) -> str:
    return f"~/{path.relative_to(Path.home())}" if path.is_relative_to(Path.home()) else str(path)
