"""An exchange may stop at any step, and the next one continues."""

from contextlib import nullcontext
from pathlib import Path

from hivemind import Hivemind
from hivemind.store import log
from hivemind.sync.folders import Folder
from tests.sync.machines import Machines, list_texts, set_up, sync_all


class Stopped(Exception):
    """The process ended here."""


class StoppingFolder(Folder):
    """A folder in which the process ends at a certain change: before it, or after it."""

    def __init__(self, root: Path, last_step: int) -> None:
        super().__init__(root)
        self._steps_left = last_step

    def write(self, name: str, content: bytes) -> None:
        self._step()
        super().write(name, content)
        self._step()

    def delete(self, name: str) -> None:
        self._step()
        super().delete(name)
        self._step()

    def _step(self) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise Stopped


def sync_until(mind: Hivemind, folder: Path, last_step: int) -> bool:
    """Exchange until that step; return whether the exchange was complete before."""
    stopping = StoppingFolder(folder, last_step)
    mind.devices._open = lambda location: nullcontext(stopping)  # type: ignore[method-assign]
    try:
        mind.devices.sync()
    except Stopped:
        return False
    finally:
        del mind.devices._open
    return True


def test_an_exchange_that_stops_at_any_step_is_continued(machine: Machines, folder: Path, tmp_path: Path) -> None:
    laptop, desktop = machine("laptop"), machine("desktop")
    set_up(desktop, folder, "desktop", set_up(laptop, folder, "laptop"))
    sync_all(laptop, desktop)
    step, is_complete = 0, False
    while not is_complete:
        # Something new, and something erased that is in the files: segments are written, rewritten and deleted.
        laptop.remember(f"Fact number {step} stays")
        secret = laptop.remember(f"Zanzibar-{step} is the codename of launch number {step}")
        sync_all(laptop, desktop)
        laptop.erase(secret.id)
        is_complete = sync_until(laptop, folder, step)
        # The other machine may read whatever state the folder is in.
        desktop.devices.sync()
        sync_all(laptop, desktop)
        step += 1

        assert list_texts(laptop) == list_texts(desktop) == {f"Fact number {number} stays" for number in range(step)}
        assert len(desktop.devices.status().machines) == 2
    assert step > 4
    assert log.verify(laptop._context.store.db) == log.verify(desktop._context.store.db) == []
