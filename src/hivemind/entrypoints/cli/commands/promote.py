"""``hivemind promote``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import note, say, unified


@click.command("promote")
@click.argument("memory", metavar="ID")
@click.option("--to", "file", default="AGENTS.md", show_default=True, metavar="FILE", help="The instruction file.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(memory: str, file: str, yes: bool) -> None:
    """Write a reviewed memory into an instruction file, as a change you confirm."""
    with open_mind() as mind:
        path, before, after = mind.promote(memory, file)
    if before == after:
        note(f"{file} has it already.")
        return
    unified(before, after, file, file)
    if not yes:
        click.confirm(f"Write {file}?", abort=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(after)
    say(f"Wrote {file}.")
