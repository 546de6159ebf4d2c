"""A real browser: its errors fail a test, and pages are checked at every width in both themes."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Dialog, Page, ViewportSize, expect, sync_playwright

SHOTS = Path(__file__).parents[1] / "screenshots"
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
"""The headless one first: it needs no desktop, and `dev/test` installs it."""
WIDTHS = (400, 1000, 1600)
TIMEOUT_MS = 20_000
"""A shared machine is slow at random; a page is not broken because of that."""
EXPECTED_ERRORS = ("status of 404", "status of 403", "status of 401")
"""Chromium also writes these to the console when a page refuses or finds nothing, as it should."""

expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start a browser for the tests of a module, because its event loop would disturb tests that run their own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Browser, base: str, cookies: dict[str, str]) -> Iterator[Page]:
    """Open a page in a fresh profile; errors in its console fail the test."""
    size: ViewportSize = {"width": 1000, "height": 900}
    context = browser.new_context(base_url=base, viewport=size, reduced_motion="reduce")
    context.add_cookies([{"name": name, "value": value, "url": base} for name, value in cookies.items()])
    page = context.new_page()
    page.set_default_timeout(TIMEOUT_MS)
    errors: list[str] = []

    def dismiss(dialog: Dialog) -> None:
        errors.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.on("dialog", dismiss)
    yield page
    context.close()
    assert not [error for error in errors if not any(expected in error for expected in EXPECTED_ERRORS)]


def audit_page(page: Page, name: str) -> tuple[list[str], list[int]]:
    """Return a page's accessibility violations and the widths it does not fit, and save screenshots of it."""
    SHOTS.mkdir(exist_ok=True)
    page.evaluate("document.querySelectorAll('details').forEach((element) => (element.open = true))")
    violations, widths = find_violations(page), []
    themes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for theme in themes:
        page.emulate_media(color_scheme=theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            widths += [width] if page.evaluate("document.documentElement.scrollWidth > innerWidth") else []
            page.screenshot(path=SHOTS / f"{name}-{width}-{theme}.png")
    # The first check saw the light theme; of the dark one only the colours differ.
    return violations + find_violations(page, "color-contrast"), widths


def find_violations(page: Page, *rules: str) -> list[str]:
    """Return what axe finds serious or worse, by all its rules or by some."""
    selection = {"runOnly": list(rules)} if rules else {}
    violations = Axe().run(page, options={"resultTypes": ["violations"], **selection}).response["violations"]
    serious = [violation for violation in violations if violation["impact"] in ("serious", "critical")]
    return [f"{violation['id']}: {violation['nodes'][0]['html'][:200]}" for violation in serious]
