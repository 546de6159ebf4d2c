"""``hivemind export``."""

from pathlib import Path
from typing import BinaryIO

import click

from hivemind.entrypoints.cli.arguments import everywhere_option, open_mind
from hivemind.entrypoints.cli.output import many, note


@click.command("export")
@click.argument("file", type=click.File("wb"), default="-")
@click.option("--markdown", type=click.Path(file_okay=False, path_type=Path), help="A folder for one file a memory.")
@click.option("--session", default="", help="Only what was learned in this session.")
@click.option("--owner", default="", help="Only what belongs to this person.")
@everywhere_option
def command(file: BinaryIO, markdown: Path | None, session: str, owner: str, everywhere: bool) -> None:
    """Write the memories as lines of JSON, or as a folder of readable Markdown.

    \b
    hivemind export memories.jsonl
    hivemind export --markdown docs/memory
    """
    count = 0
    with open_mind() as mind:
        if markdown is None:
            for line in mind.export_lines(everywhere=everywhere, session=session, owner=owner):
                file.write(line.encode() + b"\n")
                count += 1
            if (name := getattr(file, "name", "-")) not in ("-", "<stdout>"):
                note(f"Wrote {many(count, 'memory')} to {name}.")
            return
        for name, content in mind.export_pages(everywhere=everywhere, session=session, owner=owner):
            (markdown / name).parent.mkdir(parents=True, exist_ok=True)
            (markdown / name).write_text(content)
            count += 1
        note(f"Wrote {count:,} files to {markdown}.")
