"""`hivemind hub try`: two people share within a minute, and nothing stays behind, however it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS = 120
PROGRAM = [sys.executable, "-m", "hivemind"]


def find_free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Trial:
    """A running `hivemind hub try`."""

    def __init__(self, home: Path, temporary_folder: str) -> None:
        self.port = find_free_port()
        self.log = home.with_suffix(f".{self.port}")
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*PROGRAM, "hub", "try", "--port", str(self.port)], stdout=log, stderr=log, start_new_session=True,
                env=os.environ | {"HIVEMIND_HOME": str(home), "TMPDIR": temporary_folder},
            )  # fmt: skip
        deadline = time.monotonic() + SECONDS
        while not self._is_ready():
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.1)
        found = re.search(r"deletes everything, with (/.+?)\. ", self.text)
        assert found
        self.folder = Path(found[1])
        self.postgres = int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    @property
    def text(self) -> str:
        return self.log.read_text()

    def _is_ready(self) -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def paste(self, block: int) -> str:
        """Run the lines of a block as a terminal does, and return what they print."""
        blocks = re.findall(r"(?:^    .+\n)+", self.text, re.MULTILINE)
        # As in a new terminal, which has no environment of ours on its path.
        done = subprocess.run(
            ["sh", "-ec", blocks[block]],
            env=os.environ | {"PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def is_gone(self) -> bool:
        try:
            os.kill(self.postgres, 0)
        except ProcessLookupError:
            return not self.folder.exists()
        return False


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    # As some systems name it, and short, because the path of a socket may have about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="it's 100% ") as folder:
        os.chmod(folder, 0o755)  # Postgres runs as another account if we are root
        running = Trial(tmp_path / "home", folder)
        yield running
        running.process.terminate()
        running.process.wait(SECONDS)


def test_two_people_share_by_pasting_what_it_prints(trial: Trial) -> None:
    trial.paste(0)
    answer = trial.paste(1)

    assert "Deploys run from main only" in answer
    assert "ada" in answer


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_stays_behind_when_it_is_stopped(trial: Trial, tmp_path: Path, number: signal.Signals) -> None:
    trial.paste(0)
    # To the whole group, as a terminal does.
    os.killpg(trial.process.pid, number)
    trial.process.wait(SECONDS)

    assert trial.is_gone()
    assert not (tmp_path / "home").exists()
    assert "Traceback" not in trial.text


def test_nothing_stays_behind_when_it_is_killed(trial: Trial) -> None:
    trial.process.kill()
    trial.process.wait(SECONDS)

    deadline = time.monotonic() + SECONDS
    while not trial.is_gone():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_second_one_at_the_same_port_is_refused_and_stops_nothing(trial: Trial, tmp_path: Path) -> None:
    done = subprocess.run(
        [*PROGRAM, "hub", "try", "--port", str(trial.port)], capture_output=True, text=True, timeout=SECONDS,
        env=os.environ | {"HIVEMIND_HOME": str(tmp_path / "home")}, check=False,
    )  # fmt: skip

    assert (done.returncode, str(trial.port) in done.stderr) == (6, True)
    assert trial.process.poll() is None
    assert trial.folder.exists()


def test_postgres_that_cannot_be_started_is_said_at_once_and_nothing_stays(tmp_path: Path) -> None:
    # The path of a socket may have about a hundred characters.
    with tempfile.TemporaryDirectory(prefix="long" * 25) as folder:
        os.chmod(folder, 0o755)  # Postgres runs as another account if we are root
        done = subprocess.run(
            [*PROGRAM, "hub", "try", "--port", str(find_free_port())], capture_output=True, text=True,
            timeout=SECONDS, env=os.environ | {"HIVEMIND_HOME": str(tmp_path / "home"), "TMPDIR": folder}, check=False,
        )  # fmt: skip

        assert (done.returncode, "too long" in done.stderr) == (6, True), done.stderr
        assert list(Path(folder).iterdir()) == []
