"""Files of a shared folder that no machine of the person wrote: never waited for, never read whole, never followed."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.errors import Unavailable
from tests.sync.machines import Machines, find_directory, list_files, list_texts, set_up, sync_all

SECONDS = 60
"""Far more than an exchange takes on a slow machine, and less than any of these files would take."""
HUGE_BYTES = 600 << 20


def make_pipe(file: Path) -> None:
    os.mkfifo(file)


def make_socket(file: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        # The path of a socket may have about 100 bytes.
        os.chdir(file.parent)
        listener.bind(file.name)


def make_folder(file: Path) -> None:
    (file / "below").mkdir(parents=True)


def make_link(file: Path) -> None:
    secret = file.parents[2] / "secret"
    secret.write_text("of the person alone")
    file.symlink_to(secret)


def make_huge(file: Path) -> None:
    with file.open("wb") as content:
        content.truncate(HUGE_BYTES)


def make_torn(file: Path) -> None:
    file.write_bytes(b'{"for": {"3f')


STRANGE = [make_pipe, make_socket, make_folder, make_link, make_huge, make_torn]
UNNAMED = [("segment", make_torn)]


@contextmanager
def within_seconds(seconds: int = SECONDS) -> Iterator[None]:
    """Fail where something waits for good."""

    def fail(*_: object) -> None:
        raise TimeoutError(f"still running after {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def remove(file: Path) -> None:
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    else:
        file.unlink(missing_ok=True)


def sync_as_process(mind: Hivemind) -> subprocess.CompletedProcess[str]:
    home = mind._context.settings.home
    return subprocess.run(
        [sys.executable, "-m", "hivemind", "sync"], env=os.environ | {"HIVEMIND_HOME": str(home)}, cwd=home.parent,
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


@pytest.fixture
def machines(machine: Machines, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Hivemind, Hivemind]:
    """A laptop with something new in the folder, and a desktop that has not read it."""
    laptop, desktop = machine("laptop"), machine("desktop")
    laptop.remember("Deploys run from main")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    sync_all(laptop, desktop)
    laptop.remember("Tests need a database")
    laptop.devices.sync()
    # Restored afterwards, because sockets are made by their names alone.
    monkeypatch.chdir(folder)
    return laptop, desktop


@pytest.mark.parametrize("make", STRANGE)
@pytest.mark.parametrize("place", ["head", "segment", "epoch"])
def test_a_strange_file_in_the_place_of_ours_is_named_and_the_rest_arrives_later(
    machines: tuple[Hivemind, Hivemind], folder: Path, make: Callable[[Path], None], place: str
) -> None:
    laptop, desktop = machines
    files = list_files(folder / find_directory(laptop))
    file = {
        "head": next(file for file in files if file.name == "head"),
        "segment": max((file for file in files if file.name != "head"), key=lambda file: file.stat().st_mtime_ns),
        "epoch": list_files(folder / "epochs")[0],
    }[place]
    whole = file.read_bytes()
    file.unlink()
    make(file)

    with within_seconds():
        report = desktop.devices.sync()
    remove(file)
    file.write_bytes(whole)
    sync_all(laptop, desktop)

    # A segment that is torn is asked for again by its name; its writer needs no sentence.
    assert any(file.parent.name in problem for problem in report.problems) or (place, make) in UNNAMED
    assert list_texts(desktop) == {"Deploys run from main", "Tests need a database"}


@pytest.mark.parametrize("make", STRANGE)
@pytest.mark.parametrize(
    "name", ["OWN/head", "OWN/stranger", "epochs/1-stranger", "epochs/stranger", "0123456789/head"]
)
def test_a_strange_file_beside_ours_stops_nothing(
    machines: tuple[Hivemind, Hivemind], folder: Path, make: Callable[[Path], None], name: str
) -> None:
    laptop, desktop = machines
    file = folder / name.replace("OWN", find_directory(desktop))
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    make(file)

    with within_seconds():
        # Only where a machine must write itself may something be in its way.
        with suppress(Unavailable) if name == "OWN/head" else nullcontext():
            desktop.devices.sync()
        remove(file)
        sync_all(laptop, desktop)

    assert list_texts(desktop) == {"Deploys run from main", "Tests need a database"}


@pytest.mark.parametrize("make", [make_pipe, make_huge, make_torn])
def test_the_command_ends_with_a_sentence(
    machines: tuple[Hivemind, Hivemind], folder: Path, make: Callable[[Path], None]
) -> None:
    laptop, desktop = machines
    file = folder / find_directory(laptop) / "head"
    file.unlink()
    make(file)

    done = sync_as_process(desktop)

    assert (done.returncode, find_directory(laptop) in done.stderr) == (0, True), done.stdout + done.stderr


def test_a_torn_key_file_is_named(machines: tuple[Hivemind, Hivemind], folder: Path) -> None:
    _, desktop = machines
    epoch = list_files(folder / "epochs")[0]
    whole = epoch.read_bytes()
    epoch.write_bytes(whole[: len(whole) // 2])

    torn = desktop.devices.sync()
    epoch.write_bytes(whole)

    assert any(f"epochs/{epoch.name}" in problem for problem in torn.problems)
    assert desktop.devices.sync().problems == ()


def test_nothing_is_written_through_a_link_to_another_folder(
    machines: tuple[Hivemind, Hivemind], folder: Path, tmp_path: Path
) -> None:
    _, desktop = machines
    own = folder / find_directory(desktop)
    (tmp_path / "elsewhere").mkdir()
    own.rename(folder.parent / "moved")
    own.symlink_to(tmp_path / "elsewhere")
    desktop.remember("Something new to write")

    done = sync_as_process(desktop)

    assert done.returncode == 6, done.stdout + done.stderr
    assert list((tmp_path / "elsewhere").iterdir()) == []
