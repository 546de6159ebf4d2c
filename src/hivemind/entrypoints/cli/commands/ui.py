"""``hivemind ui``."""

import webbrowser
from pathlib import Path

import click

from hivemind.app import Hivemind
from hivemind.entrypoints.cli.framework import store_name
from hivemind.entrypoints.cli.output import note, say
from hivemind.entrypoints.viewer import local
from hivemind.settings import Settings

chapter = click.Group()


@chapter.command("ui")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Answer on this port; a free one without it.")
@click.option("--no-open", is_flag=True, help="Print the link and open no browser.")
def command(port: int, no_open: bool) -> None:
    """Browse memories, sessions and reviews in a browser.

    Answers on this machine alone. The link works once; the browser that opened it stays known for 30 days.
    """
    settings, store, directory = Settings.load(), store_name(), Path.cwd()

    def opened() -> Hivemind:
        return Hivemind.open(store, directory=directory, settings=settings)

    def ready(link: str) -> None:
        say(link)
        note("Stop with Ctrl-C.")
        if not no_open:
            webbrowser.open(link)

    local.serve(settings.home, settings.person, opened, port=port, ready=ready)
