"""``hivemind doctor``."""

import sys

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, say_json, table


@click.command("doctor")
@as_json_option
def command(as_json: bool) -> None:
    """Look whether everything is well, and say what to do if not.

    The exit code is 1 if something is wrong.
    """
    with open_mind() as mind:
        findings = (*mind.doctor(), mind.code_health(), *mind.agents_health())
    if as_json:
        say_json(findings)
    else:
        rows = [["ok" if f.is_well else "WRONG", f.what, f.detail, f.remedy] for f in findings]
        table(["", "what", "found", "remedy"], rows)
    sys.exit(0 if all(finding.is_well for finding in findings) else 1)
