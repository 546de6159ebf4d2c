"""A machine that was removed and can still write to the folder: its keys are in somebody else's hands."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.errors import Refused, Unavailable
from hivemind.sync import folder_keys
from hivemind.sync.folders import Folder
from lab.evals.simulation.attacker import Attacker
from lab.evals.simulation.own_machines import read_published
from tests.sync.machines import Machines, find_directory, list_files, list_texts, load, set_up, sync_all

LATER = "Only for machines that stayed"


def read_names(mind: Hivemind) -> set[str]:
    return {machine.name for machine in mind.devices.status().machines}


class Scene:
    """Three machines that share a folder, and a stolen one that the laptop removes."""

    def __init__(self, machine: Machines, folder: Path) -> None:
        self.folder = folder
        self.laptop, self.desktop, self.cloud, self.stolen = map(machine, ("laptop", "desktop", "cloud", "stolen"))
        phrase = set_up(self.laptop, folder, "laptop")
        for mind, name in ((self.desktop, "desktop"), (self.cloud, "cloud"), (self.stolen, "stolen")):
            set_up(mind, folder, name, phrase)
        sync_all(self.laptop, self.desktop, self.cloud, self.stolen)

    def remove_stolen(self) -> Attacker:
        attacker = Attacker(load(self.stolen), Folder(self.folder), random.Random(1))
        self.laptop.devices.remove("stolen")
        return attacker

    def assert_nothing_leaks(self, attacker: Attacker) -> None:
        """Write something new on every machine, and let the attacker read all files with all keys."""
        for mind in (self.laptop, self.desktop, self.cloud):
            mind.remember(f"{LATER}: {read_names(mind)}")
        sync_all(self.laptop, self.desktop, self.cloud)
        files = {name: attacker.folder.read(name) or b"" for name in attacker.folder.list_names()}
        assert LATER in read_published(files, load(self.cloud).epochs)
        assert LATER not in read_published(files, attacker.list_keys())
        phrases = {mind.devices.phrase() for mind in (self.laptop, self.desktop, self.cloud)}
        assert len(phrases) == 1
        assert not phrases & {folder_keys.format_phrase(epoch.secret) for epoch in attacker.list_keys()}
        for mind in (self.laptop, self.desktop, self.cloud):
            assert read_names(mind) == {"laptop", "desktop", "cloud"}
            assert list_texts(mind) == list_texts(self.laptop)


@pytest.fixture
def scene(machine: Machines, folder: Path) -> Scene:
    return Scene(machine, folder)


ATTACKS: dict[str, Callable[[Attacker, Scene], None]] = {
    "an unsigned epoch": lambda attacker, scene: attacker.forge_unsigned_epoch(),
    "an epoch with its key": lambda attacker, scene: attacker.forge_epoch(),
    "many epochs with its key": lambda attacker, scene: attacker.forge_epoch(count=5),
    "an epoch of a machine that is not there": lambda attacker, scene: attacker.forge_epoch_of_stranger(),
    "many epochs of a machine that is not there": lambda attacker, scene: attacker.forge_epoch_of_stranger(count=5),
    "epochs of others with its secret": lambda attacker, scene: attacker.overwrite_epochs(),
    "broken epochs": lambda attacker, scene: attacker.break_epochs(),
    "a machine that is not there": lambda attacker, scene: attacker.invent_machine(),
    "heads of the others": lambda attacker, scene: attacker.forge_heads(),
    "old files": lambda attacker, scene: attacker.put_back_files(),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_removed_machine_that_writes_reads_nothing_new(scene: Scene, attack: str) -> None:
    attacker = scene.remove_stolen()
    sync_all(scene.desktop, scene.laptop, scene.cloud)

    ATTACKS[attack](attacker, scene)

    sync_all(scene.desktop, scene.laptop, scene.cloud)
    scene.assert_nothing_leaks(attacker)


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_machine_that_was_away_follows_the_others_and_not_the_removed_one(scene: Scene, attack: str) -> None:
    attacker = scene.remove_stolen()
    scene.laptop.devices.sync()
    scene.desktop.devices.sync()

    ATTACKS[attack](attacker, scene)
    # The cloud's first exchange since the removal comes after the attack; the laptop repairs what was broken.
    scene.laptop.devices.sync()
    scene.cloud.devices.sync()

    scene.assert_nothing_leaks(attacker)


def test_the_removed_machine_cannot_remove_the_others(scene: Scene) -> None:
    attacker = scene.remove_stolen()
    sync_all(scene.desktop, scene.laptop, scene.cloud)
    others = tuple(find_directory(mind) for mind in (scene.laptop, scene.desktop))

    attacker.forge_epoch(removed=others)
    attacker.invent_machine(gone=others)

    scene.assert_nothing_leaks(attacker)


def test_a_machine_that_sees_two_remove_each_other_asks_the_person(scene: Scene) -> None:
    attacker = scene.remove_stolen()
    attacker.forge_epoch(removed=(find_directory(scene.laptop),))

    with pytest.raises(Refused, match="removed each other"):
        scene.cloud.devices.sync()
    # The person has the laptop, and takes its phrase.
    set_up(scene.cloud, scene.folder, "cloud", scene.laptop.devices.phrase())

    scene.cloud.remember(LATER)
    sync_all(scene.laptop, scene.cloud)
    assert LATER in list_texts(scene.laptop)
    files = {name: attacker.folder.read(name) or b"" for name in attacker.folder.list_names()}
    assert LATER not in read_published(files, attacker.list_keys())


def test_a_machine_waits_while_the_key_that_others_use_is_missing(scene: Scene) -> None:
    attacker = scene.remove_stolen()
    newest = max(list_files(scene.folder / "epochs"), key=lambda file: file.name)
    newest.unlink()
    scene.cloud.remember(LATER)

    with pytest.raises(Unavailable, match="laptop"):
        scene.cloud.devices.sync()

    scene.laptop.devices.sync()
    sync_all(scene.cloud, scene.desktop, scene.laptop)
    scene.assert_nothing_leaks(attacker)


def test_a_machine_that_was_away_for_several_removals_follows(machine: Machines, folder: Path) -> None:
    names = ("laptop", "desktop", "cloud", "old", "lost", "sold")
    minds = {name: machine(name) for name in names}
    phrase = set_up(minds["laptop"], folder, "laptop")
    for name in names[1:]:
        set_up(minds[name], folder, name, phrase)
    sync_all(*minds.values())

    minds["laptop"].devices.remove("old")
    minds["desktop"].devices.sync()
    minds["desktop"].devices.remove("lost")
    minds["laptop"].devices.sync()
    minds["laptop"].devices.remove("sold")
    minds["laptop"].remember(LATER)
    sync_all(minds["laptop"], minds["desktop"])

    minds["cloud"].devices.sync()

    assert LATER in list_texts(minds["cloud"])
    assert read_names(minds["cloud"]) == {"laptop", "desktop", "cloud"}
    assert minds["cloud"].devices.phrase() == minds["laptop"].devices.phrase()


def test_a_machine_follows_one_that_it_has_not_met_if_a_machine_it_knows_does(scene: Scene, machine: Machines) -> None:
    new = machine("new")
    set_up(new, scene.folder, "new", scene.laptop.devices.phrase())
    sync_all(scene.laptop, scene.desktop, new)
    new.devices.remove("stolen")

    # Only the new machine has used its key: it may be one that the stolen machine invented.
    with pytest.raises(Refused, match="newer key"):
        scene.cloud.devices.sync()
    scene.laptop.devices.sync()
    scene.cloud.devices.sync()

    assert read_names(scene.cloud) == {"laptop", "desktop", "cloud", "new"}
    assert scene.cloud.devices.phrase() == new.devices.phrase()


def test_a_machine_invented_before_the_removal_was_known_gets_no_later_key(scene: Scene, tmp_path: Path) -> None:
    before = tmp_path / "before"
    shutil.copytree(scene.folder, before)
    attacker = scene.remove_stolen()
    after = tmp_path / "after"
    shutil.move(scene.folder, after)
    # The attacker keeps the removal from the cloud, and shows it a machine that does not exist.
    shutil.move(before, scene.folder)
    attacker.invent_machine()
    scene.cloud.devices.sync()
    assert "printer" in read_names(scene.cloud)
    shutil.copytree(after, scene.folder, dirs_exist_ok=True)

    sync_all(scene.laptop, scene.cloud, scene.desktop)
    scene.cloud.devices.remove("desktop")
    scene.cloud.remember(LATER)
    sync_all(scene.laptop, scene.cloud)

    files = {name: attacker.folder.read(name) or b"" for name in attacker.folder.list_names()}
    assert LATER in read_published(files, load(scene.laptop).epochs)
    assert LATER not in read_published(files, attacker.list_keys())
