"""``hivemind doctor``."""

import sys

import click

from hivemind.app.mending import doctor
from hivemind.entrypoints.cli.output import progress, tell_rows


@click.command("doctor")
@click.option("--quick", is_flag=True, help="Do not derive all tables again to compare them.")
def command(quick: bool) -> None:
    """Look whether everything is well, and say what to do if not.

    The exit code is 1 if something is wrong.

    \b
    hivemind doctor
    """
    with progress("Looking"):
        findings = doctor(click.get_current_context().find_root().obj, quick=quick)
    rows = [["ok" if f.is_well else "WRONG", f.what, f.detail, f.remedy] for f in findings]
    tell_rows(findings, ["", "what", "found", "remedy"], rows)
    sys.exit(0 if all(finding.is_well for finding in findings) else 1)
