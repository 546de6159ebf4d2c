"""Runs commands in the background, and work that nobody waits for at the lowest priority.

Uses strings instead of pathlib, because hooks start commands.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from hivemind.system import BackgroundProcess, FileLock, lower_priority, start_apart, stretch


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
            stack.enter_context(FileLock(os.fspath(lock), is_waiting=False))
        except BlockingIOError:
            yield False
            return
        yield True


def measure_cpu_seconds() -> float:
    """The CPU time that this process and the commands it ran have used."""
    return float(sum(os.times()[:4]))


def find_deadline(seconds: float) -> float:
    """The CPU time at which work that somebody waits for ends, on this machine."""
    return measure_cpu_seconds() + stretch(seconds)
