"""Fixtures for all tests: an empty home, a clock, a git repository. Imports the package and pytest alone."""

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

# As commands set it; tests import NumPy before the package does, and with threads of its own in each thread of ours
# making vectors takes ten times as long.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hivemind import Hivemind
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings

PERSON = Writer(actor="ada", channel=Channel.PERSON)
AGENT = Writer(actor="claude-code", channel=Channel.AGENT, session_id="s1")

LONGEST_NAME = 200
"""Characters of a value in the name of a test."""

# A shell's background jobs ignore Ctrl-C, and so would every process that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Clock:
    """A clock that tests set; each reading is a second later."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def set_to_today(self) -> None:
        """For tests in which a command, by the clock of this machine, looks for what is new."""
        # An hour behind, because each reading puts this clock forward.
        self.now = datetime.now(UTC) - timedelta(hours=1)

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Name long values by their length: each process keeps the names of all tests, and passes them on."""
    return f"{len(val)} long" if isinstance(val, str | bytes) and len(val) > LONGEST_NAME else None


@pytest.fixture(autouse=True)
def isolate(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep this machine's home, git configuration and surrounding agent out of the tests."""
    # Windows finds a home by the second one.
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "user"))
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HIVEMIND_PERSON", "ada")
    # On a busy machine a hook may not get to its answer within the time that it usually has.
    monkeypatch.setenv("HIVEMIND_HOOK_SECONDS", "60")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    for variable in ("CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "OPENCODE", "CURSOR_AGENT", "COPILOT_CLI"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


Open = Callable[..., Hivemind]


@pytest.fixture
def open_mind(tmp_path: Path, home: Path, clock: Clock) -> Iterator[Open]:
    """Return a function that opens the store for a writer in a directory; all are closed afterwards."""
    minds: list[Hivemind] = []

    def open_from(directory: Path | None = None, writer: Writer = PERSON, home: Path = home) -> Hivemind:
        settings = Settings(home=home, person="ada")
        mind = Hivemind.open(directory=directory or tmp_path, settings=settings, writer=writer, clock=clock)
        minds.append(mind)
        return mind

    yield open_from
    for mind in minds:
        mind.close()


@pytest.fixture
def mind(open_mind: Open) -> Hivemind:
    return open_mind()


def git(directory: Path, *arguments: str) -> str:
    """Run git and return its output."""
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    identity += ["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"]
    process = subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True, text=True)
    return process.stdout.strip()


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a git repository with one commit."""

    def make(name: str, remote: str = "", commit: str = "start") -> Path:
        root = tmp_path / name
        root.mkdir(parents=True)
        git(root, "init")
        if commit:
            (root / "README.md").write_text(f"{name} {commit}\n")
            git(root, "add", ".")
            git(root, "commit", "-m", f"{commit} of {name}")
        if remote:
            git(root, "remote", "add", "origin", remote)
        return root

    return make


TRIED: Counter[str] = Counter()
SURVIVED: Counter[str] = Counter()
Tally = Callable[[str, int, int], None]


@pytest.fixture
def tally(record_testsuite_property: Callable[[str, object], None]) -> Tally:
    """Count under a name how many were tried and how many survived; a table is printed after the run."""

    def count(what: str, tried: int, survived: int) -> None:
        # Into the report of the run, from which ``python -m lab.evals.faults --save`` reads it.
        record_testsuite_property(what, f"{survived}/{tried}")
        TRIED[what] += tried
        SURVIVED[what] += survived

    return count


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TRIED:
        terminalreporter.write_line("\ntried and survived:")
    for what, tried in TRIED.items():
        terminalreporter.write_line(f"  {what:<58} {tried:>7,} {SURVIVED[what]:>7,}")
