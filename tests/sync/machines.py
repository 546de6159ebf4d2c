"""Machines of one person that share a folder or a git repository."""

from collections.abc import Callable
from pathlib import Path

from hivemind import Hivemind
from hivemind.model.erasure import Erasure
from hivemind.store import log
from hivemind.sync.devices import Choices
from hivemind.sync.folder_files import DeviceState, load_state

Machines = Callable[..., Hivemind]


def set_up(mind: Hivemind, location: str | Path, name: str, phrase: str = "", choices: Choices | None = None) -> str:
    """Set a machine up and return the phrase."""
    plan = mind.devices.plan(str(location), choices or Choices())
    mind.devices.set_up(plan, phrase=phrase, name=name)
    return mind.devices.phrase()


def sync_all(*minds: Hivemind) -> None:
    """Exchange until everybody has read everything and knows that the others have."""
    for _ in range(3):
        for mind in minds:
            mind.devices.sync()


def load(mind: Hivemind) -> DeviceState:
    """Return a machine's keys and what it has seen of the others."""
    state = load_state(mind._context.settings.home)
    assert state is not None
    return state


def list_texts(mind: Hivemind) -> set[str]:
    """Return the texts of all memories, of every status and repository."""
    return {memory.text for memory in mind.list(everywhere=True, limit=1000)}


def find_place(receipt: Erasure | None, name: str) -> str:
    """Return the state of a place on a receipt."""
    assert receipt is not None
    return next(place.state for place in receipt.places if place.name == name)


def list_files(folder: Path, name: str = "") -> list[Path]:
    """Return the files of a shared folder, or those with a name."""
    return [file for file in sorted(folder.rglob("*")) if file.is_file() and name in ("", file.name)]


def find_directory(mind: Hivemind) -> str:
    """Return the name of a machine's directory in the shared folder."""
    return mind.devices.status().machines[0].directory


def assert_chains_verify(*minds: Hivemind) -> None:
    """Check the hash chains of these machines."""
    for mind in minds:
        assert log.verify(mind._context.store.db) == []
