"""Files of a shared folder that no machine of the person wrote: never waited for, never read whole, never followed."""

import json
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
from hivemind.errors import InvalidInput, Unavailable
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
    named_count = sum(file.parent.name in problem for problem in report.problems)
    assert named_count == 1 if place == "head" else named_count or (place, make) in UNNAMED
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


@pytest.mark.parametrize("damage", ["lost", "cut", "foreign", "half a character", "a folder in its place", "all lost"])
def test_any_machine_repairs_the_file_of_a_key(
    machines: tuple[Hivemind, Hivemind], machine: Machines, folder: Path, damage: str
) -> None:
    laptop, desktop = machines
    epoch = list_files(folder / "epochs")[0]
    whole = epoch.read_bytes()
    match damage:
        case "lost":
            epoch.unlink()
        case "all lost":
            shutil.rmtree(folder / "epochs")
        case "cut":
            epoch.write_bytes(whole[: len(whole) // 2])
        case "foreign":
            epoch.write_bytes(b'{"for": {}, "previous": "00"}')
        case "half a character":
            values = json.loads(whole)
            epoch.write_text(json.dumps({**values, "proofs": dict.fromkeys(values["proofs"], "\ud83d")}))
        case _:
            epoch.unlink()
            make_folder(epoch)
            assert any(epoch.name in problem for problem in desktop.devices.sync().problems)
            remove(epoch)

    desktop.devices.sync()
    set_up(machine("cloud"), folder, "cloud", laptop.devices.phrase())
    sync_all(laptop, desktop, machine("cloud"))

    assert list_texts(machine("cloud")) == list_texts(laptop) == {"Deploys run from main", "Tests need a database"}


@pytest.mark.parametrize("has_phrase", [True, False])
def test_nobody_begins_anew_where_only_the_key_is_missing(
    machines: tuple[Hivemind, Hivemind], machine: Machines, folder: Path, has_phrase: bool
) -> None:
    laptop, _ = machines
    shutil.rmtree(folder / "epochs")
    files = list_files(folder)

    with pytest.raises(InvalidInput, match="phrase" if not has_phrase else "key"):
        set_up(machine("cloud"), folder, "cloud", laptop.devices.phrase() if has_phrase else "")

    assert list_files(folder) == files
    assert not machine("cloud").devices.is_set_up


def test_folders_and_copies_of_other_programs_are_left_alone_and_erased_text_goes(
    machines: tuple[Hivemind, Hivemind], folder: Path
) -> None:
    laptop, desktop = machines
    sync_all(laptop, desktop)
    before = list_files(folder / find_directory(laptop))
    foreign = [folder / "@eaDir", folder / "lost+found", *(path / "@eaDir" for path in folder.iterdir())]
    for directory in foreign:
        directory.mkdir()
        (directory / "head@SynoEAStream").write_text("of a NAS")
    (folder / "epochs" / "1-abc (conflicted copy)").write_text("of a program that synchronises")
    (folder / find_directory(laptop) / "head.sync-conflict-20261118").write_text("of another")

    laptop.devices.carry(laptop.erase(laptop.list(everywhere=True)[0].id))
    reports = [mind.devices.sync() for _ in range(3) for mind in (desktop, laptop)]

    assert all(report.problems == () for report in reports)
    assert len(list_texts(desktop)) == len(list_texts(laptop)) == 1
    assert {file.name for file in before if file.name != "head"} - {file.name for file in list_files(folder)}
    assert all((directory / "head@SynoEAStream").exists() for directory in foreign)
    laptop.devices.remove("desktop")
    assert laptop.devices.leave() == "emptied"
