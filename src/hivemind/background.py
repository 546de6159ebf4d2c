"""Runs commands in the background, and work that nobody waits for: at the lowest priority, and not on battery.

Uses strings instead of pathlib, because hooks start commands.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from hivemind.system import BackgroundProcess, lock_file, lower_priority, start_apart

POWER_SUPPLIES = "/sys/class/power_supply"
"""Where Linux lists batteries; other systems have no such folder, and there the battery is not considered."""


def start(*command: str, home: str = "") -> BackgroundProcess:
    """Start a hivemind command and return at once; it goes on when the parent process ends.

    ``home`` names the folder it works in, for callers that did not take theirs from the environment.
    """
    environment = {**os.environ, "HIVEMIND_HOME": home} if home else os.environ
    return start_apart([sys.executable, "-P", "-m", "hivemind", *command], environment)


@contextmanager
def run_alone(lock: "str | os.PathLike[str]") -> Iterator[bool]:
    """Lower this process's priority for good and yield whether no other process holds the lock."""
    lower_priority()
    with ExitStack() as stack:
        try:
            stack.enter_context(lock_file(os.fspath(lock), is_waiting=False))
        except BlockingIOError:
            yield False
            return
        yield True


def is_on_battery(power_supplies: "str | os.PathLike[str]" = POWER_SUPPLIES) -> bool:
    """Whether a battery is being discharged, as far as the system tells."""
    supplies = [entry.path for entry in os.scandir(power_supplies)] if os.path.isdir(power_supplies) else []
    batteries = [supply for supply in supplies if _read(supply, "type") == "Battery"]
    # A mouse has a battery too; only the one of the machine has the scope System or none.
    own_batteries = [battery for battery in batteries if _read(battery, "scope") != "Device"]
    return any(_read(battery, "status") == "Discharging" for battery in own_batteries)


def measure_cpu_seconds() -> float:
    """The CPU time that this process and the commands it ran have used."""
    return float(sum(os.times()[:4]))


def _read(supply: str, name: str) -> str:
    try:
        with open(os.path.join(supply, name), encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
