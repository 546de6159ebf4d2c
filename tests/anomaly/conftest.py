"""Counts what was tried and what survived; the table stands at the end of the run."""

from collections import Counter
from collections.abc import Callable

import pytest

TRIED: Counter[str] = Counter()
SURVIVED: Counter[str] = Counter()

Tally = Callable[[str, int, int], None]


@pytest.fixture
def tally() -> Tally:
    """Notes under a name how many were tried and how many survived."""

    def note(what: str, tried: int, survived: int) -> None:
        TRIED[what] += tried
        SURVIVED[what] += survived

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TRIED:
        terminalreporter.write_line("\ntried and survived:")
    for what, tried in TRIED.items():
        terminalreporter.write_line(f"  {what:<58} {tried:>7,} {SURVIVED[what]:>7,}")
