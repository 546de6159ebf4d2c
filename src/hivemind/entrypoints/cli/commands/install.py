"""``hivemind install``."""

from pathlib import Path

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.connections import confirmed, show
from hivemind.entrypoints.cli.output import note, tell


@click.command("install")
@click.argument("agents", nargs=-1)
@click.option(
    "--project", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="For this repository only, instead of everywhere.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show the exact changes, and make none.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--trust-codex-hooks", is_flag=True, help="Also tell Codex that you have looked at our hooks; else do so in /hooks."
)
@click.option(
    "--plugin", type=click.Path(path_type=Path), metavar="DIR",
    help="Connect nothing; write a plugin for Claude Code, Codex and Copilot, a Gemini extension and an OpenCode module"
    " there, for a team to publish.",
)  # fmt: skip
def command(
    agents: tuple[str, ...], project: Path | None, dry_run: bool, yes: bool, trust_codex_hooks: bool,
    plugin: Path | None,
) -> None:  # fmt: skip
    """Connect agents to this memory: all that are on this machine, or those named.

    \b
    hivemind install --dry-run
    hivemind install claude-code codex
    hivemind install --plugin hivemind-plugin
    """
    with open_mind() as mind:
        if plugin:
            written = mind.write_plugin(plugin)
            tell([str(path) for path in written], "\n".join(["Written:", *(f"  {path}" for path in written)]))
            return
        planned = mind.connect_agents(agents, project=project, trust_codex_hooks=trust_codex_hooks)
        show(planned, nothing="is connected already", exactly=dry_run)
        if not dry_run and confirmed(planned, "Make these changes?", yes=yes):
            mind.make(planned)
            note("Connected: the next session is told what is known. 'hivemind doctor' says how each agent stands.")
