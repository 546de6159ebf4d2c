"""``hivemind export``."""

from typing import BinaryIO

import click

from hivemind.entrypoints.cli.arguments import everywhere_option, open_mind


@click.command("export")
@click.argument("file", type=click.File("wb"), default="-")
@everywhere_option
def command(file: BinaryIO, everywhere: bool) -> None:
    """Write the memories as lines of JSON, to a file or to standard output."""
    with open_mind() as mind:
        for line in mind.export_lines(everywhere=everywhere):
            file.write(line.encode() + b"\n")
