"""``hivemind doctor``."""

import sys

import click

from hivemind.app.mending import doctor
from hivemind.entrypoints.cli.output import as_json_option, say_json, table


@click.command("doctor")
@click.option("--quick", is_flag=True, help="Do not derive all tables again to compare them.")
@as_json_option
def command(quick: bool, as_json: bool) -> None:
    """Look whether everything is well, and say what to do if not.

    The exit code is 1 if something is wrong.
    """
    findings = doctor(click.get_current_context().find_root().obj, quick=quick)
    if as_json:
        say_json(findings)
    else:
        rows = [["ok" if f.is_well else "WRONG", f.what, f.detail, f.remedy] for f in findings]
        table(["", "what", "found", "remedy"], rows)
    sys.exit(0 if all(finding.is_well for finding in findings) else 1)
