"""Every command of the tutorial runs, and prints what the tutorial says it prints."""

import os
import pty
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TUTORIAL = ROOT / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALLS = "pipx install hivemind-memory\n"
"""Tried by test_packaging with the wheel; nothing is fetched here."""
ID = re.compile(r"\b(?=[a-f]*\d)[0-9a-f]{8}\b")


class Terminal:
    """A shell at an 80 column terminal, in an empty home."""

    def __init__(self, home: Path) -> None:
        self.directory = home
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        user = {"HOME": str(home), "HIVEMIND_PERSON": "ada", "PATH": path}
        looks = {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "80"}
        author = {f"GIT_{who}_{what}": "ada" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        kept = {name: value for name, value in os.environ.items() if name != "HIVEMIND_HOME"}
        self.environ = kept | user | looks | author

    def run(self, script: str) -> str:
        """What a person sees; the directory is kept for the next block."""
        screen, keyboard = pty.openpty()
        with subprocess.Popen(
            ["bash", "-c", f"{script}\ncode=$?; pwd > $HOME/where; exit $code"],
            cwd=self.directory, env=self.environ, stdin=keyboard, stdout=keyboard, stderr=keyboard,
        ) as shell:  # fmt: skip
            os.close(keyboard)
            seen = b""
            with os.fdopen(screen, "rb", buffering=0) as output, suppress(OSError):
                while part := output.read(65536):
                    seen += part
        told = seen.decode().replace("\r\n", "\n")
        # 1 is a plain no, as 'stale' gives when something is in doubt.
        assert shell.returncode in (0, 1), told
        self.directory = Path((Path(self.environ["HOME"]) / "where").read_text().strip())
        return told


def alike(text: str) -> str:
    """Without what differs from run to run."""
    text = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", "DATE", ID.sub("ID", text))
    text = re.sub(r"\bID(-[0-9a-f]{4}){3}-\w+|\b[0-9a-f]{9,}\b|\d+\.\d (?=s|MB)", "…", text)
    text = re.sub(r"(?<= )\S*/\S*", "…", re.sub(r" +", " ", text))
    return "\n".join(line.strip() for line in text.splitlines()).strip()


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    """In a place with a short name, so that lines are broken where the page breaks them."""
    with tempfile.TemporaryDirectory() as home:
        yield Terminal(Path(home))


def test_the_tutorial_does_what_it_says(terminal: Terminal) -> None:
    blocks = BLOCK.findall(TUTORIAL.read_text())
    seen, compared = "", 0

    for language, text in blocks:
        if language == "text":
            assert alike(seen) == alike(text)
            compared += 1
        elif text != INSTALLS:
            assert language == "sh"
            first = ID.search(seen)
            seen = terminal.run(re.sub(r"\bID\b", first[0] if first else "ID", text))

    assert compared > 8


def test_what_the_tutorial_installs_is_what_we_publish() -> None:
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]

    assert INSTALLS in TUTORIAL.read_text()
    assert name in INSTALLS
