"""A real browser, what it complains about, and how a page looks at every width in both themes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, ViewportSize, expect

SHOTS = Path(__file__).parents[1] / "screenshots"
CHROMIUM = "/usr/bin/chromium"
WIDTHS = (400, 1000, 1600)
PATIENCE_MS = 20_000
"""A shared machine is slow at random; a page is not broken for that."""
EXPECTED = ("status of 404", "status of 403", "status of 401")
"""Error pages are reported in the console too."""

expect.set_options(timeout=PATIENCE_MS)


@contextmanager
def watched(browser: Browser, base: str, cookies: dict[str, str]) -> Iterator[Page]:
    """A page of a browser of its own; whatever its console complains about fails the test."""
    size: ViewportSize = {"width": 1000, "height": 900}
    context = browser.new_context(base_url=base, viewport=size, reduced_motion="reduce")
    context.add_cookies([{"name": name, "value": value, "url": base} for name, value in cookies.items()])
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    faults: list[str] = []

    def opened(dialog: Dialog) -> None:
        faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("dialog", opened)
    yield page
    context.close()
    assert not [one for one in faults if not any(known in one for known in EXPECTED)]


def looked_at(page: Page, name: str) -> tuple[list[str], list[int]]:
    """What keeps people out of a page, and the widths it does not fit; pictures of it are kept."""
    SHOTS.mkdir(exist_ok=True)
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    found, wide = barriers(page), []
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            wide += [width] if page.evaluate("document.documentElement.scrollWidth > innerWidth") else []
            page.screenshot(path=SHOTS / f"{name}-{width}-{theme}.png")
    return found + barriers(page, "color-contrast"), wide


def barriers(page: Page, *rules: str) -> list[str]:
    """What axe calls serious or worse, by all its rules or by some."""
    chosen = {"runOnly": list(rules)} if rules else {}
    found = Axe().run(page, options={"resultTypes": ["violations"], **chosen}).response["violations"]
    bad = [one for one in found if one["impact"] in ("serious", "critical")]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in bad]
