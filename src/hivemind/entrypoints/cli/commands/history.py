"""``hivemind history``."""

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import as_json_option, heading, life, note, origin, say_json
from hivemind.errors import InvalidInput


@click.command("history")
@click.argument("memory", metavar="[ID]", required=False, default="")
@click.option("--subject", default="", help="Every value a subject has had, such as deploy-target or REQ-12.")
@as_json_option
def command(memory: str, subject: str, as_json: bool) -> None:
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
    if as_json:
        say_json(lives if subject else lives[0])
        return
    for steps in lives:
        if subject:
            heading(origin(steps[-1].after))
        life(steps)
    if not lives:
        note(f"Nothing is known about {subject}.")
