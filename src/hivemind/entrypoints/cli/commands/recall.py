"""``hivemind recall``."""

from typing import Any

import click

from hivemind.entrypoints.cli.arguments import choice, filters, open_mind, text_or_standard_input
from hivemind.entrypoints.cli.output import answer, note, tell
from hivemind.model.recall import Detail


@click.command("recall")
@click.argument("question", required=False)
@filters
@click.option("--limit", type=int, help="At most so many memories.")
@click.option("--budget", "max_tokens", type=int, metavar="TOKENS", help="At most so many tokens.")
@click.option("--as-of", default="", metavar="DATE", help="What was believed then.")
@click.option("--true-at", default="", metavar="DATE", help="What was true then, as far as is known today.")
@choice(
    "--detail",
    among=Detail,
    default=Detail.STANDARD.value,
    help="The first line, the passage that answers, or all of each memory.",
)
@click.option("--why", is_flag=True, help="Say why each memory stands where it stands.")
def command(question: str | None, why: bool, **given: Any) -> None:
    """What is known that bears on a question.

    \b
    hivemind recall "how do we run the tests?"
    hivemind recall "redirect loop" --everywhere --kind fix
    hivemind recall "deploy target" --as-of 2026-03-31
    """
    with open_mind() as mind:
        found = mind.recall(text_or_standard_input(question, "the question"), **given)
        caveat = mind.caveat()
    if caveat:
        note(caveat)
    tell(found, lambda: answer(found, why=why))
