"""``hivemind promote``."""

import click

from hivemind.entrypoints.cli.arguments import memory_argument, open_mind
from hivemind.entrypoints.cli.manners import wants
from hivemind.entrypoints.cli.output import note, tell, unified


@click.command("promote")
@memory_argument
@click.option("--to", "file", default="AGENTS.md", show_default=True, metavar="FILE", help="The instruction file.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(memory: str, file: str, yes: bool) -> None:
    """Write a reviewed memory into an instruction file, as a change you confirm.

    \b
    hivemind promote 3f9a2c1e --to AGENTS.md
    """
    with open_mind() as mind:
        path, before, after = mind.promote(memory, file)
    if before == after:
        note(f"{file} has it already.")
        return
    if not wants("json"):
        unified(before, after, file, file)
    if not yes:
        click.confirm(f"Write {file}?", abort=True, err=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(after)
    tell({"file": str(path), "before": before, "after": after}, f"Wrote {file}.")
