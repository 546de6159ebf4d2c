"""Ways to ask the same thing: from Python and from the command line."""

import json
from pathlib import Path
from typing import Any

import click.testing

from hivemind.entrypoints.cli import hivemind


def run(*arguments: str, stdin: str | bytes | None = None) -> click.testing.Result:
    """Run a command in this process, as if typed."""
    return click.testing.CliRunner().invoke(hivemind, list(arguments), input=stdin)


def run_json(*arguments: str) -> Any:
    """What a command says with ``--json``."""
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def residue(directory: Path, needle: bytes) -> list[str]:
    """The files below a directory that hold these bytes."""
    return [file.name for file in directory.rglob("*") if file.is_file() and needle in file.read_bytes()]
