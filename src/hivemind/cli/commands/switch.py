"""``hivemind off`` and ``on``: whether agents have a memory in this repository."""

from pathlib import Path

import click

from hivemind.cli.output import emit, note
from hivemind.maintenance import switch_file
from hivemind.text import switch

commands = click.Group()


@commands.command("off")
def turn_off() -> None:
    """Turn memory off in this repository.

    Hivemind records and learns nothing here any more, and tells agents nothing. What is stored stays, and you can still
    search it. This writes .hivemind.toml, which git ignores on this machine; a team may commit it instead. Outside git
    it holds for this folder alone.
    """
    files = switch_file.turn_off(Path.cwd())
    emit(_describe(files), "Memory is off in this repository. Turn it on again: hivemind on")


@commands.command("on")
def turn_on() -> None:
    """Turn memory on again in this repository.

    This takes the line out of .hivemind.toml, also if a team committed it. Agents cannot do that.
    """
    files = switch_file.turn_on(Path.cwd())
    emit(_describe(files), "Memory is on in this repository.")
    for file in files:
        note(f"Changed {file}")


def _describe(files: tuple[Path, ...]) -> dict[str, object]:
    return {"memory": "off" if switch.is_off(str(Path.cwd())) else "on", "changed": [str(file) for file in files]}
