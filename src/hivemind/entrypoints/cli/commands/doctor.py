"""``hivemind doctor``."""

import sys

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import progress, tell_rows


@click.command("doctor")
def command() -> None:
    """Look whether everything is well, and say what to do if not.

    The exit code is 1 if something is wrong.

    \b
    hivemind doctor
    """
    with open_mind() as mind, progress("Looking"):
        findings = (*mind.doctor(), mind.code_health(), *mind.agents_health())
    rows = [["ok" if f.is_well else "WRONG", f.what, f.detail, f.remedy] for f in findings]
    tell_rows(findings, ["", "what", "found", "remedy"], rows)
    sys.exit(0 if all(finding.is_well for finding in findings) else 1)
