"""Files of a shared folder that arrive late or come back, when their machine is gone."""

import shutil
from dataclasses import replace
from pathlib import Path

from hivemind import Scope
from hivemind.model.events import MemoryRemembered
from hivemind.model.ids import EventId, MemoryId
from hivemind.model.memory import Kind
from hivemind.model.wire import WireEntry
from hivemind.store import sync_state
from hivemind.sync.folder_files import load_state
from tests.sync.machines import (
    Machines,
    assert_chains_verify,
    find_directory,
    find_place,
    list_files,
    list_texts,
    set_up,
    sync_all,
)


def test_files_of_a_removed_machine_that_come_back_are_deleted_again(
    machine: Machines, folder: Path, tmp_path: Path
) -> None:
    laptop, desktop, lost = machine("laptop"), machine("desktop"), machine("lost")
    phrase = set_up(laptop, folder, "laptop")
    set_up(desktop, folder, "desktop", phrase)
    memory = lost.remember("The launch codename is Zanzibar-77")
    set_up(lost, folder, "lost", phrase)
    sync_all(laptop, desktop, lost)
    directory = find_directory(lost)
    shutil.copytree(folder / directory, tmp_path / "late files")

    laptop.devices.remove("lost")
    laptop.devices.carry(laptop.erase(memory.id))
    sync_all(desktop, laptop)
    # Its files contain the erased text; the carrier brings them only now.
    shutil.copytree(tmp_path / "late files", folder / directory)
    desktop.devices.sync()

    assert not list_files(folder / directory)
    # Those of the others stay.
    assert list_files(folder / find_directory(laptop), "head")
    assert list_files(folder / find_directory(desktop), "head")
    assert list_texts(laptop) == list_texts(desktop) == set()


def test_an_erasure_does_not_wait_for_a_machine_that_left_while_this_one_was_away(
    machine: Machines, folder: Path
) -> None:
    laptop, desktop, old = machine("laptop"), machine("desktop"), machine("old")
    phrase = set_up(laptop, folder, "laptop")
    set_up(desktop, folder, "desktop", phrase)
    set_up(old, folder, "old", phrase)
    memory = laptop.remember("The launch codename is Zanzibar-77")
    sync_all(laptop, desktop, old)

    # The desktop takes over its files before the laptop sees that it left.
    old.devices.leave()
    desktop.devices.sync()
    laptop.devices.carry(laptop.erase(memory.id))
    assert laptop.devices.status().unconfirmed_erasures == 1
    sync_all(desktop, laptop)

    assert laptop.devices.status().unconfirmed_erasures == 0
    assert find_place(laptop.erasures.receipt(memory.id), "machine desktop") == "done"


def test_content_that_an_erasure_took_is_not_missing_where_the_erasure_never_arrives(
    machine: Machines, folder: Path, tmp_path: Path
) -> None:
    laptop, desktop, lost = machine("laptop"), machine("desktop"), machine("lost")
    phrase = set_up(laptop, folder, "laptop")
    set_up(desktop, folder, "desktop", phrase)
    memory = laptop.remember("Deploys run from main only")
    set_up(lost, folder, "lost", phrase)
    sync_all(laptop, desktop, lost)
    lost.forget(memory.id)
    lost.devices.sync()
    desktop.devices.sync()
    files = set(list_files(folder / find_directory(lost)))

    lost.erase(memory.id)
    lost.devices.sync()
    # The file with the verdict is written again, without its content; the one with the erasure is lost.
    new_files = [file for file in list_files(folder / find_directory(lost)) if file not in files]
    assert len(new_files) == 2
    state = load_state(tmp_path / "lost")
    assert state is not None
    (folder / state.directory / state.segments[-1].name).unlink()
    laptop.devices.sync()
    desktop.devices.remove("lost")
    sync_all(laptop, desktop)

    everything = [mind.list(everywhere=True, limit=10) for mind in (laptop, desktop)]
    assert everything[0] == everything[1] != ()
    assert_chains_verify(laptop, desktop)


def test_an_entry_with_content_takes_the_place_of_its_repetition_without(machine: Machines) -> None:
    entry_chains: list[list[WireEntry]] = []
    for mind in (machine("laptop"), machine("desktop")):
        fact = MemoryRemembered(memory_id=MemoryId("c" * 32), kind=Kind.FACT, text="From one commit", owner="ada")
        mind._context.record([mind._context.factory.event(fact, Scope.USER, "", id=EventId("derived-from-a-commit"))])
        store = mind._context.store
        entry_chains.append(sync_state.read_chain(store.db, store.device, 0, 9, is_shared=False))
    full_chain, other_chain = entry_chains
    bare_chain = [replace(entry, salt=b"", content=None) for entry in other_chain]
    cloud = machine("cloud")

    cloud._context.store.append_received(bare_chain, is_shared=False)
    assert list_texts(cloud) == set()
    cloud._context.store.append_received(full_chain, is_shared=False)
    assert list_texts(cloud) == {"From one commit"}

    # Whatever comes again changes nothing.
    cloud._context.store.append_received([*other_chain, *full_chain, *bare_chain], is_shared=False)
    assert list_texts(cloud) == {"From one commit"}
    assert_chains_verify(cloud)
