"""Work that nobody waits for: at the lowest priority, in one process at a time, and not on battery."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from hivemind import system

POWER_SUPPLIES = Path("/sys/class/power_supply")
"""Where Linux lists batteries; other systems have no such folder, and there the battery is not considered."""


def used_cpu_seconds() -> float:
    """The CPU time that this process and the commands it ran have used."""
    return float(sum(os.times()[:4]))


@contextmanager
def run_alone(lock_file: Path) -> Iterator[bool]:
    """Lower this process's priority for good and yield whether no other process holds the lock."""
    system.lower_priority()
    with ExitStack() as stack:
        try:
            stack.enter_context(system.lock_file(str(lock_file), is_waiting=False))
        except BlockingIOError:
            yield False
            return
        yield True


def is_on_battery(power_supplies: Path = POWER_SUPPLIES) -> bool:
    """Whether a battery is being discharged, as far as the system tells."""
    supplies = power_supplies.iterdir() if power_supplies.is_dir() else ()
    batteries = [supply for supply in supplies if _read(supply / "type") == "Battery"]
    # A mouse has a battery too; only the one of the machine has the scope System or none.
    own_batteries = [battery for battery in batteries if _read(battery / "scope") != "Device"]
    return any(_read(battery / "status") == "Discharging" for battery in own_batteries)


def _read(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except OSError:
        return ""
