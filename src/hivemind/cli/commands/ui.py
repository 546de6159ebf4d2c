"""``hivemind ui``; apart, because it imports a web server."""

from collections.abc import Callable
from pathlib import Path

import click

from hivemind.cli.framework import get_store_name
from hivemind.cli.output import note, print_text
from hivemind.hivemind import Hivemind
from hivemind.settings import Settings
from hivemind.viewer import local

commands = click.Group()


@commands.command("ui")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on; 0 takes a free one.")
@click.option("--no-open", is_flag=True, help="Print the link and open no browser.")
def command(port: int, no_open: bool) -> None:
    """Browse memories, sessions and reviews in a browser.

    Reachable from this machine only. The link works once; the browser that opens it stays signed in for 30 days.
    """
    settings, store, directory = Settings.load(), get_store_name(), Path.cwd()

    def open_store() -> Hivemind:
        return Hivemind.open(store, directory=directory, settings=settings)

    def announce(link: str, was_used: Callable[[], bool]) -> None:
        print_text(link)
        if not no_open and local.open_browser(settings.home, link, was_used):
            note("Your browser opens it; if it cannot, open the link yourself.")
        note("Stop with Ctrl-C.")

    local.serve(settings.home, settings.person, open_store, port=port, ready=announce)
