"""``hivemind demo``: a made-up project to look around in."""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from hivemind.cli.demo import build_demo
from hivemind.cli.output import emit, progress
from hivemind.settings import Settings

commands = click.Group()
EXAMPLES = (
    ('hivemind recall "does verify check token expiry?"', "its code has changed"),
    ("hivemind brief", "what an agent starts with"),
    ("hivemind review", "approve or reject"),
    ('hivemind session search "connection"', "search past sessions"),
    ("hivemind session replay 5f1c9a52", "a session, step by step"),
    ("hivemind session resume 5f1c9a52", "hand it to another agent"),
    ("hivemind log --receipts", "what was told, and why"),
    ("hivemind ui", "all of it in a browser"),
)


@commands.command("demo")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
def demo(folder: Path | None) -> None:
    """Make a project with memories and sessions to try things on.

    It is a git repository and a store in a new folder, or a temporary one. Delete the folder when you are done.

    \b
    hivemind demo
    hivemind demo ~/hivemind-demo
    """
    folder = (folder or Path(tempfile.mkdtemp(prefix="hivemind-demo-"))).absolute()
    with progress("Playing three weeks of sessions"):
        new_demo = build_demo(folder, Settings.load().person)
    width = max(len(command) for command, _ in EXAMPLES)
    lines = [
        f"A made-up project with three weeks of memories and sessions:\n{folder}",
        "",
        "Your own memories are not touched. Go there:",
        "",
        *(f"  {line}" for line in _describe_entry(new_demo.repository, new_demo.home)),
        "",
        "Then try:",
        "",
        *(f"  {command:<{width}}  # {meaning}" for command, meaning in EXAMPLES),
        "",
        "When you are done, close the shell and delete the folder; it holds everything.",
    ]
    emit({"folder": str(folder), "repository": str(new_demo.repository), "home": str(new_demo.home)}, "\n".join(lines))


def _describe_entry(repository: Path, home: Path) -> Iterator[str]:
    """Yield the commands that make the current shell use the demo, for PowerShell on Windows."""
    # Started as a module, the first argument is no program; the interpreter finds the one beside it.
    started = Path(sys.argv[0]).absolute()
    program = started if started.stem != "__main__" else Path(sys.executable).with_name("hivemind")
    if os.name == "nt":
        yield f'cd "{repository}"'
        yield f'$env:HIVEMIND_HOME = "{home}"'
        alias = f'Set-Alias hivemind "{program}"'
    else:
        yield f"cd {shlex.quote(str(repository))}"
        yield f"export HIVEMIND_HOME={shlex.quote(str(home))}"
        alias = f"alias hivemind={shlex.quote(str(program))}"
    # As after 'dev/try', where the program is in the virtual environment of the checkout.
    if not shutil.which("hivemind"):
        yield alias
