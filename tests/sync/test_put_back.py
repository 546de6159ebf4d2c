"""Machines whose disk was put back to an earlier state, and what others know of them by then."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from hivemind import Hivemind
from hivemind.store import backup
from hivemind.sync.folders import EPOCHS, Folder
from lab.evals.simulation.attacker import Attacker
from lab.evals.simulation.own_machines import read_published
from tests.sync.machines import (
    Machines,
    assert_chains_verify,
    find_directory,
    find_place,
    list_files,
    list_texts,
    load,
    set_up,
    sync_all,
)

PutBack = Callable[[Hivemind], Hivemind]


@pytest.fixture
def save_disk(machine: Machines, tmp_path: Path) -> Callable[[Hivemind, str], tuple[Hivemind, PutBack]]:
    """Return a function that copies a machine's disk and returns the machine and a function to put the copy back."""

    def save(mind: Hivemind, name: str) -> tuple[Hivemind, PutBack]:
        mind.close()
        shutil.copytree(tmp_path / name, tmp_path / f"disk of {name}")

        def put_back(later: Hivemind) -> Hivemind:
            later.close()
            shutil.rmtree(tmp_path / name)
            shutil.copytree(tmp_path / f"disk of {name}", tmp_path / name)
            return machine(name)

        return machine(name), put_back

    return save


def lose_head(folder: Path, mind: Hivemind, earlier: Path) -> None:
    (folder / find_directory(mind) / "head").unlink()


def put_folder_back(folder: Path, mind: Hivemind, earlier: Path) -> None:
    directory = find_directory(mind)
    shutil.rmtree(folder / directory)
    shutil.copytree(earlier / directory, folder / directory)


@pytest.mark.parametrize("lose_evidence", [lose_head, put_folder_back])
@pytest.mark.parametrize("later_texts", [(), ("Said after it was put back",), ("One", "Two", "Three", "Four")])
def test_a_machine_that_was_put_back_notices_it_by_what_others_have_read(
    machine: Machines,
    folder: Path,
    tmp_path: Path,
    save_disk: Callable[[Hivemind, str], tuple[Hivemind, PutBack]],
    lose_evidence: Callable[[Path, Hivemind, Path], None],
    later_texts: tuple[str, ...],
) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    laptop.remember("Before the copy of the disk")
    sync_all(laptop, desktop)
    laptop, put_back = save_disk(laptop, "laptop")
    shutil.copytree(folder, tmp_path / "earlier folder")
    laptop.remember("After the copy of the disk")
    sync_all(laptop, desktop)

    laptop = put_back(laptop)
    # Nothing in its own directory shows that it wrote more.
    lose_evidence(folder, laptop, tmp_path / "earlier folder")
    for text in later_texts:
        laptop.remember(text)
    sync_all(laptop, desktop)

    expected = {"Before the copy of the disk", "After the copy of the disk", *later_texts}
    assert list_texts(laptop) == list_texts(desktop) == expected
    assert_chains_verify(laptop, desktop)
    assert len(desktop.devices.status().machines) == len(laptop.devices.status().machines) == 2
    # Somebody who joins later gets everything, too.
    cloud = machine("cloud")
    set_up(cloud, folder, "cloud", laptop.devices.phrase())
    assert list_texts(cloud) == expected
    assert_chains_verify(cloud)


def test_a_machine_whose_list_of_files_was_lost_stays_the_same_machine(machine: Machines, folder: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    laptop.remember("Before the loss")
    sync_all(laptop, desktop)
    directory = find_directory(laptop)

    (folder / directory / "head").unlink()
    laptop.remember("After the loss")
    sync_all(laptop, desktop)

    assert find_directory(laptop) == directory
    assert list_texts(desktop) == {"Before the loss", "After the loss"}


def test_machines_that_read_different_pasts_of_one_machine_agree_again(
    machine: Machines, folder: Path, tmp_path: Path, save_disk: Callable[[Hivemind, str], tuple[Hivemind, PutBack]]
) -> None:
    laptop, desktop, cloud = machine("laptop"), machine("desktop"), machine("cloud")
    phrase = set_up(laptop, folder, "laptop")
    set_up(desktop, folder, "desktop", phrase)
    set_up(cloud, folder, "cloud", phrase)
    sync_all(laptop, desktop, cloud)
    laptop, put_back = save_disk(laptop, "laptop")
    laptop.remember("Only the desktop has read this")
    laptop.devices.sync()
    desktop.devices.sync()

    laptop = put_back(laptop)
    lose_head(folder, laptop, folder)
    # The desktop's list of files has not arrived, so nobody can know yet.
    head = folder / find_directory(desktop) / "head"
    shutil.move(head, tmp_path / "late")
    memory = laptop.remember("Only the cloud machine has read this")
    laptop.devices.sync()
    cloud.devices.sync()
    assert "Only the cloud machine has read this" in list_texts(cloud)
    shutil.move(tmp_path / "late", head)
    sync_all(laptop, cloud, desktop)

    expected = {"Only the desktop has read this", "Only the cloud machine has read this"}
    assert list_texts(laptop) == list_texts(desktop) == list_texts(cloud) == expected
    assert_chains_verify(laptop, desktop, cloud)
    # And an erasure reaches all of them.
    laptop.devices.carry(laptop.erase(memory.id))
    sync_all(desktop, cloud, laptop)
    receipt = laptop.erasures.receipt(memory.id)
    assert find_place(receipt, "machine desktop") == find_place(receipt, "machine cloud") == "done"
    assert list_texts(laptop) == list_texts(desktop) == list_texts(cloud) == {"Only the desktop has read this"}


def test_an_erasure_does_not_wait_for_a_place_that_its_machine_gave_up(
    machine: Machines, folder: Path, tmp_path: Path
) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    memory = desktop.remember("The launch codename is Zanzibar-77")
    sync_all(laptop, desktop)
    saved_file = laptop.maintenance.backup().file
    laptop.close()
    backup.restore(tmp_path / "laptop", Path(saved_file), stamp="20260301T120000Z")
    laptop = machine("laptop")
    sync_all(laptop, desktop)

    desktop.devices.carry(desktop.erase(memory.id))
    assert desktop.devices.status().unconfirmed_erasures == 1
    sync_all(laptop, desktop)

    assert desktop.devices.status().unconfirmed_erasures == 0
    assert find_place(desktop.erasures.receipt(memory.id), "machine laptop") == "done"


def test_a_machine_that_was_put_back_follows_the_key_that_it_used_and_not_a_removed_machine(
    machine: Machines, folder: Path, save_disk: Callable[[Hivemind, str], tuple[Hivemind, PutBack]]
) -> None:
    laptop, stolen, tablet = machine("laptop"), machine("stolen"), machine("tablet")
    set_up(stolen, folder, "stolen", set_up(laptop, folder, "laptop"))
    sync_all(laptop, stolen)
    laptop, put_back = save_disk(laptop, "laptop")
    attacker = Attacker(load(stolen), Folder(folder), random.Random(1))
    laptop.devices.remove("stolen")
    # A machine that the copy of the disk does not know writes the key's file again.
    set_up(tablet, folder, "tablet", laptop.devices.phrase())
    for file in list_files(folder / EPOCHS):
        file.unlink()
    tablet.devices.sync()
    attacker.forge_epoch()

    laptop = put_back(laptop)
    laptop.remember("Only for machines that stayed")
    sync_all(laptop, tablet)

    assert list_texts(tablet) == {"Only for machines that stayed"}
    assert laptop.devices.phrase() == tablet.devices.phrase()
    files = {name: attacker.folder.read(name) or b"" for name in attacker.folder.list_names()}
    assert "Only for" in read_published(files, load(tablet).epochs)
    assert "Only for" not in read_published(files, attacker.list_keys())


def test_a_machine_whose_copy_took_its_place_goes_on_in_another(
    machine: Machines, folder: Path, tmp_path: Path
) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    laptop.remember("Before the copy")
    sync_all(laptop, desktop)
    saved_file = Path(laptop.maintenance.backup().file)
    laptop.close()
    shutil.copytree(tmp_path / "laptop", tmp_path / "copy")
    # The copy is restored from a backup, so that it takes the laptop's directory for the one it had before.
    backup.restore(tmp_path / "copy", tmp_path / "copy" / saved_file.relative_to(tmp_path / "laptop"), stamp="1")
    laptop, copy = machine("laptop"), machine("copy")
    copy.devices.sync()
    desktop.devices.sync()

    laptop.remember("On the laptop")
    copy.remember("On the copy")
    sync_all(laptop, copy, desktop)

    expected = {"Before the copy", "On the laptop", "On the copy"}
    assert list_texts(laptop) == list_texts(copy) == list_texts(desktop) == expected
    assert len(desktop.devices.status().machines) == 3


def test_a_store_keeps_its_name_if_it_cannot_be_separated_from_its_copy(machine: Machines) -> None:
    laptop = machine("laptop")
    laptop.remember("Said before")
    store = laptop._context.store
    device = store.device
    store.db.execute(
        "CREATE TEMP TRIGGER full_disk BEFORE UPDATE OF device ON events BEGIN SELECT RAISE(ABORT, 'no space'); END"
    )

    with pytest.raises(apsw.ConstraintError):
        store.separate_from_copy(0)
    assert store.device == device

    store.db.execute("DROP TRIGGER full_disk")
    assert store.separate_from_copy(0) == store.device != device
    assert_chains_verify(laptop)
