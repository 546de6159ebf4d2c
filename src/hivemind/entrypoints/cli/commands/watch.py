"""``hivemind watch``."""

import signal
import sys
from threading import Event

import click

from hivemind.entrypoints.cli.arguments import open_mind
from hivemind.entrypoints.cli.output import many, note


@click.command("watch")
def command() -> None:
    """Follow the working tree as it changes, until interrupted.

    Nothing is wrong without this; answers about code come a little sooner.

    \b
    hivemind watch &
    """
    stop = Event()
    signs: list[int] = []

    def end(sign: int, _: object) -> None:
        signs.append(sign)
        stop.set()

    for sign in (signal.SIGINT, signal.SIGTERM):
        signal.signal(sign, end)
    with open_mind() as mind:
        note(f"Following {mind.repository.root}. Stop with Ctrl-C.")
        mind.watch(stop, lambda changed: note(f"{many(changed, 'file')} changed") if changed else None)
    sys.exit(128 + signs[0])
