"""``hivemind remember``."""

from typing import Any

import click

from hivemind.entrypoints.cli.arguments import (
    choice,
    memory_ids,
    open_mind,
    scope_option,
    tags_option,
    text_or_standard_input,
)
from hivemind.entrypoints.cli.output import note, origin, tell, warn
from hivemind.model.memory import Kind
from hivemind.model.text import first_line


@click.command("remember")
@click.argument("text", required=False)
@scope_option
@choice("--kind", among=Kind, default=Kind.FACT.value, help="What sort of claim it is.")
@tags_option
@click.option("--subject", default="", help="What it is the current value of, such as deploy-target or REQ-12.")
@click.option(
    "--replaces", multiple=True, metavar="ID", shell_complete=memory_ids, help="The memory it takes the place of."
)
@click.option("--expires", default="", metavar="WHEN", help="Leaves recall then: 28d, 6w or a date.")
@click.option("--verify-by", default="", metavar="WHEN", help="To be looked at again by then.")
@click.option("--valid-from", default="", metavar="DATE", help="True since.")
@click.option("--valid-to", default="", metavar="DATE", help="True until.")
@click.option("--link", "links", multiple=True, metavar="PATH::SYMBOL", help="Code it is about.")
@click.option("--source", "sources", multiple=True, metavar="FILE[:LINES]", help="Where it is written.")
@click.option("--confidence", type=float, default=1.0, show_default=True, help="From 0 to 1.")
@click.option("--propose", is_flag=True, help="Let a person look at it first.")
def command(text: str | None, **given: Any) -> None:
    """Keep something worth knowing next time.

    TEXT is taken from standard input when it is left out.

    \b
    hivemind remember "Tests need a running Redis" --tags testing
    hivemind remember "Deploy target is Coolify" --subject deploy-target --kind decision
    git log -1 --format=%B | hivemind remember --kind decision
    """
    with open_mind() as mind:
        memory = mind.remember(text_or_standard_input(text), **given)
        tell(memory, f"Remembered {origin(memory)}")
        for other in map(mind.show, memory.contradicts):
            warn(f"contradicts {origin(other)}\n  {first_line(other.text)}\n  settle it: hivemind review")
        for link in mind.unresolved_links(memory):
            warn(f"{link} fits nothing here, or too much; link it again with 'hivemind link' as PATH::SYMBOL")
        if sharing := mind.sharing(memory):
            note(sharing)
