"""``hivemind history``."""

from collections.abc import Sequence

import click

from hivemind.entrypoints.cli.arguments import maybe_memory_argument, open_mind
from hivemind.entrypoints.cli.output import heading, life, note, origin, tell
from hivemind.errors import InvalidInput
from hivemind.model.life import Step


@click.command("history")
@maybe_memory_argument
@click.option("--subject", default="", help="Every value a subject has had, such as deploy-target or REQ-12.")
def command(memory: str, subject: str) -> None:
    """What a memory said when, who changed it, and why; or how a subject evolved.

    \b
    hivemind history 3f9a2c1e
    hivemind history --subject REQ-12
    """
    if bool(memory) == bool(subject):
        raise InvalidInput("name a memory or a --subject")
    with open_mind() as mind:
        lives = (
            [mind.history(one.id) for one in mind.history_of_subject(subject)] if subject else [mind.history(memory)]
        )
    tell(lives if subject else lives[0], lambda: _told(lives, subject))


def _told(lives: Sequence[Sequence[Step]], subject: str) -> None:
    for steps in lives:
        if subject:
            heading(origin(steps[-1].after))
        life(steps)
    if not lives:
        note(f"Nothing is known about {subject}.")
