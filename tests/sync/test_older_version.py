"""A folder that a version before 0.3 wrote: epochs and heads without signatures."""

import json
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from hivemind import Hivemind
from hivemind.errors import Refused, StoreDamaged
from hivemind.model.codec import to_plain
from hivemind.paths import DEVICES_FILE
from hivemind.sync.folder_files import HEAD, SIGNATURE, DeviceState, load_state, unpack_head
from hivemind.sync.folder_keys import seal
from tests.sync.machines import Machines, find_directory, list_texts, set_up, sync_all


def load(mind: Hivemind) -> DeviceState:
    state = load_state(mind._context.settings.home)
    assert state is not None
    return state


def write_as_before(folder: Path, *minds: Hivemind) -> None:
    """Write the folder and the states beside the stores as version 0.2 did."""
    for file in (folder / "epochs").iterdir():
        values = json.loads(file.read_bytes())
        file.write_text(json.dumps({key: values[key] for key in ("for", "previous")}))
    for mind in minds:
        state = load(mind)
        file = folder / state.directory / HEAD
        head, epoch = unpack_head(file.read_bytes(), state.epochs, state.directory, {})
        values = {key: value for key, value in to_plain(head).items() if key not in ("verify_key", SIGNATURE)}
        content = (
            epoch.name.encode() + b"\n" + seal(epoch.key, json.dumps(values).encode(), f"{state.directory}/{HEAD}")
        )
        file.write_bytes(content)
        values = to_plain(replace(state, verify_keys={}))
        del values["verify_keys"]
        for epoch_values in values["epochs"]:
            del epoch_values["removed"], epoch_values["is_signed"]
        checksum = zlib.crc32(json.dumps(values, sort_keys=True).encode())
        state_file = mind._context.settings.home / DEVICES_FILE
        state_file.write_text(json.dumps(values | {"checksum": checksum}))


@pytest.fixture
def machines(machine: Machines, folder: Path) -> tuple[Hivemind, Hivemind, Hivemind]:
    """A laptop, a desktop and a cloud machine that went on after an old one was removed."""
    laptop, desktop, cloud, old = map(machine, ("laptop", "desktop", "cloud", "old"))
    phrase = set_up(laptop, folder, "laptop")
    for mind, name in ((desktop, "desktop"), (cloud, "cloud"), (old, "old")):
        set_up(mind, folder, name, phrase)
    laptop.remember("Deploys run from main")
    sync_all(laptop, desktop, cloud, old)
    laptop.devices.remove("old")
    sync_all(laptop, desktop, cloud)
    write_as_before(folder, laptop, desktop, cloud)
    return laptop, desktop, cloud


def test_machines_upgrade_one_after_the_other_and_keep_their_phrase(
    machines: tuple[Hivemind, Hivemind, Hivemind], machine: Machines, folder: Path
) -> None:
    laptop, desktop, cloud = machines
    phrase = laptop.devices.phrase()
    for mind in machines:
        mind.remember(f"Said after the upgrade of {find_directory(mind)}")
        assert mind.devices.sync().problems == ()
    sync_all(*machines)

    assert list_texts(laptop) == list_texts(desktop) == list_texts(cloud)
    assert len(list_texts(laptop)) == 4
    assert {mind.devices.phrase() for mind in machines} == {phrase}
    assert all("signature" in json.loads(file.read_bytes()) for file in (folder / "epochs").iterdir())
    set_up(machine("new"), folder, "new", phrase)
    assert list_texts(machine("new")) == list_texts(laptop)


def test_an_unsigned_key_stops_a_machine_while_others_may_be_of_the_version_before(
    machines: tuple[Hivemind, Hivemind, Hivemind], folder: Path
) -> None:
    laptop = machines[0]
    for mind in machines[:2]:
        mind.devices.sync()
    forged = json.dumps({"for": {}, "previous": ""})
    (folder / "epochs" / "9-0123456789abcdef").write_text(forged)

    with pytest.raises(Refused, match="newer key"):
        laptop.devices.sync()
    # Once all of them sign, nobody can have made it.
    (folder / "epochs" / "9-0123456789abcdef").unlink()
    sync_all(*machines)
    (folder / "epochs" / "9-0123456789abcdef").write_text(forged)

    assert any("9-0123456789abcdef" in problem for problem in laptop.devices.sync().problems)


def test_a_changed_state_file_is_still_noticed(machines: tuple[Hivemind, Hivemind, Hivemind]) -> None:
    home = machines[0]._context.settings.home
    text = (home / DEVICES_FILE).read_text()
    (home / DEVICES_FILE).write_text(text.replace('"laptop"', '"Laptop"'))

    with pytest.raises(StoreDamaged):
        load_state(home)
