"""What every test starts from: an empty home, a clock that is told the time, a real repository."""

import secrets
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hypothesis
import pytest
from playwright.sync_api import Browser, sync_playwright

from hivemind import Hivemind
from hivemind.hub.store import Hub
from hivemind.model.memory import Channel, Writer
from hivemind.settings import Settings
from tests import postgres, searching
from tests.browsing import CHROMIUM

hypothesis.settings.load_profile(searching.PROFILE)

PERSON = Writer(actor="ada", channel=Channel.PERSON)
AGENT = Writer(actor="claude-code", channel=Channel.AGENT, session_id="s1")


class Clock:
    """Says what it was set to, a second later each time."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def advance(self, **span: float) -> None:
        self.now += timedelta(**span)


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine's own leaks in: no home, no agent around us, no git configuration."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("HIVEMIND_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HIVEMIND_PERSON", "ada")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", "/dev/null")
    for sign in ("CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "OPENCODE", "CURSOR_AGENT", "COPILOT_CLI"):
        monkeypatch.delenv(sign, raising=False)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A real browser, gone before other tests begin: while it runs, so does an event loop in this thread."""
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


Open = Callable[..., Hivemind]


@pytest.fixture
def open_mind(tmp_path: Path, home: Path, clock: Clock) -> Iterator[Open]:
    """Opens the store from a directory and for a writer; closes it afterwards."""
    opened: list[Hivemind] = []

    def open_from(directory: Path | None = None, writer: Writer = PERSON, home: Path = home) -> Hivemind:
        settings = Settings(home=home, person="ada")
        mind = Hivemind.open(directory=directory or tmp_path, settings=settings, writer=writer, clock=clock)
        opened.append(mind)
        return mind

    yield open_from
    for mind in opened:
        mind.close()


@pytest.fixture
def mind(open_mind: Open) -> Hivemind:
    return open_mind()


def git(directory: Path, *arguments: str) -> str:
    """Run real git."""
    identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main"]
    identity += ["-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., Path]:
    """A git repository with one commit of its own."""

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


@pytest.fixture(scope="session")
def postgres_folder() -> Iterator[str]:
    """Where a real Postgres listens, started when a test first asks for it."""
    with postgres.serving() as folder:
        yield folder


@pytest.fixture
def empty_database(postgres_folder: str) -> str:
    """The address of a database in which nothing is yet."""
    return postgres.database(postgres_folder, f"empty_{secrets.token_hex(6)}")


@pytest.fixture(scope="session")
def hub_address(postgres_folder: str) -> str:
    """The database of the hub that all tests share."""
    return postgres.database(postgres_folder, "shared_hub")


@pytest.fixture(scope="session")
def hub(hub_address: str) -> Iterator[Hub]:
    """A hub that all tests share; each begins teams of its own."""
    with Hub.open(hub_address) as opened:
        yield opened


TRIED: Counter[str] = Counter()
SURVIVED: Counter[str] = Counter()
Tally = Callable[[str, int, int], None]


@pytest.fixture
def tally() -> Tally:
    """Notes under a name how many were tried and how many survived; the table stands at the end of the run."""

    def note(what: str, tried: int, survived: int) -> None:
        TRIED[what] += tried
        SURVIVED[what] += survived

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if TRIED:
        terminalreporter.write_line("\ntried and survived:")
    for what, tried in TRIED.items():
        terminalreporter.write_line(f"  {what:<58} {tried:>7,} {SURVIVED[what]:>7,}")
