"""Run commands in this process, and look for bytes in files."""

import json
from pathlib import Path
from typing import Any

import click.testing

from hivemind.cli import hivemind


def run(*arguments: str, stdin: str | bytes | None = None) -> click.testing.Result:
    """Run a command in this process, as if typed."""
    return click.testing.CliRunner().invoke(hivemind, list(arguments), input=stdin)


def run_json(*arguments: str) -> Any:
    """Run a command with ``--json`` and return its values."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def residue(directory: Path, needle: bytes) -> list[str]:
    """Return the names of the files below a directory that contain these bytes."""
    return [file.name for file in directory.rglob("*") if file.is_file() and needle in file.read_bytes()]
