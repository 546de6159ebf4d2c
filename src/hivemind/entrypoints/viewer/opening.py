"""Opens the browser without its login link ever standing in the list of processes, which all users of a machine see."""

import html
import secrets
import threading
import time
import webbrowser
from collections.abc import Callable
from pathlib import Path

from hivemind.system import open_private

PAGE_PREFIX = "sign-in-"
SECONDS_TO_OPEN = 60
"""A browser that is not running takes a while; the link itself works once, whatever becomes of the page."""


def open_browser(home: Path, link: str, was_used: Callable[[], bool]) -> bool:
    """Open a page that only its owner can read and that leads to the link; false if there is no browser.

    The page is deleted once ``was_used`` says that the link was used, or after a minute.
    """
    remove_pages(home)
    page = home / f"{PAGE_PREFIX}{secrets.token_hex(8)}.html"
    with open(page, "w", encoding="utf-8", opener=open_private) as file:
        file.write(_write_page(link))
    has_browser = webbrowser.open(page.as_uri())
    if has_browser:
        threading.Thread(target=_remove_later, args=(page, was_used), daemon=True).start()
    else:
        page.unlink()
    return has_browser


def remove_pages(home: Path) -> None:
    """Delete the pages of viewers that were stopped before their browser came."""
    for page in home.glob(f"{PAGE_PREFIX}*.html"):
        page.unlink(missing_ok=True)


def _write_page(link: str) -> str:
    target = html.escape(link, quote=True)
    return (
        '<!doctype html><meta charset="utf-8"><title>Hivemind</title><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0; url={target}"><p><a href="{target}">Open Hivemind</a></p>\n'
    )


def _remove_later(page: Path, was_used: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS_TO_OPEN
    while time.monotonic() < end and not was_used():
        time.sleep(0.2)
    page.unlink(missing_ok=True)
