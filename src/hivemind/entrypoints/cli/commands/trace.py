"""``hivemind trace store`` and ``hivemind trace search``."""

from typing import Any

import click

from hivemind.entrypoints.cli.arguments import everywhere_option, open_mind, scope_option, tags_option
from hivemind.entrypoints.cli.manners import Family
from hivemind.entrypoints.cli.output import answer, note, origin, tell


@click.group("trace", cls=Family)
def command() -> None:
    """What was done, why, and how it ended."""


@command.command("store")
@click.option("--agent", required=True, help="Who did it.")
@click.option("--action", required=True, help="What was done, in a few words.")
@click.option("--reasoning", default="", help="Why, and what was found out.")
@click.option("--result", default="", help="How it ended: success, failure …")
@tags_option
@scope_option
@click.option("--link", "links", multiple=True, metavar="PATH::SYMBOL", help="Code it is about.")
def store(**given: Any) -> None:
    """Keep what was done and how it ended.

    \b
    hivemind trace store --agent codex --action "moved the cache to Redis" --result success
    """
    with open_mind() as mind:
        memory = mind.store_trace(**given)
        tell(memory, f"Stored {origin(memory)}")
        if sharing := mind.sharing(memory):
            note(sharing)


@command.command("search")
@click.argument("question")
@click.option("--limit", type=int, help="At most so many traces.")
@everywhere_option
@click.option("--why", is_flag=True, help="Say why each trace stands where it stands.")
def search(question: str, limit: int | None, everywhere: bool, why: bool) -> None:
    """What was done about something like this before.

    \b
    hivemind trace search "redirect loop" --everywhere
    """
    with open_mind() as mind:
        found = mind.search_traces(question, limit=limit, everywhere=everywhere)
    tell(found, lambda: answer(found, why=why))
